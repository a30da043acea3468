// The latest rounds with their status and outcomes.

import { badge } from "./campaigns.js";
import { h, row, section, table, write } from "./dom.js";
import { refresh } from "./refresh.js";
import { column, completions, conditions, count, plural, time } from "./words.js";

const COLUMNS = [
  { name: "Round" },
  { name: "Status", kind: "word" },
  { name: "Issued", kind: "word" },
  { name: "Expires", kind: "word" },
  { name: "Allocated" },
  { name: "Reported" },
  { name: "Completions" },
  { name: "Reward" },
];
const SHOWN = 15;
const KINDS = [["", "all"], ["open", "open"], ["expired", "expired"], ["complete", "complete"], ["late", "with late outcomes"]];

export function roundsView() {
  const select = h("select", { id: "round-status", onchange: () => draw(last) },
    KINDS.map(([value, name]) => h("option", { value }, name)));
  const remark = h("p", { class: "muted" });
  const list = table("The latest rounds", COLUMNS, { hideCaption: true });
  const element = section("Rounds", h("div", { class: "line" }, h("label", { for: "round-status" }, "Show"), select), remark, list.box);
  let last = null;

  function draw(campaign) {
    last = campaign;
    const all = [...campaign.rounds.values()].sort((a, b) => b.round - a.round);
    const isLate = (round) => campaign.late.has(round.round);
    const isOf = (kind) => (round) => kind === "" || (kind === "late" ? isLate(round) : round.status === kind);
    const chosen = all.filter(isOf(select.value));
    write(remark, all.length === 0 ? "No rounds yet." : sentences(all, chosen, campaign, select.value));
    list.box.hidden = chosen.length === 0;
    const shown = chosen.slice(0, SHOWN);
    const spend = column(shown.map((round) => total(round, "spend")));
    const reward = column(shown.map((round) => total(round, "reward")));
    refresh(list.body, shown.map((round) => line(round, isLate(round), spend, reward)));
  }
  return { element, draw };
}

/** Describes the rounds in the window, and open rounds that are older than all of them. */
function sentences(all, chosen, { state, late }, kind) {
  const number = (status) => all.filter((round) => round.status === status).length;
  const said = [`Of the latest ${plural(all.length, "round")}: ${count(number("open"))} open, ${count(number("expired"))} expired, `
    + `${count(number("complete"))} complete. Outcomes of expired rounds are still accepted.`];
  if (late.size > 0) {
    said.push(`${plural(late.size, "round")} received outcomes after expiry and ${late.size === 1 ? "is" : "are"} marked late, `
      + "as far as this page has read the events.");
  }
  const older = state.open_rounds - number("open");
  if (older > 0 && state.rounds > all.length) said.push(`${plural(older, "more open round is", "more open rounds are")} older than these.`);
  const name = kind === "late" ? "known to have late outcomes" : kind;
  if (chosen.length === 0) said.push(`None of the latest ${count(all.length)} is ${name}, so no table is shown.`);
  if (chosen.length > SHOWN) said.push(`Shown: the latest ${SHOWN}.`);
  return said.join(" ");
}

/** A remark on a round with scales or volumes of its own; the title lists them. */
function ownCurves(tasks) {
  const own = ["scale", "volume"].filter((key) => tasks.some((task) => task[key] !== undefined));
  return own.length > 0 && h("span", { class: "muted", title: conditions(tasks) }, ` with ${own.map((key) => `${key}s`).join(" and ")}`);
}

const total = (round, key) => round.tasks.reduce((sum, task) => sum + (task[key] ?? 0), 0);

function line(round, isLate, spend, reward) {
  const told = round.tasks.filter((task) => completions(task) !== undefined);
  return row(COLUMNS, [
    count(round.round),
    [badge(round.status), ...(isLate ? [" ", h("span", { class: "badge late" }, "late")] : []), ownCurves(round.tasks)],
    h("time", { datetime: round.asked_at }, time(round.asked_at)),
    h("time", { datetime: round.expires_at }, time(round.expires_at)),
    spend(total(round, "spend")),
    `${count(told.length)} of ${count(round.tasks.length)}`,
    count(told.reduce((sum, task) => sum + completions(task), 0)),
    reward(total(round, "reward")),
  ]);
}
