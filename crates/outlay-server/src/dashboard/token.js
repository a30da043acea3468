// Asks for a token. It is handed to whoever asked and kept nowhere else.

import { ask, h } from "./dom.js";

/** Resolves with what was typed. */
export async function askToken(wasRefused) {
  const input = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, autofocus: true });
  const content = h("div", {},
    h("p", {}, wasRefused
      ? "The service does not take this token: it may be mistyped, expired or revoked."
      : "This service wants to know who asks. A token with the scope “read” is enough to look; “admin” may also pause and close."),
    h("label", { for: "token" }, "Token"),
    input,
    h("p", { class: "muted" }, "It is kept in this page's memory only, and forgotten when you leave or reload."));
  const given = await ask({ title: "A token, please", content, action: "Go on", read: () => input.value.trim(), cancel: false });
  return given ?? "";
}
