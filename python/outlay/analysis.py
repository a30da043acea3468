"""Analyses of a problem beside its allocation: replay of recorded outcomes, regret bounds, and the claims of the paper."""

from __future__ import annotations

import datetime
import json
import math
import numbers
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _outlay
from .errors import FileError, FitError, SimulationError
from .files import read_text
from .problem import Problem
from .results import Paged, Tabular, columns_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .simulation import Result

__all__ = ["Bounds", "Replay", "Reproduction", "bound", "replay", "reproduce"]

DEFAULT_LEARNERS = ("kl-ucb-plus", "algorithm-1", "uniform")
DEFAULT_HORIZON = 10_000


@dataclass(frozen=True)
class Bounds(Tabular):
    """The regret bounds that apply to a problem: iterates over dictionaries, one per bound, which are the rows of `table`.

    Attributes
    ----------
    data : dict
        What ``outlay bound --format json`` writes.

    Examples
    --------
    >>> from outlay import bound
    >>> [entry["bound"] for entry in bound("power", horizon=1000)][0]
    'Theorem 1, general form'
    """

    data: dict[str, Any]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.data["bounds"])

    def __len__(self) -> int:
        return len(self.data["bounds"])

    def __getitem__(self, name: str) -> dict[str, Any]:
        for entry in self:
            if entry["bound"] == name:
                return entry
        raise KeyError(name)

    def _columns(self) -> dict[str, list[Any]]:
        return columns_of(self.data["bounds"])

    def __repr__(self) -> str:
        from .display import bounds_text

        return bounds_text(self)


def bound(
    problem: Problem | str | os.PathLike[str],
    *,
    horizon: int | None = None,
    share: float | None = None,
    run: Result | str | os.PathLike[str] | None = None,
) -> Bounds:
    """The regret bounds that apply to a problem, and which of them are non-vacuous.

    Parameters
    ----------
    problem : Problem, str or path-like
        The problem; files and instances may be given by name.
    horizon : int, optional
        The number of rounds; by default that of the problem, or 10,000.
    share : float, optional
        The share of the budget above which slopes and curvatures are reported.
    run : Result, str or path-like, optional
        A simulation of the problem, to compare its regret with the bounds of its learners: a result of `simulate`, or the folder of
        ``outlay simulate --out``.

    Returns
    -------
    Bounds
        The bounds. With ``run``, ``data["run"]["learners"]`` has the regret of each learner, its bound, and their ratio.

    Raises
    ------
    ProblemError, SimulationError
        If the problem is invalid, the bounds cannot be computed, or the run is of another problem or horizon.
    FileError
        If the run cannot be read.

    Examples
    --------
    >>> from outlay import bound, simulate
    >>> found = bound("power", horizon=1000)
    >>> found.data["horizon"], len(found) > 3
    (1000, True)
    >>> result = simulate("power", "kl-ucb-plus", rounds=1000, replications=8)
    >>> [measured] = bound("power", horizon=1000, run=result).data["run"]["learners"]
    >>> measured["learner"], 0 < measured["ratio"] < 1
    ('kl-ucb-plus', True)
    """
    from .simulation import _name

    loaded = problem if isinstance(problem, Problem) else Problem.load(problem)
    rounds = horizon if horizon is not None else loaded.horizon or DEFAULT_HORIZON
    measured = None if run is None else _run(run)
    return Bounds(json.loads(_outlay.bound(loaded, loaded.source(), _name(problem, 0), rounds, share, measured)))


@dataclass(frozen=True)
class _RunCase:
    label: str
    problem: str
    horizon: int
    learners: list[tuple[str, list[float], list[float]]]


@dataclass(frozen=True)
class _Run:
    folder: str
    seed: int
    cases: list[_RunCase]


def _run(run: Result | str | os.PathLike[str]) -> _Run:
    """The regret and the success mass of every replication of a run."""
    if isinstance(run, (str, os.PathLike)):
        return _run_of_folder(os.fspath(run))
    cases = []
    for case, summary, arrays in zip(run.cases, run.summaries, run.arrays):
        played = zip((learner["learner"] for learner in summary["learners"]), arrays)
        learners = [(name, one["regret"].tolist(), one["success_mass"].tolist()) for name, one in played]
        cases.append(_RunCase(case.label(), case.problem, case.rounds, learners))
    return _Run("the result", run.seed, cases)


