// The list of campaigns, one page at a time.

import { BASE, anotherToken, get } from "./api.js";
import { announce, h, row, table } from "./dom.js";
import { repeat } from "./follow.js";
import { count, plural, time } from "./words.js";

const PAGE = 25;
const COLUMNS = [
  { name: "Campaign", kind: "word" },
  { name: "Status", kind: "word" },
  { name: "Rounds" },
  { name: "Tasks" },
  { name: "Learner", kind: "word" },
  { name: "Created", kind: "word" },
];

const FIRST = { problem: { budget: 100, task: [
  { name: "search", curve: { family: "hill", half_at: 40, steepness: 2 } },
  { name: "social", curve: { family: "exponential", scale: 30 } },
] } };

export function showCampaigns(main) {
  const list = table("Campaigns, ordered by name", COLUMNS, { hideCaption: true });
  // Messages about the connection and remarks about the list change independently.
  const message = h("div", { role: "status" });
  const remark = h("div", { role: "status" });
  const first = h("button", { type: "button", onclick: () => turn([]) }, "First page");
  const back = h("button", { type: "button", onclick: () => turn(cursors.slice(0, -1)) }, "Previous");
  const onward = h("button", { type: "button", onclick: () => next !== null && turn([...cursors, next]) }, "Next");
  const pages = h("nav", { class: "buttons", "aria-label": "Pages of the list", hidden: true }, first, back, onward);
  list.box.hidden = true;
  main.append(h("h1", {}, "Campaigns"), message, remark, list.box, pages);
  let cursors = whereabouts();
  let next = null;
  let shown = "";

  /** The page is part of the address, so that the Back button returns to it from a campaign. */
  function turn(to) {
    cursors = to;
    // The page after the new one is unknown until the new one is loaded.
    next = null;
    history.pushState({ cursors }, "", to.length === 0 ? "#/" : `#/?after=${encodeURIComponent(to.at(-1))}`);
    following.now();
  }

  async function step(signal) {
    const after = cursors.length > 0 ? `&after=${encodeURIComponent(cursors.at(-1))}` : "";
    const asked = cursors;
    const answer = await get(`v1/campaigns?limit=${PAGE}${after}`, signal);
    if (asked !== cursors) return;
    next = answer.next ?? null;
    const text = JSON.stringify([cursors, answer]);
    // Unchanged rows stay, so that a link keeps the focus.
    if (text !== shown) fill(answer.campaigns);
    shown = text;
    pages.hidden = next === null && cursors.length === 0;
    enable();
  }

  /** Moves the focus from a button that becomes disabled. */
  function enable() {
    const { activeElement: focused } = document;
    first.disabled = back.disabled = cursors.length === 0;
    onward.disabled = next === null;
    if (focused === onward && onward.disabled) back.focus();
    if ((focused === back || focused === first) && focused.disabled) onward.focus();
  }

  function fill(campaigns) {
    const focused = document.activeElement?.closest?.("tbody a")?.getAttribute("href");
    list.body.replaceChildren(...campaigns.map(line));
    if (focused) [...list.body.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
    list.box.hidden = campaigns.length === 0;
    const isEmpty = campaigns.length === 0 && cursors.length === 0;
    remark.replaceChildren(...(isEmpty ? [empty()] : campaigns.length === 0 ? [h("p", { class: "muted" }, "No more campaigns.")] : []));
    if (campaigns.length > 0 && pages.contains(document.activeElement)) announce(`From ${campaigns[0].id} to ${campaigns.at(-1).id}.`);
  }

  function failed(error) {
    if (error === null) {
      message.replaceChildren();
    } else if (error.status !== 403) {
      message.replaceChildren(trouble(error));
    } else if (message.querySelector("form") === null) {
      // An existing form stays while the page retries, because the user may be typing in it.
      message.replaceChildren(oneCampaign());
    }
  }

  const following = repeat(step, failed, () => 4000);
  return () => following.stop();
}

/** The cursors of this page and of those before it. After following a link, only that of this page is known. */
function whereabouts() {
  if (Array.isArray(history.state?.cursors)) return history.state.cursors;
  const after = new URLSearchParams(location.hash.split("?")[1] ?? "").get("after");
  return after === null ? [] : [after];
}

function line(campaign) {
  return row(COLUMNS, [
    h("a", { href: `#/campaigns/${encodeURIComponent(campaign.id)}` }, campaign.id),
    badge(campaign.status),
    count(campaign.rounds),
    count(campaign.tasks),
    campaign.learner,
    h("time", { datetime: campaign.created_at }, time(campaign.created_at)),
  ]);
}

export const badge = (status) => h("span", { class: `badge ${status}` }, status);

/** An error with advice. */
export function trouble(error) {
  return h("div", { class: "notice ill" },
    h("p", {}, h("strong", {}, error.message.replace(/^./u, (letter) => letter.toUpperCase()))),
    h("p", {}, error.hint || advice(error.status)),
    error.status === 403 && changeToken());
}

function advice(status) {
  if (status === undefined) return "Check that it is running and reachable from this machine. The page keeps trying. Acknowledged data is not lost.";
  return status === 403 ? "Use a token with the required scope." : "The page keeps trying.";
}

const changeToken = () => h("div", { class: "line" }, h("button", { type: "button", onclick: anotherToken }, "Enter another token"));

/** The form for tokens that are restricted to one campaign and therefore cannot list campaigns. */
function oneCampaign() {
  const input = h("input", { id: "campaign-id", required: true, autocomplete: "off" });
  const go = (event) => {
    event.preventDefault();
    location.hash = `#/campaigns/${encodeURIComponent(input.value.trim())}`;
  };
  return h("form", { class: "notice", onsubmit: go },
    h("p", {}, "This token cannot list all campaigns. If it is valid for one campaign, enter its name:"),
    h("label", { for: "campaign-id" }, "Campaign"),
    h("div", { class: "line" }, input, h("button", { type: "submit", class: "primary" }, "Show campaign")),
    h("p", {}, "Or use a token that can:"),
    changeToken());
}

function empty() {
  const command = `curl -X PUT ${BASE}v1/campaigns/first \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(FIRST)}'`;
  const said = h("span", { role: "status", class: "muted" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(command);
      said.textContent = "Copied.";
    } catch {
      said.textContent = "The browser does not allow copying; please select and copy the text.";
    }
  };
  return h("div", { class: "notice" },
    h("h2", { class: "plain" }, "No campaigns yet"),
    h("p", {}, "A campaign splits a budget over tasks and learns from the outcomes. This command creates one with ",
      plural(FIRST.problem.task.length, "task"), ", which then appears here:"),
    h("pre", { tabindex: "0", "aria-label": "Command" }, command),
    h("div", { class: "line" }, h("button", { type: "button", onclick: copy }, "Copy the command"), said),
    h("p", { class: "muted" }, "If the service requires tokens, add -H 'Authorization: Bearer …'. To see a running campaign first, use: outlay demo"));
}
