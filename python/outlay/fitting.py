"""Curves from logs: what was spent and whether it succeeded, or what success would have needed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _outlay
from .errors import FitError
from .problem import Problem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Fit", "TaskFit", "fit"]

#: The caution in every output of a fit.
CAUTION = (
    "Fitted curves are known only approximately. In the worst case unknown curves cannot be learned safely: "
    "if a curve jumps, a small error in the position of the jump can cost everything. Smooth curves are more forgiving."
)


@dataclass(frozen=True)
class TaskFit:
    """A task's curve and how far to trust it. Parameters are name, value, and the ends of the 95 % interval."""

    task: str
    trials: float
    successes: float
    #: Nothing, as for the curve, if the log says nothing of the task.
    family: str | None
    #: As a problem file has it.
    curve: dict[str, Any] | None
    parameters: list[tuple[str, float, float | None, float | None]]
    log_loss: float | None
    constant_log_loss: float | None
    calibration: float | None
    value: float | None
    value_error: float | None
    reason: str | None
    warnings: list[str]


@dataclass(frozen=True)
class Fit:
    """Every task's curve, and the problem made of them."""

    problem: Problem
    tasks: list[TaskFit]
    caution: str = field(default=CAUTION)

    def __getitem__(self, task: str) -> TaskFit:
        for fitted in self.tasks:
            if fitted.task == task:
                return fitted
        raise KeyError(task)

    def table(self, library: str | None = None) -> Any:
        """One row a task, as a data frame: pandas if it is installed, else polars."""
        from .display import fit_table

        return fit_table(self, library)

    def __repr__(self) -> str:
        from .display import fit_text

        return fit_text(self)

    def _repr_html_(self) -> str:
        from .display import fit_html

        return fit_html(self)


@dataclass(frozen=True)
class _Columns:
    names: list[str]
    task: NDArray[np.int64]
    amount: NDArray[np.float64]
    success: NDArray[np.float64] | None
    trials: NDArray[np.float64] | None
    reward: NDArray[np.float64] | None
    titles: tuple[str, str, str, str]
    is_needs: bool


@dataclass(frozen=True)
class _Request:
    family: str
    ceiling: bool
    floor: bool
    budget: float | None
    reward_max: float | None
    folds: int
    seed: int
    threads: int | None


def fit(
    data: Any,
    *,
    spend: str | None = None,
    success: str | None = None,
    trials: str | None = None,
    threshold: str | None = None,
    task: str | Sequence[str] | None = None,
    reward: str | None = None,
    reward_max: float | None = None,
    family: str = "auto",
    ceiling: bool = False,
    floor: bool = False,
    budget: float | None = None,
    folds: int = 5,
    seed: int = 1,
    threads: int | None = None,
) -> Fit:
    """Curves from a log, with intervals, and where not to trust them.

    data: a pandas or polars data frame, or a mapping from column names to arrays. spend, success, trials, threshold, task, reward: names
    of columns, as the flags of ``outlay fit``: what was spent and whether it succeeded (with trials: how many did), or, as threshold, what
    success would have needed, with success 0 where that is only known to be more. Without task all rows are about one.

    >>> log = {"paid": [60, 120, 240], "tried": [500, 500, 500], "won": [100, 250, 400]}
    >>> found = fit(log, spend="paid", trials="tried", success="won", family="hill")
    >>> [(name, round(value, 1)) for name, value, low, high in found.tasks[0].parameters]
    [('half_at', 120.0), ('steepness', 2.0)]
    """
    import numpy as np

    if (spend is None) == (threshold is None):
        raise FitError("give spend, the column of what was spent, or threshold, that of what success would have needed")
    if spend is not None and success is None:
        raise FitError("spend needs success, the column of whether it succeeded")
    if threshold is not None and (trials is not None or ceiling or floor):
        raise FitError("threshold goes with neither trials, ceiling nor floor")
    if reward_max is not None and reward is None:
        raise FitError("reward_max needs reward, the column of a success's reward")
    amount = spend if spend is not None else threshold
    assert amount is not None
    names, places = _tasks(data, [task] if isinstance(task, str) else list(task or []), len(_column(data, amount, "spend")))

    def numbers(title: str | None, what: str) -> NDArray[np.float64] | None:
        if title is None:
            return None
        try:
            return np.ascontiguousarray(_column(data, title, what), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise FitError(f"{title}: must be numbers: {error}") from None

    amounts = numbers(amount, "spend" if spend is not None else "threshold")
    assert amounts is not None
    columns = _Columns(
        names,
        places,
        amounts,
        numbers(success, "success"),
        numbers(trials, "trials"),
        numbers(reward, "reward"),
        (amount, success or "", trials or "", reward or ""),
        threshold is not None,
    )
    request = _Request(family, ceiling, floor, budget, reward_max, folds, seed, threads)
    found, problem = _outlay.fit(columns, request)
    tasks = [TaskFit(**{**entry, "parameters": [tuple(one) for one in entry["parameters"]]}) for entry in json.loads(found)["tasks"]]
    return Fit(Problem.from_json(problem), tasks)


def _column(data: Any, title: str, what: str) -> NDArray[Any]:
    """A column of a data frame or of a mapping."""
    import numpy as np

    known = list(data.keys()) if isinstance(data, Mapping) else list(getattr(data, "columns", []))
    if not known:
        raise FitError("data: must be a data frame, or a mapping from column names to arrays")
    if title not in known:
        raise FitError(f"no column {title}; {what} names it, this has {', '.join(map(str, known))}")
    column = np.asarray(data[title])
    if column.ndim != 1:
        raise FitError(f"{title}: must be a column, not an array of {column.ndim} dimensions")
    return column


def _tasks(data: Any, titles: list[str], rows: int) -> tuple[list[str], NDArray[np.int64]]:
    """Every task in the order of its first row, and which of them each row is about."""
    import numpy as np

    if not titles:
        return ["task"], np.zeros(rows, dtype=np.int64)
    texts = [[_task_name(cell, title, row) for row, cell in enumerate(_column(data, title, "task").tolist())] for title in titles]
    for title, column in zip(titles, texts):
        if len(column) != rows:
            raise FitError(f"{title}: {len(column)} rows, but the spends have {rows}")
    joined = [" ".join(cells) for cells in zip(*texts)]
    places: dict[str, int] = {}
    return_places = np.fromiter((places.setdefault(name, len(places)) for name in joined), dtype=np.int64, count=rows)
    return list(places), return_places


def _task_name(cell: Any, title: str, row: int) -> str:
    text = "" if cell is None or cell != cell else str(cell).strip()
    if not text:
        raise FitError(f"row {row}: {title}: is empty; every row needs its task")
    if any(ord(character) < 32 for character in text):
        raise FitError(f"row {row}: {title}: must be one line without control characters")
    return text
