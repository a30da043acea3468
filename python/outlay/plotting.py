"""Plots of results, if matplotlib is installed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .errors import MissingLibraryError

if TYPE_CHECKING:
    from ._outlay import Allocation, Evaluation
    from .fitting import Fit
    from .problem import Frontier
    from .simulation import Result

#: More tasks than this are not drawn; those with the largest spends are.
MOST_TASKS = 30


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingLibraryError("plot: needs matplotlib, which is not installed: pip install matplotlib") from error
    return pyplot.subplots(layout="constrained")[1]


def _largest(spends: list[float]) -> list[int]:
    """The tasks with the largest spends, in their order."""
    order = sorted(range(len(spends)), key=lambda task: -spends[task])[:MOST_TASKS]
    return sorted(order)


def allocation_plot(allocation: Allocation, axes: Any = None) -> Any:
    """One bar per task: its spend, and the current spend if it is known."""
    axes = _axes(axes)
    spend = allocation.spend.tolist()
    shown = _largest(spend)
    names = [allocation.names[task] for task in shown]
    axes.barh(names, [spend[task] for task in shown], color="tab:blue", label="best")
    current = [allocation.current[task] for task in shown]
    if any(amount is not None for amount in current):
        known = [(name, amount) for name, amount in zip(names, current) if amount is not None]
        axes.plot([amount for _, amount in known], [name for name, _ in known], "k|", markersize=14, markeredgewidth=2, label="current")
        axes.legend()
    axes.invert_yaxis()
    axes.set(xlabel="spend per round", xlim=(0, None))
    _about_hidden(axes, len(spend) - len(shown))
    return axes


def evaluation_plot(evaluation: Evaluation, axes: Any = None) -> Any:
    """Two bars per task: the plan and the best allocation."""
    axes = _axes(axes)
    plan, best = evaluation.plan.tolist(), evaluation.best.spend.tolist()
    shown = _largest([max(pair) for pair in zip(plan, best)])
    places = range(len(shown))
    axes.barh([place - 0.2 for place in places], [plan[task] for task in shown], height=0.38, color="tab:gray", label="plan")
    axes.barh([place + 0.2 for place in places], [best[task] for task in shown], height=0.38, color="tab:blue", label="best")
    axes.set_yticks(list(places), [evaluation.best.names[task] for task in shown])
    axes.invert_yaxis()
    axes.set(xlabel="spend per round", xlim=(0, None))
    axes.legend()
    _about_hidden(axes, len(plan) - len(shown))
    return axes


def frontier_plot(frontier: Frontier, axes: Any = None) -> Any:
    """The value over the budget, with the upper bound where it differs."""
    axes = _axes(axes)
    axes.plot(frontier.budget, frontier.value, marker="o", markersize=3, label="value")
    bounds = [point.upper_bound for point in frontier]
    if any(point.gap > 1e-6 for point in frontier):
        axes.plot(frontier.budget, bounds, linestyle="--", color="tab:gray", label="upper bound")
        axes.legend()
    axes.set(xlabel="budget per round", ylabel="value per round", ylim=(0, None))
    return axes


def fit_plot(fit: Fit, axes: Any = None, log: bool = False) -> Any:
    """One curve per task: solid where the log has data, dotted elsewhere."""
    import numpy as np

    from . import _outlay

    axes = _axes(axes)
    budget = fit.problem.budget
    fitted = [task for task in fit.tasks if task.curve is not None]
    spends = np.geomspace(budget / 1e3, budget, 200) if log else np.linspace(0.0, budget, 201)
    for task in fitted[:MOST_TASKS]:
        success = _outlay.success(json.dumps(task.curve), budget, spends)
        low, high = 0.0, budget
        if task.covers is not None:
            low, high = task.covers["from"] or 0.0, task.covers["to"] or budget
        seen = (spends >= low) & (spends <= high)
        (line,) = axes.plot(spends, np.where(seen, success, np.nan), label=task.task)
        axes.plot(spends, success, color=line.get_color(), linestyle=":", linewidth=1)
    axes.set(xlabel="spend", ylabel="success probability", ylim=(0, 1.02), xscale="log" if log else "linear")
    axes.legend()
    _about_hidden(axes, len(fitted) - MOST_TASKS)
    return axes


def regret_plot(result: Result, axes: Any = None, log: bool = False) -> Any:
    """Mean regret over time with its 95 % interval, one line per learner."""
    axes = _axes(axes)
    several = len(result.summaries) > 1
    for summary in result.summaries:
        for learner in summary["learners"]:
            rounds = [point["round"] for point in learner["curve"]]
            label = f"{_label(summary)}: {learner['learner']}" if several else learner["learner"]
            (line,) = axes.plot(rounds, [point["mean"] for point in learner["curve"]], label=label)
            if summary["replications"] > 1:
                low, high = ([point[end] for point in learner["curve"]] for end in ("low95", "high95"))
                axes.fill_between(rounds, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
    axes.set(xlabel="round", ylabel="regret", xscale="log", yscale="log" if log else "linear")
    axes.legend()
    return axes


def _about_hidden(axes: Any, hidden: int) -> None:
    if hidden > 0:
        axes.set_title(f"{hidden} more tasks are not shown", fontsize="small")


def _label(summary: dict[str, Any]) -> str:
    parameter = summary.get("parameter")
    return f"{summary['problem']} {parameter[0]}={parameter[1]:g}" if parameter else str(summary["problem"])
