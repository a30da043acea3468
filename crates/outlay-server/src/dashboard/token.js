// Asks for a token and returns it without storing it.

import { ask, h } from "./dom.js";

const REASONS = {
  wanted: "This service requires a token. The scope “read” is enough for viewing; “admin” is needed to pause and close campaigns.",
  refused: "The service does not accept this token. It may be mistyped, expired or revoked.",
  another: "The page will use this token. The scope “read” is enough for viewing; “admin” is needed to pause and close campaigns.",
  odd: "This is not a token: tokens consist of letters, digits and underscores, without spaces.",
};

/** Other characters cannot be sent in a header. */
const isPossible = (text) => /^[\x21-\x7e]+$/.test(text);

/** Resolves with the token, or with null if the dialog can be and was cancelled. */
export async function askToken(reason) {
  const cancel = reason === "another";
  for (;;) {
    const input = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, autofocus: true });
    const content = h("div", {},
      h("p", {}, REASONS[reason]),
      h("label", { for: "token" }, "Token"),
      input,
      h("p", { class: "muted" }, "It is kept in memory only and forgotten when you leave or reload the page."));
    const given = await ask({ title: "Access token", content, action: "Continue", read: () => input.value.trim(), cancel });
    if (given === null && cancel) return null;
    if (given !== null && isPossible(given)) return given;
    if (given !== null) reason = "odd";
  }
}
