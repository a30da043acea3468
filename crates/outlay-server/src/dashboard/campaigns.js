// The list of campaigns, a page at a time.

import { get } from "./api.js";
import { h, row, table } from "./dom.js";
import { repeat } from "./follow.js";
import { count, plural, time } from "./words.js";

const PAGE = 25;
const COLUMNS = [
  { name: "Campaign", kind: "word" },
  { name: "Status", kind: "word" },
  { name: "Rounds" },
  { name: "Tasks" },
  { name: "Learner", kind: "word" },
  { name: "Begun", kind: "word" },
];

const FIRST = { problem: { budget: 100, task: [
  { name: "search", curve: { family: "hill", half_at: 40, steepness: 2 } },
  { name: "social", curve: { family: "exponential", scale: 30 } },
] } };

export function showCampaigns(main) {
  const list = table("Campaigns, in the order of their names", COLUMNS, { hideCaption: true });
  const message = h("div", { role: "status" });
  const first = h("button", { type: "button", onclick: () => turn([]) }, "First page");
  const back = h("button", { type: "button", onclick: () => turn(cursors.slice(0, -1)) }, "Previous");
  const onward = h("button", { type: "button", onclick: () => turn([...cursors, next]) }, "Next");
  const pages = h("nav", { class: "buttons", "aria-label": "Pages of the list", hidden: true }, first, back, onward);
  main.append(h("h1", {}, "Campaigns"), message, list.box, pages);
  let cursors = [];
  let next = null;
  let shown = "";

  function turn(to) {
    cursors = to;
    following.now();
  }

  async function step(signal) {
    const after = cursors.length > 0 ? `&after=${encodeURIComponent(cursors.at(-1))}` : "";
    const asked = cursors;
    const answer = await get(`/v1/campaigns?limit=${PAGE}${after}`, signal);
    if (asked !== cursors) return;
    next = answer.next ?? null;
    const text = JSON.stringify(answer);
    // Rows that are the same stay: a link that has the focus keeps it.
    if (text !== shown) fill(answer.campaigns);
    shown = text;
    pages.hidden = next === null && cursors.length === 0;
    first.disabled = back.disabled = cursors.length === 0;
    onward.disabled = next === null;
  }

  function fill(campaigns) {
    const focused = document.activeElement?.closest?.("tbody a")?.getAttribute("href");
    list.body.replaceChildren(...campaigns.map(line));
    if (focused) [...list.body.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
    const isEmpty = campaigns.length === 0 && cursors.length === 0;
    list.box.hidden = isEmpty;
    message.replaceChildren(...(isEmpty ? [empty()] : campaigns.length === 0 ? [h("p", { class: "muted" }, "No more campaigns.")] : []));
  }

  function failed(error) {
    if (error === null) {
      message.querySelector(".notice.ill")?.remove();
      return;
    }
    message.replaceChildren(error.status === 403 ? oneCampaign() : trouble(error));
  }

  const following = repeat(step, failed, 4000);
  return () => following.stop();
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

/** What went wrong, and what to do. */
export function trouble(error) {
  return h("div", { class: "notice ill" },
    h("p", {}, h("strong", {}, error.message)),
    h("p", {}, error.hint || (error.status === undefined
      ? "Is it running, and can this machine reach it? The page keeps trying; nothing that was acknowledged is lost."
      : "The page keeps trying.")));
}

/** A token may be good for one campaign only; then there is no list. */
function oneCampaign() {
  const input = h("input", { id: "campaign-id", required: true, autocomplete: "off" });
  const go = (event) => {
    event.preventDefault();
    location.hash = `#/campaigns/${encodeURIComponent(input.value.trim())}`;
  };
  return h("form", { class: "notice", onsubmit: go },
    h("p", {}, "This token does not open the list of all campaigns. If it is good for one of them, name it:"),
    h("label", { for: "campaign-id" }, "Campaign"),
    h("div", { class: "line" }, input, h("button", { type: "submit", class: "primary" }, "Show it")));
}

function empty() {
  const command = `curl -X PUT ${location.origin}/v1/campaigns/first \\\n  -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(FIRST)}'`;
  const said = h("span", { role: "status", class: "muted" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(command);
      said.textContent = "Copied.";
    } catch {
      said.textContent = "The browser does not allow that; please mark and copy the text.";
    }
  };
  return h("div", { class: "notice" },
    h("h2", { class: "plain" }, "No campaign yet"),
    h("p", {}, "A campaign shares a budget over tasks and learns from what comes back. This makes one with ",
      plural(FIRST.problem.task.length, "task"), "; it appears here by itself:"),
    h("pre", { tabindex: "0", "aria-label": "Command" }, command),
    h("div", { class: "line" }, h("button", { type: "button", onclick: copy }, "Copy the command"), said),
    h("p", { class: "muted" }, "With tokens, add -H 'Authorization: Bearer …'. To see one at work first: outlay demo."));
}
