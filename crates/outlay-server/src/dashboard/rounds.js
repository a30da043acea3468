// The latest rounds: what waits, what is lost, what came back.

import { badge } from "./campaigns.js";
import { h, row, section, table, write } from "./dom.js";
import { column, count, plural, time } from "./words.js";

const COLUMNS = [
  { name: "Round" },
  { name: "Status", kind: "word" },
  { name: "Asked", kind: "word" },
  { name: "Expires", kind: "word" },
  { name: "Spent" },
  { name: "Told" },
  { name: "Successes" },
  { name: "Reward" },
];
const SHOWN = 15;

export function roundsView() {
  const select = h("select", { id: "round-status", onchange: () => draw(last) },
    [["", "all"], ["open", "open"], ["expired", "expired"], ["complete", "complete"]].map(([value, name]) => h("option", { value }, name)));
  const remark = h("p", { class: "muted" });
  const list = table("The latest rounds", COLUMNS, { hideCaption: true });
  const element = section("Rounds", h("div", { class: "line" }, h("label", { for: "round-status" }, "Show"), select), remark, list.box);
  let last = null;

  function draw(campaign) {
    last = campaign;
    const all = [...campaign.rounds.values()].sort((a, b) => b.round - a.round);
    const chosen = all.filter((round) => select.value === "" || round.status === select.value);
    const number = (status) => count(all.filter((round) => round.status === status).length);
    write(remark, all.length === 0
      ? "No round has been asked for yet."
      : `Of the latest ${plural(all.length, "round")}: ${number("open")} open, ${number("expired")} expired, ${number("complete")} complete. `
        + "Expired rounds still take what comes back.");
    list.box.hidden = chosen.length === 0;
    const shown = chosen.slice(0, SHOWN);
    const spend = column(shown.map((round) => total(round, "spend")));
    const reward = column(shown.map((round) => total(round, "reward")));
    list.body.replaceChildren(...shown.map((round) => line(round, spend, reward)));
  }
  return { element, draw };
}

const total = (round, key) => round.tasks.reduce((sum, task) => sum + (task[key] ?? 0), 0);

function line(round, spend, reward) {
  const told = round.tasks.filter((task) => task.completed !== undefined);
  return row(COLUMNS, [
    count(round.round),
    badge(round.status),
    h("time", { datetime: round.asked_at }, time(round.asked_at)),
    h("time", { datetime: round.expires_at }, time(round.expires_at)),
    spend(total(round, "spend")),
    `${count(told.length)} of ${count(round.tasks.length)}`,
    count(told.filter((task) => task.completed).length),
    reward(total(round, "reward")),
  ]);
}
