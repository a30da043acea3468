"""Results as text for terminals, HTML for notebooks, and data frames."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .errors import MissingLibraryError

if TYPE_CHECKING:
    from ._outlay import Allocation, Evaluation, Round
    from .analysis import Bounds, Replay
    from .fitting import Fit
    from .learner import Learner
    from .ledger import LedgerStatus
    from .problem import Frontier, Problem
    from .simulation import Result

    Columns = dict[str, list[Any]]

#: More rows than this are not shown.
MOST_ROWS = 40


def frame(columns: Columns, library: str | None = None) -> Any:
    """A data frame of the given library; by default pandas if it is installed, else polars."""
    if library not in (None, "pandas", "polars"):
        raise MissingLibraryError(f"library: must be pandas or polars, not {library}")
    for name in (library,) if library else ("pandas", "polars"):
        try:
            module = __import__(str(name))
        except ImportError:
            continue
        return module.DataFrame(columns)
    wanted = library or "pandas or polars"
    raise MissingLibraryError(f"a table needs {wanted}, which is not installed: pip install {library or 'pandas'}")


def number(value: Any) -> str:
    """Four significant digits; the empty text for None."""
    if value is None:
        return ""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return str(value)
    if not math.isfinite(value):
        return str(value)
    if value == 0:
        return "0"
    size = abs(value)
    if not 1e-4 <= size < 1e12:
        return f"{value:.3e}"
    decimals = max(0, 3 - math.floor(math.log10(size)))
    return f"{value:,.{decimals}f}"


def percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.1f}%"


def gap(value: float) -> str:
    return "below 1e-12" if value < 1e-12 else f"{value:.0e}"


class Shown:
    """A table as texts, and the lines under it."""

    def __init__(self, columns: dict[str, list[str]], lines: Sequence[str], words: Sequence[str] = ("task",)) -> None:
        self.columns, self.lines, self.words = columns, list(lines), words
        rows = max((len(cells) for cells in columns.values()), default=0)
        if rows > MOST_ROWS:
            self.columns = {title: cells[:MOST_ROWS] for title, cells in columns.items()}
            self.lines.insert(0, f"and {rows - MOST_ROWS} more")

    def text(self) -> str:
        widths = {title: max(len(cell) for cell in [title, *cells]) for title, cells in self.columns.items()}

        def line(cells: dict[str, str]) -> str:
            parts = [cell.ljust(widths[title]) if title in self.words else cell.rjust(widths[title]) for title, cell in cells.items()]
            return "  ".join(parts).rstrip()

        rows = [dict(zip(self.columns, cells)) for cells in zip(*self.columns.values())]
        head = line({title: title for title in self.columns})
        return "\n".join([head, "─" * len(head), *(line(row) for row in rows), "", *self.lines])

    def html(self) -> str:
        style = {title: ' style="text-align:left"' if title in self.words else ' style="text-align:right"' for title in self.columns}
        head = "".join(f"<th{style[title]}>{html.escape(title)}</th>" for title in self.columns)
        rows = [
            "<tr>" + "".join(f"<td{style[title]}>{html.escape(cell)}</td>" for title, cell in zip(self.columns, cells)) + "</tr>"
            for cells in zip(*self.columns.values())
        ]
        under = "".join(f"<div>{html.escape(line)}</div>" for line in self.lines)
        return f"<div><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{under}</div>"


# A problem.


def _problem(problem: Problem) -> Shown:
    written = problem.to_dict()["task"]
    bounds = ("min", "max", "at_least", "current", "volume")
    columns = {
        "task": [task["name"] for task in written],
        "family": [task["curve"]["family"] for task in written],
        "shape": problem.shapes,
        "value": [number(value) for value in problem.values],
    }
    for key in bounds:
        if any(key in task for task in written):
            columns[key] = [number(task.get(key)) for task in written]
    tasks = "1 task" if len(written) == 1 else f"{len(written)} tasks"
    labels = Labels((problem.currency, problem.period, problem.reward_unit))
    line = f"{tasks} · budget {labels.money(problem.budget)} per {labels.period} · reward_max {number(problem.reward_max)}"
    return Shown(columns, [line], ("task", "family", "shape"))


def problem_text(problem: Problem) -> str:
    return _problem(problem).text()


def problem_html(problem: Problem) -> str:
    return _problem(problem).html()


# A split.


#: Returns of each task; None where they have no meaning.
RETURNS = ("return_up", "return_down", "return_on_spend", "cost_per_completion")


class Labels:
    """The units of a problem in text: amounts without units are bare numbers per round."""

    def __init__(self, units: tuple[str | None, str, str | None]) -> None:
        self.currency, self.period, self.reward_unit = units

    def money(self, amount: float) -> str:
        return number(amount) if self.currency is None else f"{number(amount)} {self.currency}"

    def reward(self, reward: float) -> str:
        return number(reward) if self.reward_unit is None else f"{number(reward)} {self.reward_unit}"


def allocation_columns(allocation: Allocation, has_completions: bool | None = None) -> Columns:
    """The columns; expected completions by default only where a task has a volume."""
    columns: Columns = {"task": allocation.names}
    if any(current is not None for current in allocation.current):
        columns["current"] = allocation.current
    if has_completions is None:
        has_completions = bool((allocation.expected_completions != allocation.success).any())
    for key in ("spend", "share", "success", "expected_completions", "expected_reward", "marginal_return"):
        if key != "expected_completions" or has_completions:
            columns[key] = getattr(allocation, key).tolist()
    for key in RETURNS:
        columns[key] = getattr(allocation, key)
    columns["bound"] = allocation.bound
    if allocation.extrapolates is not None:
        columns["extrapolates"] = allocation.extrapolates
    return columns


def allocation_table(allocation: Allocation, library: str | None) -> Any:
    return frame(allocation_columns(allocation), library)


def allocation_rows(allocation: Allocation) -> Iterator[dict[str, Any]]:
    """One dictionary per task."""
    columns = allocation_columns(allocation)
    return iter([dict(zip(columns, cells)) for cells in zip(*columns.values())])


def evaluation_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """One dictionary per task."""
    columns = evaluation_columns(evaluation)
    return iter([dict(zip(columns, cells)) for cells in zip(*columns.values())])


def allocation_dict(allocation: Allocation) -> dict[str, Any]:
    keys = ("budget", "value", "upper_bound", "gap", "price", "status", "unspent", "unspent_reason")
    record: dict[str, Any] = {key: getattr(allocation, key) for key in keys}
    if allocation.rounding is not None:
        record["rounding"] = allocation.rounding
    columns = {key: cells for key, cells in allocation_columns(allocation, True).items() if key != "current"}
    # As JSON has it: no infinity.
    finite = {key: [None if cell == math.inf else cell for cell in cells] for key, cells in columns.items()}
    record["tasks"] = [dict(zip(finite, cells)) for cells in zip(*finite.values())]
    return record


def allocation_lines(allocation: Allocation) -> list[str]:
    """The lines below the table."""
    return _allocation(allocation).lines


def _allocation(allocation: Allocation) -> Shown:
    columns, labels = allocation_columns(allocation), Labels(allocation._units)
    # As the command line: money only with a currency, and larger changes only with steps.
    hidden = () if labels.currency else ("return_on_spend", "cost_per_completion")
    for key in hidden if any(allocation._is_stepped) else (*hidden, "return_up", "return_down"):
        del columns[key]
    columns["marginal_return"] = [None if is_stepped else cell for is_stepped, cell in zip(allocation._is_stepped, columns["marginal_return"])]
    outside = [name for name, is_outside in zip(allocation.names, columns.pop("extrapolates", [])) if is_outside]
    shares = ("share", "success")
    texts = {key.replace("_", " "): [percent(cell) if key in shares else number(cell) for cell in cells] for key, cells in columns.items()}
    standing = {"optimal": "optimal", "within_tolerance": "within tolerance", "limit": "best found before the search limit"}
    rounding = allocation.rounding
    parts = [
        f"budget {labels.money(allocation.budget)} per {labels.period}",
        f"value {labels.reward(allocation.value)} per {labels.period}",
        f"{standing[allocation.status]} (gap {gap(allocation.gap)})" if rounding is None else f"{standing[allocation.status]} before rounding",
        f"price {number(allocation.price)} per {labels.currency or 'unit'}",
        f"unspent {number(allocation.unspent)}",
    ]
    lines = [" · ".join(parts)]
    if rounding is not None:
        lines.append(f"rounding to multiples of {rounding['unit']:.12g} costs {labels.reward(rounding['loss'])} per {labels.period}")
        moved = [f"{bound['bound']} of {bound['task']} {bound['given']:.12g} → {bound['used']:.12g}" for bound in rounding["moved_bounds"]]
        if moved:
            lines.append(f"bounds that are not multiples are rounded inwards: {', '.join(moved)}")
    if outside:
        texts["spend"] = [f"! {cell}" if name in outside else cell for name, cell in zip(allocation.names, texts["spend"])]
        lines.append(f"! spends outside the log that the curves were fitted to (within_data=True avoids them): {', '.join(outside)}")
    return Shown(texts, lines, ("task", "bound"))


def allocation_text(allocation: Allocation) -> str:
    return _allocation(allocation).text()


def allocation_html(allocation: Allocation) -> str:
    return _allocation(allocation).html()


# A plan.


def evaluation_columns(evaluation: Evaluation) -> Columns:
    best = evaluation.best
    return {
        "task": best.names,
        "plan_spend": evaluation.plan.tolist(),
        "best_spend": best.spend.tolist(),
        "move": evaluation.moves.tolist(),
        "best_reward": best.expected_reward.tolist(),
    }


def evaluation_table(evaluation: Evaluation, library: str | None) -> Any:
    return frame(evaluation_columns(evaluation), library)


def evaluation_lines(evaluation: Evaluation) -> list[str]:
    """The lines below the table."""
    return _evaluation(evaluation).lines


def _evaluation(evaluation: Evaluation) -> Shown:
    columns = {key.replace("_", " "): [number(cell) for cell in cells] for key, cells in evaluation_columns(evaluation).items()}
    relative = "" if evaluation.relative_lift is None else f" ({100 * evaluation.relative_lift:+.1f}%)"
    labels = Labels(evaluation.best._units)
    per = f"per {labels.period}"
    lines = [
        f"plan  value {labels.reward(evaluation.value)} {per} · spends {number(evaluation.total)} of {labels.money(evaluation.budget)}",
        f"best  value {labels.reward(evaluation.best.value)} {per} · gap {gap(evaluation.best.gap)}",
        f"lift  {labels.reward(evaluation.lift)} {per}{relative}",
        *(f"not allowed: {violation}" for violation in evaluation.violations),
    ]
    return Shown(columns, lines)


def evaluation_text(evaluation: Evaluation) -> str:
    return _evaluation(evaluation).text()


def evaluation_html(evaluation: Evaluation) -> str:
    return _evaluation(evaluation).html()


# Budgets.

FRONTIER = ("budget", "value", "upper_bound", "gap", "price", "status", "unspent", "unspent_reason")

#: The columns of the splits: those of the budget, and those of the task after its name.
SPLIT_POINT = ("budget", "value", "upper_bound", "price", "status")
SPLIT_TASK = (
    "spend", "share", "success", "expected_completions", "expected_reward", "return_on_spend", "cost_per_completion",
    "marginal_return", "bound",
)  # fmt: skip


def frontier_splits(frontier: Frontier) -> Columns:
    """One row per budget and task."""
    columns: Columns = {key: [] for key in (*SPLIT_POINT, "task", *SPLIT_TASK)}
    for point in frontier:
        cells: Columns = {key: list(getattr(point, key)) for key in SPLIT_TASK}
        for key in SPLIT_POINT:
            columns[key] += [getattr(point, key)] * len(point)
        columns["task"] += point.names
        for key, column in cells.items():
            columns[key] += column
    return columns


def _frontier(frontier: Frontier) -> Shown:
    columns = {key: [number(getattr(point, key)) for point in frontier] for key in ("budget", "value", "price", "unspent")}
    columns["gap"] = [gap(point.gap) for point in frontier]
    labels = Labels(frontier[0]._units if len(frontier) else (None, "round", None))
    money, reward = (f" ({unit})" if unit else "" for unit in (labels.currency, labels.reward_unit))
    amounts = f"budget{money}, value{reward} and unspent{money} per {labels.period}"
    return Shown(columns, [f"{amounts} · price: what one more {labels.currency or 'unit of budget'} is worth"], ("gap",))


def frontier_text(frontier: Frontier) -> str:
    return _frontier(frontier).text()


def frontier_html(frontier: Frontier) -> str:
    return _frontier(frontier).html()


# A round and a learner.


def _round(handed_out: Round) -> Shown:
    mask = handed_out.mask
    there = [True] * len(handed_out) if mask is None else mask.tolist()
    columns = {
        "task": handed_out.names,
        "spend": [number(spend) if is_there else "not there" for spend, is_there in zip(handed_out.spend.tolist(), there)],
        "success": [percent(success) for success in handed_out.success.tolist()],
    }
    return Shown(columns, [f"round {handed_out.round} · budget {number(handed_out.budget)} · unspent {number(handed_out.unspent)}"])


def round_text(handed_out: Round) -> str:
    return _round(handed_out).text()


def round_html(handed_out: Round) -> str:
    return _round(handed_out).html()


def learner_columns(learner: Learner) -> Columns:
    """One row per task: for count-based learners, its number of completions and their mean reward."""
    learnt = json.loads(learner.learnt())
    columns: Columns = {"task": learner.names}
    completions, sums = (learnt.get(key) if isinstance(learnt, dict) else None for key in ("completions", "reward_sum"))
    if isinstance(completions, list) and isinstance(sums, list):
        # Sums are in billionths of the largest reward.
        unit = learner.reward_max / 1e9
        columns["completions"] = completions
        columns["mean_reward"] = [total * unit / count if count else None for count, total in zip(completions, sums)]
    weights = learner.weights
    columns["weight"] = [None] * len(learner.names) if weights is None else weights.tolist()
    return columns


def _learner(learner: Learner) -> Shown:
    columns = {key.replace("_", " "): [number(cell) for cell in cells] for key, cells in learner_columns(learner).items()}
    if "completions" in columns:
        columns["completions"] = [f"{count:,}" for count in learner_columns(learner)["completions"]]
    rounds = "1 round" if learner.rounds == 1 else f"{learner.rounds:,} rounds"
    return Shown(columns, [f"{learner.learner} · {rounds} · {learner.open_rounds:,} open · {learner.feedback} feedback"])


def learner_text(learner: Learner) -> str:
    return _learner(learner).text()


def learner_html(learner: Learner) -> str:
    return _learner(learner).html()


# A simulation.


def _shares(summary: dict[str, Any], learner: dict[str, Any]) -> tuple[float | None, float | None]:
    """Of the optimum, and of the even split's regret."""
    optimum = summary["optimum"]["value"] * summary["horizon"]
    even = summary["uniform_regret_per_round"] * summary["horizon"]
    for other in summary["learners"]:
        if other["learner"] == "uniform":
            even = other["regret"]["mean"]
    mean = learner["regret"]["mean"]
    # A regret in the last digits of the optimum counts as zero.
    return (1 - mean / optimum if optimum > 0 else None, mean / even if even > 1e-9 * optimum else None)


