// The split of the next round, and the mean and index of each task.

import { allOrFewer, h, row, section, table, write } from "./dom.js";
import { refresh } from "./refresh.js";
import { amount, column, count, percent } from "./words.js";

const COLUMNS = [
  { name: "Task", kind: "word" },
  { name: "Share of the budget", kind: "picture" },
  { name: "Share" },
  { name: "Spend" },
  { name: "Success probability" },
  { name: "Completions" },
  { name: "Value of a success", kind: "picture" },
  { name: "Mean" },
  { name: "Index" },
];
const SHOWN = 30;
// Learners by the meaning of their index; others choose their splits themselves.
const OPTIMISTS = ["kl-ucb-plus", "algorithm-1", "kl-ucb-mixture", "hoeffding", "kl-ucb", "cucb"];
const DRAWERS = ["thompson", "epsilon-greedy"];

/** The meaning of the line that starts at the dot. */
function meaning({ learner, tasks }) {
  const name = learner.split(":")[0];
  if (tasks.every((task) => isNone(task.index))) return "this learner has no index, so there is no line.";
  if (OPTIMISTS.includes(name)) {
    return "the line ends at the optimistic value that the learner uses. A shorter line means less uncertainty.";
  }
  return DRAWERS.includes(name)
    ? "the line ends at the value that the learner has drawn for the next round."
    : "the line ends at the value that the learner uses.";
}

const isNone = (number) => number === null || number === undefined;

export function splitView(colours) {
  const remark = h("p", { class: "muted" });
  const list = table("The split of the next round, and the value of a success of each task", COLUMNS, { hideCaption: true });
  const part = allOrFewer(SHOWN, () => draw(last));
  let last = null;
  const element = section("Where the budget goes",
    remark, list.box, part.button);

  function draw(campaign) {
    last = campaign;
    const { state } = campaign;
    const tasks = state.tasks.length <= SHOWN ? state.tasks : [...state.tasks].sort((a, b) => b.spend - a.spend);
    const shown = part.of(tasks, "tasks");
    const total = state.tasks.reduce((sum, task) => sum + task.spend, 0);
    write(remark, `The next round would spend ${amount(total)} of ${amount(state.budget)}. The dot is the mean reward of a success; `
      + meaning(state));
    const spend = column(shown.map((task) => task.spend));
    const worth = column(shown.flatMap((task) => [task.mean, isNone(task.index) ? null : Math.min(task.index, state.reward_max)]));
    const largest = Math.max(...state.tasks.map((task) => Math.min(task.spend / state.budget, 1)), 1e-12);
    const top = Math.max(...state.tasks.flatMap((task) => [task.mean ?? 0, Math.min(task.index ?? 0, state.reward_max)]), 1e-12);
    refresh(list.body, shown.map((task) => row(COLUMNS, [
      [...named(task.task, colours), task.retired === true && h("span", { class: "muted" }, " (retired)")],
      bar(task.spend / state.budget / largest, colours.of(task.task)),
      percent(task.spend / state.budget),
      spend(task.spend),
      percent(task.success),
      task.seen === undefined ? count(task.completions) : `${count(task.completions)} + ${count(task.seen.completions)} in the log`,
      range(task.mean, task.index, top, colours.of(task.task)),
      worth(task.mean),
      countedAs(task, state.reward_max, worth),
    ])));
  }
  return { element, draw };
}

/** An optimistic index may exceed the largest reward. */
function countedAs({ mean, index }, most, worth) {
  if (isNone(index)) return "–";
  return isNone(mean) ? "unknown" : worth(Math.min(index, most));
}

/** The name of a task with its colour. */
export function named(name, colours) {
  const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = colours.of(name);
  return [swatch, name];
}

function bar(share, colour) {
  const fill = h("span", { class: "fill" });
  fill.style.width = `${100 * Math.min(1, share)}%`;
  fill.style.background = colour;
  return h("span", { class: "bar", "aria-hidden": "true" }, fill);
}

/** A line from the mean to the index. */
function range(mean, index, top, colour) {
  const place = (number) => `${100 * Math.max(0, Math.min(1, number / top))}%`;
  const track = h("span", { class: "range", "aria-hidden": "true" });
  if (!isNone(index)) {
    const [from, to] = [Math.min(mean ?? 0, index), Math.max(mean ?? 0, index)];
    const line = h("span", { class: isNone(mean) ? "line unknown" : "line" });
    line.style.left = place(from);
    line.style.right = `calc(100% - ${place(to)})`;
    track.append(line);
  }
  if (!isNone(mean)) {
    const dot = h("span", { class: "dot" });
    dot.style.left = place(mean);
    dot.style.background = colour;
    track.append(dot);
  }
  return track;
}
