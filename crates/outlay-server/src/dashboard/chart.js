// Line pictures by uPlot, in the colours of the page, as wide as there is room.

import { onTheme, themed } from "./colours.js";

const FONT = "12px system-ui, sans-serif";

/** An axis in the page's colours. */
export function axis(more = {}) {
  return {
    stroke: () => themed("muted"),
    grid: { stroke: () => themed("line"), width: 1 },
    ticks: { show: false },
    font: FONT,
    labelFont: FONT,
    labelSize: 18,
    gap: 4,
    ...more,
  };
}

/** A picture in `box`; `options` as uPlot has them, without the width. */
export function chart(box, options, data) {
  const width = () => Math.max(160, Math.floor(box.clientWidth));
  const plot = new uPlot({ legend: { show: false }, ...options, width: width() }, data, box);
  const sized = new ResizeObserver(() => {
    if (plot.width !== width()) plot.setSize({ width: width(), height: options.height });
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
