// Shows the view that the address after # selects.

import { anotherToken } from "./api.js";
import { dismiss, h } from "./dom.js";
import { showCampaigns } from "./campaigns.js";
import { showCampaign } from "./campaign.js";

const main = document.getElementById("main");
const trail = document.getElementById("trail");
const token = document.getElementById("another-token");
let leave = () => {};
let isFirst = true;

function place() {
  const [, kind, id] = location.hash.slice(1).split("/");
  try {
    return kind === "campaigns" && id ? decodeURIComponent(id) : null;
  } catch {
    return null;
  }
}

function show() {
  leave();
  dismiss();
  const id = place();
  document.title = id === null ? "Campaigns · outlay" : `${id} · outlay`;
  trail.replaceChildren(h("ol", {},
    h("li", {}, h("a", { href: "#/", "aria-current": id === null ? "page" : undefined }, "Campaigns")),
    id !== null && h("li", {}, h("a", { href: location.hash, "aria-current": "page" }, id))));
  main.replaceChildren();
  leave = id === null ? showCampaigns(main) : showCampaign(main, id);
  window.scrollTo(0, 0);
  // Screen readers announce the new view; for the first one the browser does it.
  if (!isFirst) main.focus({ preventScroll: true });
  isFirst = false;
}

// The address selects the view, so a link within the page must not change it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", show);
// Once there is a token, the user may want to replace it.
addEventListener("token", () => { token.hidden = false; });
addEventListener("another-token", show);
token.addEventListener("click", anotherToken);
show();