def _result_row(summary: dict[str, Any], learner: dict[str, Any]) -> dict[str, Any]:
    parameter = summary.get("parameter") or (None, None)
    of_optimum, of_even = _shares(summary, learner)
    row = {
        "problem": summary["problem"],
        "parameter": parameter[0],
        "parameter_value": parameter[1],
        "tasks": len(summary["tasks"]),
        "horizon": summary["horizon"],
        "replications": summary["replications"],
        "seed": summary["seed"],
        "learner": learner["learner"],
        "feedback": learner["feedback"],
    }
    row |= {f"regret_{key}": learner["regret"][key] for key in ("mean", "std_error", "low95", "high95", "median", "q10", "q90")}
    row |= {f"realised_regret_{key}": learner["realised_regret"][key] for key in ("mean", "std_error")}
    row |= {"optimum_value": summary["optimum"]["value"], "share_of_optimum": of_optimum, "share_of_even_split_regret": of_even}
    return row | {"oracle_gap": learner["oracle_gap"], "pending": learner["pending"]}


def result_rows(result: Result) -> Columns:
    rows = [_result_row(summary, learner) for summary in result.summaries for learner in summary["learners"]]
    return {key: [row[key] for row in rows] for key in rows[0]}


def _heads(result: Result) -> list[tuple[dict[str, Any], dict[str, Any], Any]]:
    """Each problem's learners with their arrays."""
    return [
        (summary, learner, arrays)
        for summary, played in zip(result.summaries, result.arrays)
        for learner, arrays in zip(summary["learners"], played)
    ]


