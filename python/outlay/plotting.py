"""Pictures, if matplotlib is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import MissingLibraryError

if TYPE_CHECKING:
    from .simulation import Result


def regret_plot(result: Result, axes: Any = None) -> Any:
    """Mean regret over time, a line a learner, and its 95 % interval."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingLibraryError("plot: needs matplotlib, which is not installed: pip install matplotlib") from error
    if axes is None:
        _, axes = pyplot.subplots()
    several = len(result.summaries) > 1
    for summary in result.summaries:
        for learner in summary["learners"]:
            rounds = [point["round"] for point in learner["curve"]]
            label = f"{_label(summary)}: {learner['learner']}" if several else learner["learner"]
            (line,) = axes.plot(rounds, [point["mean"] for point in learner["curve"]], label=label)
            if summary["replications"] > 1:
                low, high = ([point[end] for point in learner["curve"]] for end in ("low95", "high95"))
                axes.fill_between(rounds, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set(xlabel="round", ylabel="regret", xscale="log")
    axes.legend()
    return axes


def _label(summary: dict[str, Any]) -> str:
    parameter = summary.get("parameter")
    return f"{summary['problem']} {parameter[0]}={parameter[1]:g}" if parameter else str(summary["problem"])