def _run_of_folder(folder: str) -> _Run:
    """The run that ``outlay simulate --out`` wrote."""
    path = os.path.join(folder, "run.json")
    if not os.path.exists(path):
        raise FileError(f"run: {folder} is not the folder of a run: it has no run.json; `outlay simulate --out DIR` creates one")
    try:
        record = json.loads(read_text(path))
        lines = read_text(os.path.join(folder, "replications.jsonl")).split("\n")
        # The last line is empty or, after a crash, incomplete.
        results = {(one["case"], one["learner"], one["replication"]): one["result"] for one in map(json.loads, lines[:-1])}
        played: dict[tuple[int, int], list[dict[str, Any]]] = {}
        for (place, number, replication), result in sorted(results.items(), key=lambda item: item[0]):
            if replication < record["replications"]:
                played.setdefault((place, number), []).append(result)
        cases = []
        for position, case in enumerate(record["cases"]):
            name = case["name"] if case["parameter"] is None else f"{case['name']} {case['parameter'][0]}={case['parameter'][1]:g}"
            learners = []
            for number, learner in enumerate(record["learners"]):
                found = played.get((position, number), [])
                learners.append((str(learner), [one["regret"] for one in found], [one["success_mass"] for one in found]))
            text = case["instance"] if case.get("instance") else json.dumps(case["problem"])
            cases.append(_RunCase(name, text, case["horizon"], learners))
        return _Run(folder, record["seed"], cases)
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"run: {folder} is not the folder of a run: {error!r}") from None


@dataclass(frozen=True)
class Replay(Tabular, Paged):
    """Learners on recorded outcomes: iterates over dictionaries, one per learner.

    `table` has the mean gain and regret of each learner.

    Attributes
    ----------
    data : dict
        What ``outlay replay --format json`` writes: fixed allocations, learners, and tests of the assumptions. With ``split_at``,
        ``data["holdout"]`` has the plan from the first part.
    page : str
        The HTML report.
    notes : list of str
        Remarks on the fits of the first part.

    Examples
    --------
    >>> import numpy as np
    >>> from outlay import Problem, replay
    >>> rows = {"task": ["task-1", "task-2"] * 20, "threshold": np.arange(40) / 40, "reward": [0.5] * 40}
    >>> found = replay(Problem.load("power:tasks=2"), rows, rounds=50, replications=2)
    >>> [learner["learner"] for learner in found]
    ['kl-ucb-plus', 'algorithm-1', 'uniform']
    """

    data: dict[str, Any]
    page: str
    notes: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.data["learners"])

    def __len__(self) -> int:
        return len(self.data["learners"])

    def _columns(self) -> dict[str, list[Any]]:
        rows = [
            {
                "learner": one["learner"],
                "feedback": one["feedback"],
                "gain_mean": one["gain"]["mean"],
                "regret_mean": one["regret"]["mean"],
                "lost_to_learning": one["lost_to_learning"],
            }
            for one in self
        ]
        return columns_of(rows)

    def __repr__(self) -> str:
        from .display import replay_text

        return replay_text(self)


@dataclass(frozen=True)
class _Columns:
    row: list[int]
    task: list[int]
    amount: Any
    is_threshold: bool
    success: Any
    count: Any
    reward: Any
    scale: Any
    volume: Any
    first: list[bool] | None
    name: str


@dataclass(frozen=True)
class _Request:
    learners: list[str]
    order: str
    rounds: int | None
    replications: int | None
    seed: int
    threads: int | None
    split_at: float | str | None


