"""The figure of growth: four panels, all axes logarithmic."""

import math

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot, ticker  # noqa: E402

from .growth import FAMILIES  # noqa: E402

# Markers distinguish the lines without colour too.
STYLES = {"power": ("#1b6ca8", "o"), "mixed": ("#d1722a", "s"), "hill": ("#2f8f5b", "^"), "steps": ("#8a4fa3", "D")}
SETTINGS = {
    "svg.fonttype": "none",
    "svg.hashsalt": "outlay",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#999999",
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "legend.frameon": False,
    "lines.markersize": 4,
}


def draw(figures, path):
    with pyplot.rc_context(SETTINGS):
        sheet, ((time, memory), (jumps, rounds)) = pyplot.subplots(2, 2, figsize=(9, 6.6), layout="constrained")
        for family, points in figures["tasks"].items():
            colour, mark = STYLES[family]
            tasks = [point["tasks"] for point in points]
            time.plot(tasks, [point["cold_seconds"] for point in points], color=colour, marker=mark, label=FAMILIES[family])
            time.plot(tasks, [point["warm_seconds"] for point in points], color=colour, marker=mark, markersize=2.5, linestyle=":")
            memory.plot(tasks, [point["oracle_bytes"] for point in points], color=colour, marker=mark, label=FAMILIES[family])
        title(time, "One split: cold (solid), warm (dotted)", "tasks K")
        title(memory, "What the oracle adds to memory", "tasks K")
        time.legend()
        several(jumps, figures["jumps"])
        several_rounds(rounds, figures)
        for panel in (time, jumps, rounds):
            decades(panel, UNITS["seconds"])
        decades(memory, UNITS["bytes"])
        sheet.savefig(path, format="svg", metadata={"Date": None})
        pyplot.close(sheet)


UNITS = {
    "seconds": (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)),
    "bytes": (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)),
}


def decades(panel, units):
    """Makes both axes logarithmic between powers of ten; the vertical labels have units."""

    def named(number, _):
        unit, one = next(((unit, one) for unit, one in units if number >= 0.99 * one), units[-1])
        return f"{number / one:,.0f} {unit}"

    panel.set_xscale("log")
    panel.set_yscale("log")
    low, high = panel.get_ylim()
    panel.set_ylim(10.0 ** math.floor(math.log10(low)), 10.0 ** math.ceil(math.log10(high)))
    panel.yaxis.set_major_formatter(ticker.FuncFormatter(named))
    panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda number, _: f"{number:,.0f}"))
    panel.yaxis.set_minor_locator(ticker.NullLocator())
    panel.xaxis.set_minor_locator(ticker.NullLocator())


def several(panel, points):
    counts = [point["jumps"] for point in points]
    colour, _ = STYLES["steps"]
    panel.plot(counts, [point["cold_seconds"] for point in points], color=colour, marker="D", label="cold")
    panel.plot(counts, [point["warm_seconds"] for point in points], color=colour, marker="D", markersize=2.5, linestyle=":", label="warm")
    title(panel, "One split of 100 step curves", "jumps of each curve")
    panel.legend()


def several_rounds(panel, figures):
    horizons = figures["horizons"]
    panel.plot([row["horizon"] for row in horizons], [row["seconds"] for row in horizons], color="#444444", marker="o", label="one replication")
    for threads, colour, mark in ((1, "#1b6ca8", "s"), (2, "#d1722a", "^")):
        rows = [row for row in figures["replications"] if row["threads"] == threads]
        label = f"many of {rows[0]['horizon']:,} rounds, threads: {threads}"
        panel.plot([row["horizon"] * row["replications"] for row in rows], [row["seconds"] for row in rows], color=colour, marker=mark, label=label)
    title(panel, "Simulated rounds, K = 10", "rounds in all")
    panel.legend()


def title(panel, text, across):
    panel.set_title(text, fontsize=10, loc="left")
    panel.set_xlabel(across)
