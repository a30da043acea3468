// The latest events, newest first.

import { h, section, write } from "./dom.js";
import { amount, completions, conditions, count, listed, plural, quoted, time } from "./words.js";

const SHOWN = 12;

export function eventsView() {
  const list = h("ol", { class: "events" });
  const remark = h("p", { class: "muted" });
  const element = section("Recent events", remark, list);
  let shown = null;

  function draw({ events, hasSkipped }) {
    write(remark, hasSkipped ? "Events arrive faster than this page can read them, so some are skipped. The export contains all events." : "");
    remark.hidden = !hasSkipped;
    const latest = events.slice(-SHOWN).reverse();
    const newest = latest[0] === undefined ? null : `${latest[0].seq} ${latest[0].at}`;
    if (newest === shown) return;
    shown = newest;
    list.replaceChildren(...latest.map((event) => h("li", {},
      h("time", { datetime: event.at }, time(event.at)),
      h("span", {}, sentence(event)),
      event.token !== "" && h("span", { class: "muted" }, `by ${event.token_name ?? event.token}`))));
  }
  return { element, draw };
}

function sentence(event) {
  switch (event.kind) {
    case "created": return "The campaign was created.";
    case "status": return `The status was set to ${event.status}.`;
    case "amended": return amended(event);
    case "asked": return asked(event);
    case "told": return told(event);
    case "corrected":
      return `Corrected: “${event.from.task}” in round ${count(event.round)}, from ${outcome(event.from)} to ${outcome(event.to)}: ${event.why}`;
    default: return event.kind;
  }
}

function amended({ added, retired, returned, changed }) {
  const parts = [];
  if (added.length > 0) parts.push(`${quoted(added)} added`);
  if (retired.length > 0) parts.push(`${quoted(retired)} retired`);
  if (returned.length > 0) parts.push(`${quoted(returned)} back`);
  const fields = changed.filter((change) => !(change.task === undefined && change.old === null && change.new === null));
  const told = (value) => (typeof value === "number" ? amount(value) : value === null ? "none" : null);
  const change = ({ task, field, old, new: now }) => {
    const name = task === undefined ? field : `${field} of “${task}”`;
    return told(old) === null || told(now) === null ? name : `${name} from ${told(old)} to ${told(now)}`;
  };
  if (fields.length > 0) parts.push(`changed: ${listed(fields.map(change))}`);
  return `The campaign was amended: ${parts.join("; ")}.`;
}

function asked({ rounds, budget, tasks }) {
  const which = rounds.length === 1 ? `Round ${count(rounds[0])}` : `Rounds ${count(rounds[0])} to ${count(rounds.at(-1))}`;
  const own = conditions(tasks);
  return `${which} issued, ${amount(budget)}${rounds.length === 1 ? "" : " each"}${largest(budget, tasks)}${own && `, with ${own}`}.`;
}

/** The largest spend of a round; empty if two tasks share it. */
function largest(budget, tasks) {
  const [first, second] = [...tasks].sort((a, b) => b.spend - a.spend);
  if (first === undefined || first.spend === 0 || first.spend === second?.spend) return "";
  const part = first.spend >= budget ? "all of it" : `${first.spend > budget / 2 ? "most of it" : "the largest part"} (${amount(first.spend)})`;
  return `, ${part} for “${first.task}”`;
}

function told({ round, results, late }) {
  const [wins, failures] = [results.filter((result) => completions(result) > 0), results.filter((result) => completions(result) === 0)];
  const parts = [];
  if (wins.length > 0) parts.push(listed(wins.map((win) => `“${win.task}” ${times(win)}brought ${amount(win.reward)}`)));
  if (failures.length > 0) parts.push(failures.length <= 3 ? `${quoted(failures.map((one) => one.task))} failed` : `${plural(failures.length, "task")} failed`);
  return `Round ${count(round)}${late ? ", late" : ""}: ${parts.join("; ")}.`;
}

/** How often a task completed, if that needs saying. */
const times = (result) => (completions(result) > 1 ? `completed ${count(completions(result))} times and ` : "");

function outcome(result) {
  const number = completions(result);
  const spend = result.spend === undefined ? "" : ` at a spend of ${amount(result.spend)}`;
  if (number === 0) return `a failure${spend}`;
  return `${number === 1 ? `a success of ${amount(result.reward)}` : `${count(number)} completions with ${amount(result.reward)}`}${spend}`;
}
