// The list of campaigns, a page at a time.

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
  { name: "Begun", kind: "word" },
];

const FIRST = { problem: { budget: 100, task: [
  { name: "search", curve: { family: "hill", half_at: 40, steepness: 2 } },
  { name: "social", curve: { family: "exponential", scale: 30 } },
] } };

export function showCampaigns(main) {
  const list = table("Campaigns, in the order of their names", COLUMNS, { hideCaption: true });
  // What is wrong with the connection and what there is to say about the list come and go on their own.
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

  /** The page is in the address, so that whoever looks at a campaign and goes back is where they were. */
  function turn(to) {
    cursors = to;
    // What comes after the new page is not known before it is there.
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
    // Rows that are the same stay: a link that has the focus keeps it.
    if (text !== shown) fill(answer.campaigns);
    shown = text;
    pages.hidden = next === null && cursors.length === 0;
    enable();
  }

  /** A button that can do no more must not take the focus with it. */
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
      // It stays while the page keeps trying: somebody may be typing in it.
      message.replaceChildren(oneCampaign());
    }
  }

  const following = repeat(step, failed, () => 4000);
  return () => following.stop();
}

/** The cursors of this page and those before it. Who comes by a link has only its own. */
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

/** What went wrong, and what to do. */
export function trouble(error) {
  return h("div", { class: "notice ill" },
    h("p", {}, h("strong", {}, error.message.replace(/^./u, (letter) => letter.toUpperCase()))),
    h("p", {}, error.hint || advice(error.status)),
    error.status === 403 && changeToken());
}

function advice(status) {
  if (status === undefined) return "Is it running, and can this machine reach it? The page keeps trying; nothing that was acknowledged is lost.";
  return status === 403 ? "It takes a token that allows it." : "The page keeps trying.";
}

const changeToken = () => h("div", { class: "line" }, h("button", { type: "button", onclick: anotherToken }, "Enter another token"));

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
    h("div", { class: "line" }, input, h("button", { type: "submit", class: "primary" }, "Show it")),
    h("p", {}, "Or ask with one that does:"),
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
