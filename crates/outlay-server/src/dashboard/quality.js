// Reported and expected completions: detects incomplete reports and wrong curves.

import { allOrFewer, h, row, section, table } from "./dom.js";
import { refresh } from "./refresh.js";
import { named } from "./split.js";
import { amount, column, count, quoted } from "./words.js";

const COLUMNS = [
  { name: "Task", kind: "word" },
  { name: "Outcomes reported" },
  { name: "Completions" },
  { name: "Expected" },
  { name: "Ratio" },
  { name: "Below or above 1", kind: "picture" },
  { name: "In words", kind: "word" },
];
const SHOWN = 30;

/**
 * -1: far fewer completions than expected, 1: far more, 0: about as many. If the probabilities of `told` outcomes add up to `expected`, the
 * variance of the successes is at most `expected`, `told - expected` and `told / 4`. The variance of counts is `dispersion` times their
 * mean. A difference is far if it exceeds both five standard
 * deviations (plus one) and a twentieth of the expected number.
 */
export function judge({ told, completions, expected_completions: expected }, dispersion) {
  const off = completions - expected;
  const single = Math.max(0, Math.min(expected, told - expected, told / 4));
  const deviation = Math.sqrt(dispersion === undefined ? single : dispersion * expected);
  const isFar = Math.abs(off) > 5 * deviation + 1 && Math.abs(off) > expected / 20;
  return isFar ? Math.sign(off) : 0;
}

/** The warnings about a campaign; none if its reports match its curves. */
export function quality(state) {
  const sum = (key) => state.tasks.reduce((total, task) => total + task[key], 0);
  const all = { told: sum("told"), completions: sum("completions"), expected_completions: sum("expected_completions") };
  const overall = judge(all, state.dispersion);
  const of = (sign) => state.tasks.filter((task) => judge(task, state.dispersion) === sign).map((task) => task.task);
  const [few, many] = [of(-1), of(1)];
  const sentences = [];
  const numbers = `${count(all.completions)} reported, ${amount(all.expected_completions)} expected`;
  if (many.length > 0 || overall === 1) {
    sentences.push(`${many.length > 0 ? quoted(many) : "All tasks together"}: far more completions than the curves predict for the same rounds. `
      + "Usually this means that clients report only good outcomes. Missing failures do little harm, but missing poor rewards make a task "
      + "look better than it is. Otherwise the curves are too pessimistic.");
  }
  if (few.length > 0 || overall === -1) {
    sentences.push(`${few.length > 0 ? quoted(few) : "All tasks together"}: far fewer completions than the curves predict. `
      + "Either the curves, which the split relies on, are too optimistic, or reports of completions are lost.");
  }
  return { title: `Reports and curves do not match (${numbers})`, sentences, tasks: [...many, ...few] };
}

/** A ratio is as expected if it is unlikely to differ from 1 by more than this. */
const NEAR = 1 / 5;

/**
 * The verdict in words. The variance of c successes in n outcomes is estimated by c (n - c) / n, plus one because that is zero if all or
 * none succeed; that of counts by `dispersion` times c, plus one. Two standard deviations are about a 95 % interval; three are rarely exceeded by chance.
 */
function words(task, dispersion) {
  const { told, completions, expected_completions: expected } = task;
  if (told === 0) return "no reports yet";
  if (expected === 0 && completions === 0) return "no spend so far";
  const verdict = judge(task, dispersion);
  if (verdict !== 0) return verdict > 0 ? "far more than expected" : "far fewer than expected";
  const off = completions - expected;
  const variance = dispersion === undefined ? (completions * (told - completions)) / told : dispersion * completions;
  const deviation = Math.sqrt(variance + 1);
  if (Math.abs(off) + 2 * deviation <= NEAR * expected) return "as expected";
  if (Math.abs(off) > 3 * deviation) return off > 0 ? "rather more than expected" : "rather fewer than expected";
  return "too early to say";
}

export function qualityView(colours) {
  const list = table("Reported completions and the completions that the curves predict for the same outcomes", COLUMNS, { hideCaption: true });
  const part = allOrFewer(SHOWN, () => draw(last));
  const element = section("Reported and expected completions",
    h("p", { class: "muted" }, "The curve of its task predicts how many completions each reported outcome has. The bar is the number of completions divided by the "
      + "sum of these predictions; the mark in the middle is 1. “As expected” means that the ratio is within a fifth of 1 with 95 % confidence."),
    list.box, part.button);
  let last = null;

  function draw(campaign) {
    last = campaign;
    const { state } = campaign;
    const off = (task) => Math.abs(judge(task, state.dispersion));
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
        h("span", { class: off(task) > 0 ? "warned" : undefined }, words(task, state.dispersion)),
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