def replication_rows(result: Result) -> Columns:
    columns: Columns = {key: [] for key in ("problem", "parameter_value", "learner")}
    keys = ("seed", "regret", "realised_regret", "optimum", "success_mass", "oracle_gap", "pending")
    columns |= {key: [] for key in keys}
    for summary, learner, arrays in _heads(result):
        count = len(arrays["seed"])
        columns["problem"] += [summary["problem"]] * count
        columns["parameter_value"] += [(summary.get("parameter") or (None, None))[1]] * count
        columns["learner"] += [learner["learner"]] * count
        for key in keys:
            columns[key] += arrays[key].tolist()
    return columns


def curve_rows(result: Result) -> Columns:
    keys = ("round", "mean", "low95", "high95", "q10", "q90")
    columns: Columns = {key: [] for key in ("problem", "learner", *keys, "parameter", "parameter_value")}
    for summary, learner, _ in _heads(result):
        parameter = summary.get("parameter") or (None, None)
        for point in learner["curve"]:
            for key, cell in zip(columns, (summary["problem"], learner["learner"], *(point[key] for key in keys), *parameter)):
                columns[key].append(cell)
    return columns


def _result(summary: dict[str, Any]) -> Shown:
    learners = summary["learners"]
    regret = [learner["regret"] for learner in learners]
    shares = [_shares(summary, learner) for learner in learners]
    columns = {
        "learner": [learner["learner"] for learner in learners],
        "feedback": [learner["feedback"] for learner in learners],
        "regret ± 95%": [
            number(one["mean"]) + ("" if one["high95"] is None else f" ± {number(one['high95'] - one['mean'])}") for one in regret
        ],
        "median": [number(one["median"]) for one in regret],
        "10–90%": [f"{number(one['q10'])} – {number(one['q90'])}" for one in regret],
        "of optimum": [percent(of_optimum) for of_optimum, _ in shares],
        "of even split's regret": [percent(of_even) for _, of_even in shares],
        "oracle gap": [gap(learner["oracle_gap"]) for learner in learners],
    }
    parameter = summary.get("parameter")
    label = summary["problem"] if parameter is None else f"{summary['problem']} {parameter[0]}={parameter[1]:g}"
    last = summary["seed"] + summary["replications"] - 1
    parts = [
        label,
        f"{len(summary['tasks'])} tasks",
        f"horizon {summary['horizon']:,}",
        f"{summary['replications']:,} replications, seeds {summary['seed']} to {last}",
        f"optimum {number(summary['optimum']['value'])} per round",
    ]
    return Shown(columns, [" · ".join(parts)], ("learner", "feedback", "oracle gap"))


