"""Growth as one picture: four panels, all axes logarithmic."""

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402

from .growth import FAMILIES  # noqa: E402

# Told apart without colour as well: by mark.
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
        title(time, "One split: cold (solid), warm (dotted)", "tasks K", "seconds")
        title(memory, "What the oracle adds to memory", "tasks K", "bytes")
        time.legend()
        several(jumps, figures["jumps"])
        several_rounds(rounds, figures)
        for panel in (time, memory, jumps, rounds):
            panel.set_xscale("log")
            panel.set_yscale("log")
        sheet.savefig(path, format="svg", metadata={"Date": None})
        pyplot.close(sheet)


def several(panel, points):
    counts = [point["jumps"] for point in points]
    colour, _ = STYLES["steps"]
    panel.plot(counts, [point["cold_seconds"] for point in points], color=colour, marker="D", label="cold")
    panel.plot(counts, [point["warm_seconds"] for point in points], color=colour, marker="D", markersize=2.5, linestyle=":", label="warm")
    title(panel, "One split of 100 step curves", "jumps of each curve", "seconds")
    panel.legend()


def several_rounds(panel, figures):
    horizons = figures["horizons"]
    panel.plot([row["horizon"] for row in horizons], [row["seconds"] for row in horizons], color="#444444", marker="o", label="one replication")
    for threads, colour, mark in ((1, "#1b6ca8", "s"), (2, "#d1722a", "^")):
        rows = [row for row in figures["replications"] if row["threads"] == threads]
        label = f"many of {rows[0]['horizon']:,} rounds, threads: {threads}"
        panel.plot([row["horizon"] * row["replications"] for row in rows], [row["seconds"] for row in rows], color=colour, marker=mark, label=label)
    title(panel, "Simulated rounds, K = 10", "rounds in all", "seconds")
    panel.legend()


def title(panel, text, across, up):
    panel.set_title(text, fontsize=10, loc="left")
    panel.set_xlabel(across)
    panel.set_ylabel(up)
