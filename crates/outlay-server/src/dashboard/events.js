// What happened lately, newest first.

import { h, section } from "./dom.js";
import { amount, count, listed, plural, quoted, time } from "./words.js";

const SHOWN = 12;

export function eventsView() {
  const list = h("ol", { class: "events" });
  const element = section("Recent events", list);
  let shown = null;

  function draw({ events }) {
    const latest = events.slice(-SHOWN).reverse();
    const newest = latest[0]?.seq ?? null;
    if (newest === shown) return;
    shown = newest;
    list.replaceChildren(...latest.map((event) => h("li", {},
      h("time", { datetime: event.at }, time(event.at)),
      h("span", {}, sentence(event)),
      event.token !== "" && h("span", { class: "muted" }, `by ${event.token}`))));
  }
  return { element, draw };
}

function sentence(event) {
  switch (event.kind) {
    case "created": return "The campaign began.";
    case "status": return `The status was set to ${event.status}.`;
    case "asked": return asked(event);
    case "told": return told(event);
    case "corrected":
      return `Corrected: “${event.from.task}” in round ${count(event.round)}, from ${outcome(event.from)} to ${outcome(event.to)}: ${event.why}`;
    default: return event.kind;
  }
}

function asked({ rounds, budget, tasks }) {
  const which = rounds.length === 1 ? `Round ${count(rounds[0])}` : `Rounds ${count(rounds[0])} to ${count(rounds.at(-1))}`;
  const most = [...tasks].sort((a, b) => b.spend - a.spend)[0];
  const words = most === undefined ? "" : `, most of it (${amount(most.spend)}) for “${most.task}”`;
  return `${which} handed out, ${amount(budget)}${rounds.length === 1 ? "" : " each"}${words}.`;
}

function told({ round, results, late }) {
  const [wins, failures] = [results.filter((result) => result.completed), results.filter((result) => !result.completed)];
  const parts = [];
  if (wins.length > 0) parts.push(listed(wins.map((win) => `“${win.task}” brought ${amount(win.reward)}`)));
  if (failures.length > 0) parts.push(failures.length <= 3 ? `${quoted(failures.map((one) => one.task))} failed` : `${plural(failures.length, "task")} failed`);
  return `Round ${count(round)}${late ? ", late" : ""}: ${parts.join("; ")}.`;
}

const outcome = (result) => (result.completed ? `a success of ${amount(result.reward)}` : "a failure");