def result_text(result: Result) -> str:
    return "\n\n".join(_result(summary).text() for summary in result.summaries)


def result_html(result: Result) -> str:
    return "".join(_result(summary).html() for summary in result.summaries)


# Fitted curves.


def _fit_sizes(fit: Fit) -> tuple[str, ...]:
    """The columns with the size of the log: trials, or rows with counts."""
    return ("rows", "completions") if any(task.rows is not None for task in fit.tasks) else ("trials", "successes")


def fit_columns(fit: Fit) -> Columns:
    sizes = _fit_sizes(fit)
    counts = ("volume", "dispersion", "mean_spend") if "rows" in sizes else ()
    keys = ("task", *sizes, "family", *counts, "log_loss", "constant_log_loss", "calibration", "value", "value_error")
    columns: Columns = {key: [getattr(task, key) for task in fit.tasks] for key in keys}
    for key in ("from", "to", "share"):
        columns[f"covers_{key}"] = [None if task.covers is None else task.covers[key] for task in fit.tasks]
    columns["warnings"] = ["; ".join(task.warnings) for task in fit.tasks]
    return columns


def _fit(fit: Fit) -> Shown:
    columns = {"task": [task.task for task in fit.tasks]}
    columns |= {key: [f"{getattr(task, key):,.0f}" for task in fit.tasks] for key in _fit_sizes(fit)}
    columns["family"] = [task.family or "no data" for task in fit.tasks]
    columns["parameters"] = [", ".join(f"{name} {number(value)}" for name, value, _, _ in task.parameters) for task in fit.tasks]
    columns["value"] = [number(task.value) for task in fit.tasks]
    warnings = [f"{task.task}: {warning}" for task in fit.tasks for warning in task.warnings]
    return Shown(columns, [*warnings, *fit.notes, fit.caution], ("task", "family", "parameters"))


