// Successes told against successes expected: whether reports can be complete and curves right.

import { allOrFewer, h, row, section, table } from "./dom.js";
import { refresh } from "./refresh.js";
import { named } from "./split.js";
import { amount, column, count, quoted } from "./words.js";

const COLUMNS = [
  { name: "Task", kind: "word" },
  { name: "Outcomes told" },
  { name: "Successes" },
  { name: "Expected" },
  { name: "Ratio" },
  { name: "Below or above 1", kind: "picture" },
  { name: "In words", kind: "word" },
];
const SHOWN = 30;

/**
 * -1: far fewer successes than expected, 1: far more, 0: about as many. Chances that add up to `expected` over `told` outcomes vary by at
 * most the smaller of that and what is missing to `told`; five deviations and a twentieth are far.
 */
export function judge({ told, completions, expected_completions: expected }) {
  const off = completions - expected;
  const deviation = Math.sqrt(Math.max(0, Math.min(expected, told - expected, told / 4)));
  const isFar = Math.abs(off) > 5 * deviation + 1 && Math.abs(off) > expected / 20;
  return isFar ? Math.sign(off) : 0;
}

/** What is to be said about a campaign: nothing if all is well. */
export function quality(state) {
  const sum = (key) => state.tasks.reduce((total, task) => total + task[key], 0);
  const all = { told: sum("told"), completions: sum("completions"), expected_completions: sum("expected_completions") };
  const of = (sign) => state.tasks.filter((task) => judge(task) === sign).map((task) => task.task);
  const [few, many] = [of(-1), of(1)];
  const sentences = [];
  const numbers = `${count(all.completions)} told, ${amount(all.expected_completions)} expected`;
  if (many.length > 0 || judge(all) === 1) {
    sentences.push(`${many.length > 0 ? quoted(many) : "All tasks together"}: far more successes than the curves expect of the same rounds. `
      + "This is what it looks like when clients report only good outcomes. Failures that are left out do little harm, but poor rewards that "
      + "are left out make a task look better than it is. Or the curves promise too little.");
  }
  if (few.length > 0 || judge(all) === -1) {
    sentences.push(`${few.length > 0 ? quoted(few) : "All tasks together"}: far fewer successes than the curves expect. `
      + "Either the curves promise too much, and the split relies on them, or reports of successes get lost on their way.");
  }
  return { title: `Reports and curves do not fit (${numbers})`, sentences, tasks: [...many, ...few] };
}

/** A ratio is as expected if chance alone hardly hides that it is further from 1 than this. */
const NEAR = 1 / 5;

/**
 * What can be said. Successes c of n outcomes vary by at most c (n - c) / n, one more for luck where there are none or only successes: two
 * such deviations either way are where the truth likely is, and three are more than chance often does.
 */
function words(task) {
  const { told, completions, expected_completions: expected } = task;
  if (told === 0) return "nothing told yet";
  if (expected === 0 && completions === 0) return "given nothing so far";
  const verdict = judge(task);
  if (verdict !== 0) return verdict > 0 ? "far more than expected" : "far fewer than expected";
  const off = completions - expected;
  const deviation = Math.sqrt((completions * (told - completions)) / told + 1);
  if (Math.abs(off) + 2 * deviation <= NEAR * expected) return "as expected";
  if (Math.abs(off) > 3 * deviation) return off > 0 ? "rather more than expected" : "rather fewer than expected";
  return "too early to say";
}

export function qualityView(colours) {
  const list = table("Successes told against successes that the curves expected of the same outcomes", COLUMNS, { hideCaption: true });
  const part = allOrFewer(SHOWN, () => draw(last));
  const element = section("Told against expected",
    h("p", { class: "muted" }, "Every outcome told had a chance of success by its task's curve. The bar is the ratio of what happened to what these "
      + "chances add up to; the mark in the middle is 1. “As expected” is said where it is within a fifth of 1 with 19 chances in 20."),
    list.box, part.button);
  let last = null;

  function draw(campaign) {
    last = campaign;
    const { state } = campaign;
    const off = (task) => Math.abs(judge(task));
    const tasks = state.tasks.length <= SHOWN ? state.tasks : [...state.tasks].sort((a, b) => off(b) - off(a) || b.told - a.told);
    const shown = part.of(tasks, "tasks");
    const sums = column(shown.map((task) => task.expected_completions));
    refresh(list.body, shown.map((task) => {
      const expected = task.expected_completions;
      const ratio = expected > 0 ? task.completions / expected : null;
      return row(COLUMNS, [
        named(task.task, colours),
        count(task.told),
        count(task.completions),
        sums(expected),
        ratio === null ? "–" : ratio.toFixed(2),
        gauge(ratio, off(task) > 0),
        h("span", { class: off(task) > 0 ? "warned" : undefined }, words(task)),
      ]);
    }));
  }
  return { element, draw };
}

function gauge(ratio, isFar) {
  const track = h("span", { class: "gauge", "aria-hidden": "true" });
  if (ratio !== null) {
    const place = 50 * Math.min(2, ratio);
    const fill = h("span", { class: isFar ? "fill far" : "fill" });
    fill.style.left = `${Math.min(50, place)}%`;
    fill.style.width = `${Math.max(1, Math.abs(place - 50))}%`;
    track.append(fill);
  }
  return track;
}
