// Shares and rewards over the latest rounds.

import { beside, chart, counted, upright } from "./chart.js";
import { themed } from "./colours.js";
import { h, row, section, table, write } from "./dom.js";
import { refresh } from "./refresh.js";
import { amount, completions, count, percent } from "./words.js";

const WINDOWS = [50, 200, 1000];
/** Rewards vary a lot, so the line is the mean of this many rounds; it starts when there are `FEWEST`. */
const SMOOTH = 20;
const FEWEST = 5;
const TABLE_ROWS = 20;

const gain = (round) => round.tasks.reduce((sum, task) => sum + (task.reward ?? 0), 0);
const isComplete = (round) => round.status === "complete";
const isReported = (round) => round.tasks.some((task) => completions(task) !== undefined);

/**
 * The rounds that enter the mean: the complete ones or, if there are too few because some task is never reported, all rounds with
 * outcomes.
 */
function countedRounds(rounds) {
  const complete = rounds.filter(isComplete);
  const reported = rounds.filter(isReported);
  return complete.length >= Math.min(FEWEST, reported.length) ? complete : reported;
}

/** The mean reward of a round and whether all rounds in the mean are complete; null without rounds. */
export function rewardPerRound(rounds) {
  const taken = countedRounds(rounds);
  if (taken.length === 0) return null;
  return { mean: taken.reduce((sum, round) => sum + gain(round), 0) / taken.length, isComplete: taken.every(isComplete) };
}