def fit_text(fit: Fit) -> str:
    return _fit(fit).text()


def fit_html(fit: Fit) -> str:
    return _fit(fit).html()


# The daily loop, bounds and replay.


def status_text(status: LedgerStatus) -> str:
    columns = {"task": [task.task + " (retired)" * task.retired + (" (!)" if task.misfit is not None else "") for task in status.tasks]}
    for key in ("spend", "reported", "completions", "expected", "delivered", "mean", "seen_completions", "seen_mean", "bonus", "next"):
        cells = [getattr(task, key) for task in status.tasks]
        if key in ("delivered", "seen_completions", "seen_mean") and all(cell is None for cell in cells):
            continue
        if key in ("reported", "completions", "seen_completions"):
            texts = ["" if cell is None else f"{cell:,}" for cell in cells]
        else:
            texts = [percent(cell) if key == "delivered" else number(cell) for cell in cells]
        columns[key.replace("_", " ")] = texts
    return Shown(columns, [*status.summary, *status.warnings]).text()


def bounds_text(bounds: Bounds) -> str:
    entries = list(bounds)
    columns = {
        "bound": [str(entry["bound"]) for entry in entries],
        "regret is": [str(entry["regret_is"]).replace("_", " ") for entry in entries],
        "value": [number(entry["value"]) for entry in entries],
        "vacuous": ["" if entry["vacuous"] is None else "yes" if entry["vacuous"] else "no" for entry in entries],
        "learners": [str(entry["learners"]) for entry in entries],
    }
    data = bounds.data
    lines = [f"{data['problem']} · {data['tasks']} tasks · horizon {data['horizon']:,} · largest possible regret {number(data['trivial'])}"]
    per_decade = data["information_limit"]["per_decade"]
    if per_decade is not None:
        lines.append(f"information limit: {number(per_decade)} per tenfold number of rounds")
    for measured in data.get("run", {}).get("learners", []):
        of_bound = "no bound is known" if measured["ratio"] is None else f"{percent(measured['ratio'])} of {measured['bound']}"
        lines.append(f"{measured['learner']} on {measured['problem']}: regret {number(measured['regret_mean'])}, {of_bound}")
    return Shown(columns, lines, ("bound", "regret is", "vacuous", "learners")).text()


def replay_text(replay: Replay) -> str:
    columns = {
        "learner": [str(one["learner"]) for one in replay],
        "gain": [number(one["gain"]["mean"]) for one in replay],
        "regret": [number(one["regret"]["mean"]) for one in replay],
        "lost to learning": [number(one["lost_to_learning"]) for one in replay],
    }
    data = replay.data
    line = f"{data['order']} rows · {data['rounds']:,} rounds · {data['replications']:,} replications"
    return Shown(columns, [line, *_holdout_lines(data.get("holdout")), *replay.notes], ("learner",)).text()


def _holdout_lines(holdout: dict[str, Any] | None) -> list[str]:
    if holdout is None:
        return []
    gain, predicted = number(holdout["plan"]["gain"]), number(holdout["predicted"])
    lines = [f"split at {holdout['at']} · the plan from the first part gains {gain} per round in the second; its curves predicted {predicted}"]
    if holdout["outside_data"]:
        lines.append(f"the plan extrapolates for {', '.join(holdout['outside_data'])}")
    return lines
