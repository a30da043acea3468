// The curve of each task, with the point of the next round.

import { get } from "./api.js";
import { axis, beside, chart, upright } from "./chart.js";
import { themed } from "./colours.js";
import { h, row, section, table, write } from "./dom.js";
import { refresh } from "./refresh.js";
import { named } from "./split.js";
import { amount, column, labels, percent, plural } from "./words.js";

const SHOWN = 12;
const POINTS = 121;
/** A curve is drawn up to this multiple of the spend, so that the point is well inside. */
const REACH = 2.5;
/** Spends of the table, as multiples of the spend of the next round. */
const MULTIPLES = [0.5, 1.5, 2];

export function curvesView(colours, campaign) {
  const grid = h("div", { class: "grid" });
  const remark = h("p", { class: "muted" });
  const columns = [{ name: "Task", kind: "word" }, { name: "Spend" }, { name: "Success probability" },
    ...MULTIPLES.map((multiple) => ({ name: `at ${multiple} × the spend` }))];
  const list = table("Success probability at several spends", columns);
  const details = h("details", {}, h("summary", {}, "As a table"), list.box);
  const element = section("Curves", remark, grid, details);
  const cards = new Map();
  /** Curves are loaded one after the other. */
  let loading = Promise.resolve();

  /** The largest spend that is drawn. A task with no spend is drawn as if it had an even share. */
  function reach(task, state) {
    const spend = task.spend > 0 ? task.spend : state.budget / state.tasks.length;
    return Math.min(state.budget, REACH * spend);
  }

  async function load(card, end) {
    if (!cards.has(card.name)) return;
    try {
      const path = `${campaign.path}/curves?task=${encodeURIComponent(card.name)}&up_to=${end}&points=${POINTS}`;
      const { curves: [curve] } = await get(path);
      card.curve = curve;
      if (card.picture === null) card.picture = picture(card);
      card.picture.plot.setData([curve.spend, curve.success]);
      card.picture.plot.setScale("x", { min: 0, max: curve.spend.at(-1) });
      drawTable();
    } catch {
      // The next change loads it again.
      card.asked = null;
    }
  }

  function draw({ state }) {
    const tasks = state.tasks.length <= SHOWN ? state.tasks : [...state.tasks].sort((a, b) => b.spend - a.spend).slice(0, SHOWN);
    write(remark, "Success probability by spend. The point is the next round."
      + (tasks.length < state.tasks.length ? ` Shown: the ${plural(tasks.length, "task")} with the largest spends.` : ""));
    // The tasks with the largest spends may have changed.
    for (const [name, card] of cards) {
      if (tasks.some((task) => task.task === name)) continue;
      card.picture?.leave();
      card.figure.remove();
      cards.delete(name);
    }
    for (const task of tasks) {
      const card = cards.get(task.task) ?? make(task.task);
      write(card.now, `${amount(task.spend)} → ${percent(task.success)}`);
      const isMoved = card.at.spend !== task.spend || card.at.success !== task.success;
      Object.assign(card.at, { spend: task.spend, success: task.success });
      if (isMoved) card.picture?.plot.redraw(false);
      const end = reach(task, state);
      // Rescale only if the point leaves the chart or becomes small in it, because a constantly moving chart is hard to read.
      const isOut = card.asked === null || task.spend > 0.9 * card.asked || end < 0.25 * card.asked;
      if (isOut && end !== card.asked) {
        card.asked = end;
        loading = loading.then(() => load(card, end));
      }
    }
    drawTable();
  }

  function drawTable() {
    const drawn = [...cards.values()].filter((card) => card.curve !== null);
    const spends = column(drawn.map((card) => card.at.spend));
    refresh(list.body, drawn.map((card) => {
      const at = MULTIPLES.map((multiple) => successAt(card.curve, multiple * card.at.spend));
      return row(columns, [named(card.name, colours), spends(card.at.spend), percent(card.at.success), ...at]);
    }));
  }

  function make(name) {
    const box = h("div", { class: "picture", role: "img", "aria-label": `The curve of ${name}; the table below has its numbers` });
    const now = h("span", { class: "muted" });
    const figure = h("figure", {}, h("figcaption", {}, h("span", {}, named(name, colours)), now), box);
    grid.append(figure);
    const card = { name, figure, box, now, picture: null, curve: null, asked: null, at: { spend: 0, success: 0 } };
    cards.set(name, card);
    return card;
  }

  function picture({ box, curve, at }) {
    return chart(box, {
      height: 140,
      padding: [8, beside((end) => labels([end])[0]), 0, 0],
      scales: { x: { time: false, range: (_, low, high) => [low, high] }, y: { range: [0, 1] } },
      series: [{}, { stroke: () => themed("accent"), fill: () => themed("wash"), width: 1.5, points: { show: false } }],
      axes: [
        axis({ size: 24, space: 64 }),
        upright({ splits: () => [0, 0.5, 1], values: (_, ticks) => ticks.map((tick) => `${100 * tick} %`) }),
      ],
      cursor: { show: false },
      hooks: { draw: [(plot) => mark(plot, at)] },
    }, [curve.spend, curve.success]);
  }

  return { element, draw, leave: () => cards.forEach((card) => card.picture?.leave()) };
}

/** The success probability at the last point up to a spend; a dash beyond the end of the curve. */
function successAt(curve, spend) {
  if (spend > curve.spend.at(-1)) return "–";
  return percent(curve.success[curve.spend.findLastIndex((point) => point <= spend)]);
}

/** Draws the point of the next round, with a line down to its spend. */
function mark(plot, { spend, success }) {
  const { ctx } = plot;
  const [x, y, ground] = [plot.valToPos(spend, "x", true), plot.valToPos(success, "y", true), plot.valToPos(0, "y", true)];
  const scale = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = themed("point");
  ctx.lineWidth = scale;
  ctx.setLineDash([3 * scale, 3 * scale]);
  ctx.beginPath();
  ctx.moveTo(x, ground);
  ctx.lineTo(x, y);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.arc(x, y, 4.5 * scale, 0, 2 * Math.PI);
  ctx.fill();
  ctx.strokeStyle = themed("ground");
  ctx.lineWidth = 1.5 * scale;
  ctx.stroke();
  ctx.restore();
}
