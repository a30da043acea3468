// Line charts by uPlot in the colours of the page, as wide as their box.

import { onTheme, themed } from "./colours.js";
import { count, labels } from "./words.js";

const FONT = "12px system-ui, sans-serif";
/** Space between labels, and beside the outermost ones, in pixels. */
const ROOM = 8;
/** Steps of an axis of whole numbers, such as rounds. */
const WHOLE_STEPS = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

const pen = document.createElement("canvas").getContext("2d");

/** The width of the widest of these texts. */
function width(texts) {
  pen.font = FONT;
  return Math.ceil(Math.max(0, ...texts.map((text) => pen.measureText(text).width)));
}

/** An axis in the colours of the page. Labels are in English; those of uPlot would be in the language of the browser. */
export function axis(more = {}) {
  return {
    stroke: () => themed("muted"),
    grid: { stroke: () => themed("line"), width: 1 },
    ticks: { show: false },
    font: FONT,
    labelFont: FONT,
    labelSize: 18,
    gap: 4,
    values: (_, ticks) => labels(ticks),
    ...more,
  };
}

/** A vertical axis, as wide as its labels. */
export const upright = (more = {}) => axis({ size: (_, texts) => (texts === null ? 30 : width(texts) + ROOM), ...more });

/** A horizontal axis of whole numbers from 1. */
export const counted = (more = {}) => axis({
  size: 30,
  incrs: WHOLE_STEPS,
  space: (plot) => width([count(plot.scales.x.max ?? 0)]) + 3 * ROOM,
  values: (_, ticks) => ticks.map((tick) => (tick < 1 ? "" : count(tick))),
  ...more,
});

/** Space at the right for half a label, because the last one is centred on the edge. */
export const beside = (text) => (plot) => Math.max(ROOM, Math.ceil(width([text(plot.scales.x.max ?? 0)]) / 2) + 2);

/** Draws a chart in `box`; `options` are those of uPlot without the width. */
export function chart(box, options, data) {
  const room = () => Math.max(160, Math.floor(box.clientWidth));
  const plot = new uPlot({ legend: { show: false }, ...options, width: room() }, data, box);
  const sized = new ResizeObserver(() => {
    if (plot.width !== room()) plot.setSize({ width: room(), height: options.height });
  });
  sized.observe(box);
  const unhook = onTheme(() => plot.redraw(false, true));
  return {
    plot,
    leave() {
      sized.disconnect();
      unhook();
      plot.destroy();
    },
  };
}
