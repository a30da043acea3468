// Each task's curve, and where on it the next round stands.

import { get } from "./api.js";
import { axis, beside, chart, upright } from "./chart.js";
import { themed } from "./colours.js";
import { h, row, section, table, write } from "./dom.js";
import { refresh } from "./refresh.js";
import { named } from "./split.js";
import { amount, column, labels, percent, plural } from "./words.js";

const SHOWN = 12;
const FRACTIONS = [0.1, 0.25, 0.5, 0.75, 1];

export function curvesView(colours, campaign) {
  const grid = h("div", { class: "grid" });
  const remark = h("p", { class: "muted" });
  const columns = [{ name: "Task", kind: "word" }, { name: "Spend now" }, { name: "Chance now" },
    ...FRACTIONS.map((part) => ({ name: `at ${amount(part * campaign.state.budget)}` }))];
  const list = table("The chance of success at some spends", columns);
  const details = h("details", {}, h("summary", {}, "As a table"), list.box);
  const element = section("Curves", remark, grid, details);
  const cards = new Map();
  let curves = null;

  async function load(state) {
    const points = Math.max(11, Math.min(201, Math.floor(100_000 / state.tasks.length)));
    curves = "coming";
    try {
      const { curves: drawn } = await get(`${campaign.path}/curves?points=${points}`);
      curves = new Map(drawn.map((curve) => [curve.task, curve]));
      draw(campaign);
    } catch {
      // The next change asks again.
      curves = null;
    }
  }

  function draw({ state }) {
    if (curves === null) load(state);
    if (!(curves instanceof Map)) return;
    const tasks = state.tasks.length <= SHOWN ? state.tasks : [...state.tasks].sort((a, b) => b.spend - a.spend).slice(0, SHOWN);
    write(remark, "The chance of success by what is spent on a task in a round, up to the whole budget. The point is the next round."
      + (tasks.length < state.tasks.length ? ` Shown: the ${plural(tasks.length, "task")} that are given most.` : ""));
    // Those that are given most may be others now.
    for (const [name, card] of cards) {
      if (tasks.some((task) => task.task === name)) continue;
      card.picture.leave();
      card.figure.remove();
      cards.delete(name);
    }
    for (const task of tasks) {
      const card = cards.get(task.task) ?? make(task.task);
      write(card.now, `${amount(task.spend)} → ${percent(task.success)}`);
      if (card.at.spend !== task.spend || card.at.success !== task.success) {
        Object.assign(card.at, { spend: task.spend, success: task.success });
        card.picture.plot.redraw(false);
      }
    }
    const spends = column(tasks.map((task) => task.spend));
    refresh(list.body, tasks.map((task) => {
      const curve = curves.get(task.task);
      const at = FRACTIONS.map((part) => percent(curve.success[Math.round(part * (curve.success.length - 1))]));
      return row(columns, [named(task.task, colours), spends(task.spend), percent(task.success), ...at]);
    }));
  }

  function make(name) {
    const curve = curves.get(name);
    const box = h("div", { class: "picture", role: "img", "aria-label": `The curve of ${name}; the table below has its numbers` });
    const now = h("span", { class: "muted" });
    const figure = h("figure", {}, h("figcaption", {}, h("span", {}, named(name, colours)), now), box);
    grid.append(figure);
    const at = { spend: 0, success: 0 };
    const picture = chart(box, {
      height: 140,
      padding: [8, beside((end) => labels([end])[0]), 0, 0],
      scales: { x: { time: false, range: [0, curve.spend.at(-1)] }, y: { range: [0, 1] } },
      series: [{}, { stroke: () => themed("accent"), fill: () => themed("wash"), width: 1.5, points: { show: false } }],
      axes: [
        axis({ size: 24, space: 64 }),
        upright({ splits: () => [0, 0.5, 1], values: (_, ticks) => ticks.map((tick) => `${100 * tick} %`) }),
      ],
      cursor: { show: false },
      hooks: { draw: [(plot) => mark(plot, at)] },
    }, [curve.spend, curve.success]);
    const card = { figure, now, picture, at };
    cards.set(name, card);
    return card;
  }

  return { element, draw, leave: () => cards.forEach((card) => card.picture.leave()) };
}

/** The present point, with a line down to its spend. */
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