export function historyView(colours, campaign, again) {
  const select = h("select", { id: "window", onchange: () => {
    campaign.window = Number(select.value);
    again();
  } }, WINDOWS.map((rounds) => h("option", { value: rounds, selected: rounds === campaign.window }, `${count(rounds)} rounds`)));
  const names = [...colours.names];
  const hasOthers = campaign.state.tasks.length > names.length;
  if (hasOthers) names.push(null);
  const legend = h("ul", { class: "legend" });
  const where = h("p", { class: "muted" });
  const shares = h("div", { class: "picture", role: "img", "aria-label": "Shares of the budget over the latest rounds; the table below has them" });
  const rewards = h("div", { class: "picture", role: "img", "aria-label": "Reward of each round and its running mean; the table below has them" });
  const partly = h("li", { hidden: true }, h("span", { class: "key ring" }), h("span", {}, "an incomplete round, as far as reported"));
  const meanOf = h("span", {});
  const columns = [{ name: "Round" }, { name: "Status", kind: "word" }, { name: "Reward" },
    ...names.map((name) => ({ name: name ?? "others", kind: "number task" }))];
  const list = table(`Shares and reward of the latest ${TABLE_ROWS} rounds of the window`, columns);
  const details = h("details", { ontoggle: () => drawTable() }, h("summary", {}, "As a table"), list.box);
  const element = section("Over time",
    h("div", { class: "line" }, h("label", { for: "window" }, "The latest"), select),
    where,
    h("div", { class: "pair" },
      h("figure", {}, h("figcaption", {}, "Shares of the budget"), shares, legend),
      h("figure", {}, h("figcaption", {}, "Reward of a round"), rewards,
        h("ul", { class: "legend" },
          h("li", {}, h("span", { class: "key point" }), h("span", {}, "a complete round")),
          partly,
          h("li", {}, h("span", { class: "key stroke" }), meanOf)))),
    details);
  const charts = [];
  let rounds = [];
  let values = [];

  function draw() {
    rounds = [...campaign.rounds.values()].sort((a, b) => a.round - b.round);
    const shown = campaign.shown(campaign.state.tasks.length);
    write(where, rounds.length === 0 ? "No rounds yet." : whereabouts(shown));
    element.querySelector(".pair").hidden = details.hidden = rounds.length === 0;
    if (rounds.length === 0) return;
    values = rounds.map((round) => sharesOf(round, colours, names));
    const [areas, points] = [stacked(), smoothed()];
    if (charts.length === 0) {
      charts.push(chart(shares, sharesPicture(), areas), chart(rewards, rewardsPicture(), points));
    } else {
      charts[0].plot.setData(areas);
      charts[1].plot.setData(points);
    }
    drawLegend(pointed(charts[0].plot));
    drawTable();
  }

  function whereabouts(shown) {
    const [first, last] = [count(rounds[0].round), count(rounds.at(-1).round)];
    const few = shown < campaign.window ? ` With so many tasks, ${count(shown)} are shown.` : "";
    return `${rounds.length === 1 ? `Round ${last}` : `Rounds ${first} to ${last}`}.${few}`;
  }

  /**
   * Every area reaches from zero to its top; the tallest is drawn first. A round is a step centred on its number, so that a single one is
   * visible; the last step needs an end.
   */
  function stacked() {
    const tops = names.map((_, place) => values.map((shares) => shares.slice(0, place + 1).reduce((sum, share) => sum + share, 0)));
    const ends = [...rounds.map((round) => round.round - 0.5), rounds.at(-1).round + 0.5];
    return [ends, ...tops.map((top) => [...top, top.at(-1)]).reverse()];
  }

  /** The position of the round under the pointer. */
  function pointed(plot) {
    const { left } = plot.cursor;
    if (left === undefined || left === null || left < 0) return rounds.length - 1;
    const at = plot.posToVal(left, "x") + 0.5;
    return Math.max(0, rounds.findLastIndex((round) => round.round <= at));
  }

  function smoothed() {
    const complete = rounds.map((round) => (isComplete(round) ? gain(round) : null));
    const known = rounds.map((round) => (!isComplete(round) && isReported(round) ? gain(round) : null));
    const taken = new Set(countedRounds(rounds));
    const kept = [];
    const mean = rounds.map((round) => {
      if (!taken.has(round)) return null;
      kept.push(gain(round));
      const last = kept.slice(-SMOOTH);
      return last.length < FEWEST ? null : last.reduce((sum, reward) => sum + reward, 0) / last.length;
    });
    partly.hidden = known.every((reward) => reward === null);
    const kind = [...taken].every(isComplete) ? "complete rounds" : "rounds with outcomes";
    write(meanOf, `mean of the last ${SMOOTH} ${kind} (fewer near the left end, at least ${FEWEST})`);
    return [rounds.map((round) => round.round), complete, known, mean];
  }

  function sharesPicture() {
    const areas = names.map((name) => ({
      label: name ?? "others",
      fill: () => colours.drawn(name),
      // A line in the colour of the page separates neighbouring areas.
      stroke: () => themed("ground"),
      width: 1,
      paths: uPlot.paths.stepped({ align: 1 }),
      points: { show: false },
    }));
    return {
      height: 240,
      padding: [8, beside(count), 0, 0],
      scales: { x: { time: false, range: (_, low, high) => [low, high] }, y: { range: [0, 1] } },
      series: [{}, ...areas.reverse()],
      axes: [counted({ label: "round" }), upright({ values: (_, ticks) => ticks.map((tick) => `${Math.round(100 * tick)} %`) })],
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      hooks: { setCursor: [(plot) => drawLegend(pointed(plot))] },
    };
  }

  function rewardsPicture() {
    return {
      height: 240,
      padding: [8, beside(count), 0, 0],
      scales: { x: { time: false, range: () => apart(rounds[0].round, rounds.at(-1).round) }, y: { range: (_, low, high) => [0, (high || 1) * 1.05] } },
      series: [
        {},
        { label: "round", stroke: () => themed("edge"), paths: () => null, points: { show: true, size: 4, width: 0, fill: () => themed("edge") } },
        { label: "known", stroke: () => themed("edge"), paths: () => null, points: { show: true, size: 5, width: 1, stroke: () => themed("edge"), fill: () => themed("ground") } },
        { label: "mean", stroke: () => themed("accent"), width: 2, spanGaps: true, points: { show: false } },
      ],
      axes: [counted({ label: "round" }), upright()],
      cursor: { y: false, drag: { x: false, y: false } },
    };
  }

  function drawLegend(place) {
    if (values[place] === undefined) return;
    if (legend.childElementCount === 0) {
      legend.append(...names.map((name) => {
        const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
        swatch.style.background = colours.of(name);
        return h("li", {}, swatch, h("span", {}, name ?? "others"), h("span", { class: "muted value" }));
      }));
    }
    values[place].forEach((share, task) => write(legend.children[task].lastChild, percent(share)));
  }

  function drawTable() {
    if (!details.open) return;
    const latest = rounds.slice(-TABLE_ROWS).reverse();
    refresh(list.body, latest.map((round) => row(columns, [
      count(round.round), round.status, amount(gain(round)), ...sharesOf(round, colours, names).map(percent),
    ])));
  }

  return { element, draw, leave: () => charts.forEach((chart) => chart.leave()) };
}

/** Space on both sides, so that no dot is on the axis. */
function apart(low, high) {
  const room = Math.max(0.5, (high - low) / 50);
  return [low - room, high + room];
}

/** Shares in the order of `names`; null is the total of all others. */
function sharesOf(round, colours, names) {
  const spends = new Map(round.tasks.map((task) => [task.task, task.spend]));
  const others = round.tasks.reduce((sum, task) => sum + (colours.has(task.task) ? 0 : task.spend), 0);
  return names.map((name) => (name === null ? others : spends.get(name) ?? 0) / (round.budget || 1));
}