def replay(
    problem: Problem | str | os.PathLike[str],
    data: Any,
    learners: str | Sequence[str] = DEFAULT_LEARNERS,
    *,
    task: str | Sequence[str] = "task",
    threshold: str | None = None,
    spend: str | None = None,
    success: str | None = None,
    count: str | None = None,
    revenue: str | None = None,
    reward: str = "reward",
    scale: str | None = None,
    volume: str | None = None,
    split_at: float | str | datetime.date | None = None,
    date: str | None = None,
    order: str = "shuffled",
    rounds: int | None = None,
    replications: int | None = None,
    seed: int = 1,
    threads: int | None = None,
) -> Replay:
    """Runs learners on recorded outcomes, and tests the assumptions of the model on them.

    Parameters
    ----------
    problem : Problem, str or path-like
        The problem with the assumed curves.
    data : DataFrame or mapping
        Recorded rows: the columns task, threshold (the spend that success required) and reward; or task, spend, success and reward.
        With ``threshold`` and ``success``, rows without success required more than the threshold. Rows of tasks that the problem does
        not have are ignored.
    learners : str or sequence of str
        Built-in learners.
    task, threshold, spend, success, reward : str
        Names of the columns. Several task columns are joined.
    count, revenue : str, optional
        In place of ``success`` and ``reward``: the columns of the number of completions of each row and of the sum of their rewards. The
        problem must have volumes.
    scale, volume : str, optional
        The columns of the scale of the task's curve and of its volume (only with ``count``) in the round of each row; by default the
        profiles of the problem's environment, if it has any. Replayed rounds have these conditions.
    split_at : float, str or date, optional
        Fit curves and values to the rows before this date, or to this share of the rows of each task, and judge plan and learners on the
        others. A date requires ``date``; with it, a share is that of the dates.
    date : str, optional
        The column of the date of each row.
    order : {"shuffled", "recorded"}
        Draw rows at random, or replay them once in their order.
    rounds, replications : int, optional
        By default the horizon of the problem or 1,000, and 100.
    seed : int
        The seed of the first replication.
    threads : int, optional
        The number of threads; by default one per core.

    Returns
    -------
    Replay
        Gains and regrets.

    Raises
    ------
    SimulationError
        If the rows do not fit the problem.
    LearnerError
        If a learner is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from outlay import Problem, replay
    >>> rows = {"task": ["task-1", "task-2"] * 20, "threshold": np.arange(40) / 40, "reward": [0.5] * 40}
    >>> found = replay(Problem.load("power:tasks=2"), rows, "kl-ucb-plus", rounds=50, replications=2)
    >>> found.data["rounds"]
    50

    A plan from the first 70 % of the rows of each task, judged on the others:

    >>> found = replay(Problem.load("power:tasks=2"), rows, "kl-ucb-plus", rounds=50, replications=2, split_at=0.7)
    >>> found.data["holdout"]["first_rows"], found.data["holdout"]["second_rows"]
    (28, 12)
    """
    loaded = problem if isinstance(problem, Problem) else Problem.load(problem)
    _check_columns(threshold, spend, success, count, revenue, split_at, date)
    if volume is not None and count is None:
        raise SimulationError("volume goes with count: other rows have one completion at most")
    if split_at is not None and (scale is not None or volume is not None):
        raise SimulationError("scale and volume cannot go with split_at, which fits the rows with the usual curves")
    known = list(data) if isinstance(data, Mapping) else list(getattr(data, "columns", []))
    is_threshold = count is None and (threshold is not None or not (spend or success or "threshold" not in known))
    amount = threshold or "threshold" if is_threshold else spend or "spend"
    if not is_threshold and count is None:
        success = success or "success"
    titles = _Titles([task] if isinstance(task, str) else list(task), amount, is_threshold, success, count, revenue or reward, date, scale, volume)
    try:
        columns, at = _recorded(loaded, data, titles, split_at)
    except FitError as error:
        raise SimulationError(str(error)) from None
    chosen = [learners] if isinstance(learners, str) else [str(learner) for learner in learners]
    found, page, notes = _outlay.replay(loaded, columns, _Request(chosen, order, rounds, replications, seed, threads, at))
    return Replay(json.loads(found), page, notes)


@dataclass(frozen=True)
class _Titles:
    """The names of the columns."""

    task: list[str]
    amount: str
    is_threshold: bool
    success: str | None
    count: str | None
    reward: str
    date: str | None
    scale: str | None
    volume: str | None


def _check_columns(
    threshold: str | None, spend: str | None, success: str | None, count: str | None, revenue: str | None, split_at: Any, date: str | None
) -> None:
    """Raises `SimulationError` unless the columns make up one kind of record."""
    if threshold is not None and (spend is not None or count is not None):
        raise SimulationError("threshold goes with neither spend nor count")
    if count is not None and success is not None:
        raise SimulationError("count takes the place of success: give one of them")
    if (count is None) != (revenue is None):
        raise SimulationError("count and revenue, the columns of the completions and of the sum of their rewards, go together")
    if date is not None and split_at is None:
        raise SimulationError("date needs split_at, where the rows are divided")


