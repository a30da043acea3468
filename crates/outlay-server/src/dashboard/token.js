// Asks for a token. It is handed to whoever asked and kept nowhere else.

import { ask, h } from "./dom.js";

const REASONS = {
  wanted: "This service wants to know who asks. A token with the scope “read” is enough to look; “admin” may also pause and close.",
  refused: "The service does not take this token: it may be mistyped, expired or revoked.",
  another: "The page asks with this token from now on. “read” is enough to look; “admin” may also pause and close.",
  odd: "This cannot be a token: tokens consist of plain letters, digits and underscores, without spaces. Perhaps something else was copied.",
};

/** No header can carry anything else, so no service can ever get to see it. */
const isPossible = (text) => /^[\x21-\x7e]+$/.test(text);

/** Resolves with what was typed, or null if one may do without and does. */
export async function askToken(reason) {
  const cancel = reason === "another";
  for (;;) {
    const input = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, autofocus: true });
    const content = h("div", {},
      h("p", {}, REASONS[reason]),
      h("label", { for: "token" }, "Token"),
      input,
      h("p", { class: "muted" }, "It is kept in this page's memory only, and forgotten when you leave or reload."));
    const given = await ask({ title: "A token, please", content, action: "Go on", read: () => input.value.trim(), cancel });
    if (given === null && cancel) return null;
    if (given !== null && isPossible(given)) return given;
    if (given !== null) reason = "odd";
  }
}