def _recorded(problem: Problem, data: Any, titles: _Titles, split_at: Any) -> tuple[_Columns, float | str | None]:
    """The rows of the problem's tasks, and the share or date at which they are divided."""
    import numpy as np

    from .fitting import _column, _dates, _tasks

    def cells(title: str, what: str) -> NDArray[np.float64]:
        try:
            return np.ascontiguousarray(_column(data, title, what), dtype=np.float64)
        except (TypeError, ValueError) as error:
            if isinstance(error, FitError):
                raise
            raise SimulationError(f"{title}: must be numbers: {error}") from None

    amounts = cells(titles.amount, "threshold" if titles.is_threshold else "spend")
    names, places = _tasks(data, titles.task, len(amounts))
    positions = {name: position for position, name in enumerate(problem.names)}
    missing = [name for name in problem.names if name not in names]
    if missing:
        raise SimulationError(f"data: no row for {', '.join(missing)}: every task of the problem needs at least one")
    keep = np.array([name in positions for name in names])[places]
    tasks = np.array([positions.get(name, -1) for name in names])[places[keep]]
    dates = None if titles.date is None else _dates(data, titles.date)[keep]
    first, at = _first_part(problem, tasks, dates, split_at)
    columns = _Columns(
        np.flatnonzero(keep).tolist(),
        tasks.tolist(),
        amounts[keep],
        titles.is_threshold,
        None if titles.success is None else cells(titles.success, "success")[keep],
        None if titles.count is None else cells(titles.count, "count")[keep],
        cells(titles.reward, "reward" if titles.count is None else "revenue")[keep],
        None if titles.scale is None else cells(titles.scale, "scale")[keep],
        None if titles.volume is None else cells(titles.volume, "volume")[keep],
        None if first is None else first.tolist(),
        "recorded rows",
    )
    return columns, at


def _first_part(
    problem: Problem, tasks: NDArray[Any], dates: NDArray[Any] | None, split_at: Any
) -> tuple[NDArray[np.bool_] | None, float | str | None]:
    """Which rows are fitted, and the share or date at which they end."""
    import numpy as np

    from .fitting import _date

    if split_at is None:
        return None, None
    at: float | str
    if isinstance(split_at, numbers.Real) and not isinstance(split_at, bool):
        at = float(split_at)
        if not 0 < at < 1:
            raise SimulationError(f"split_at: a share must be above 0 and below 1, such as 0.7, not {split_at}")
        if dates is None:
            counts = np.bincount(tasks, minlength=len(problem.names))
            earlier = np.zeros(len(tasks), dtype=np.int64)
            for task in range(len(counts)):
                earlier[tasks == task] = np.arange(counts[task])
            first = earlier < at * counts[tasks]
        else:
            days = np.unique(dates)
            first = dates < days[min(math.ceil(at * len(days)), len(days) - 1)]
    else:
        day = _date(split_at, "split_at")
        at = str(day)
        if dates is None:
            raise SimulationError(f"split_at {at}: name the column with the dates by date")
        first = dates < day
    for part, name in ((first, "first"), (~first, "second")):
        empty = [task for position, task in enumerate(problem.names) if not part[tasks == position].any()]
        if empty:
            raise SimulationError(f"split_at {at} leaves no rows in the {name} part for {', '.join(empty)}: every task needs rows in both parts")
    return first, at


@dataclass(frozen=True)
class Reproduction(Tabular, Paged):
    """Claims with their verdicts: iterates over dictionaries, one per claim.

    `table` has one row per check: claim, verdict, check, measured value, and whether it passed.

    Attributes
    ----------
    data : dict
        What ``outlay reproduce --format json`` writes.
    page : str
        The HTML report.

    Examples
    --------
    >>> from outlay import reproduce
    >>> [claim["verdict"] for claim in reproduce("theorem-4", quick=True)]
    ['consistent']
    """

    data: dict[str, Any]
    page: str

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.data["claims"])

    def __len__(self) -> int:
        return len(self.data["claims"])

    def _columns(self) -> dict[str, list[Any]]:
        rows = [
            {"claim": claim["claim"], "verdict": claim["verdict"], "check": check["what"]} | {key: check[key] for key in ("measured", "passed")}
            for claim in self
            for check in claim["checks"]
        ]
        return columns_of(rows)

    def __repr__(self) -> str:
        return "\n".join(f"{claim['claim']}: {claim['verdict']}" for claim in self)


def reproduce(claims: str | Sequence[str] = (), *, quick: bool = False, threads: int | None = None) -> Reproduction:
    """Tests claims of the paper and of this project by experiments, as ``outlay reproduce``.

    Parameters
    ----------
    claims : str or sequence of str
        The claims (`CLAIMS` lists them); by default all, which takes minutes.
    quick : bool
        Use shorter experiments.
    threads : int, optional
        The number of threads; by default one per core.

    Returns
    -------
    Reproduction
        The verdicts.

    Raises
    ------
    SimulationError
        If a claim is unknown.

    Examples
    --------
    >>> from outlay import reproduce
    >>> reproduce("theorem-9")
    Traceback (most recent call last):
    outlay.errors.SimulationError: claims: there is no claim theorem-9; expected one of ...
    """
    names = [claims] if isinstance(claims, str) else list(claims)
    found, page = _outlay.reproduce(names, quick, threads)
    return Reproduction(json.loads(found), page)


#: The names of the claims.
CLAIMS: tuple[str, ...] = tuple(_outlay.claims())
