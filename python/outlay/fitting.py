"""Curves fitted to logs of spends and successes, or of the spends that success required."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _outlay
from .errors import FitError
from .files import write_file
from .problem import Problem
from .results import Tabular

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
    """The fitted curve of a task and how far to trust it.

    Attributes
    ----------
    task : str
        The name of the task.
    trials, successes : float or None
        The numbers of trials and successes; None for counts.
    rows, completions : float or None
        The numbers of rows and completions of a log of counts, else None.
    family : str or None
        The chosen form; None if the log has no data of the task.
    curve : dict or None
        The curve with the keys of a problem file.
    volume, dispersion, mean_spend : float or None
        Of a log of counts: the expected number of completions at success 1, the variance of the counts relative to that of a Poisson
        distribution, and the mean spend of a row.
    parameters : list of (str, float, float, float)
        Name, value and the ends of the 95 % interval of each parameter.
    log_loss, constant_log_loss : float or None
        Cross-validated log loss of the curve and of a constant.
    calibration : float or None
        The p-value of the Hosmer-Lemeshow test.
    value, value_error : float or None
        The mean reward of a success and its standard error.
    reason : str or None
        Why this form was chosen.
    warnings : list of str
        Reasons for caution.
    covers : dict or None
        The range of spends with data: ``from``, ``to`` (None if unlimited), and ``share`` of the budget.
    candidates : list of dict
        The forms that were compared: family, number of parameters, log loss, and how much worse than the best.

    Examples
    --------
    >>> from outlay import fit
    >>> log = {"paid": [60, 120, 240], "tried": [500, 500, 500], "won": [100, 250, 400]}
    >>> [task] = fit(log, spend="paid", trials="tried", success="won", family="hill")
    >>> task.family, task.covers
    ('hill', {'from': 60.0, 'to': 240.0, 'share': 0.75})
    """

    task: str
    trials: float | None
    successes: float | None
    family: str | None
    curve: dict[str, Any] | None
    parameters: list[tuple[str, float, float | None, float | None]]
    log_loss: float | None
    constant_log_loss: float | None
    calibration: float | None
    value: float | None
    value_error: float | None
    reason: str | None
    warnings: list[str]
    covers: dict[str, float | None] | None = None
    candidates: list[dict[str, Any]] = field(default_factory=list)
    rows: float | None = None
    completions: float | None = None
    volume: float | None = None
    dispersion: float | None = None
    mean_spend: float | None = None


@dataclass(frozen=True)
class Fit(Tabular):
    """The fitted curves and the problem made of them: iterates over `TaskFit`.

    `table` has the family, log loss, calibration, coverage and value of each task.

    Attributes
    ----------
    problem : Problem
        The problem with the fitted curves.
    tasks : list of TaskFit
        One entry per task.
    caution : str
        What every fit must say.
    notes : list of str
        What was assumed about the log.
    page : str or None
        The HTML report, if `fit` was called with ``report=True``.

    Examples
    --------
    >>> from outlay import fit
    >>> log = {"paid": [60, 120, 240], "tried": [500, 500, 500], "won": [100, 250, 400]}
    >>> found = fit(log, spend="paid", trials="tried", success="won", family="hill")
    >>> len(found), found["task"].family, found.problem.names
    (1, 'hill', ['task'])
    """

    problem: Problem
    tasks: list[TaskFit]
    caution: str = field(default=CAUTION)
    page: str | None = None
    notes: list[str] = field(default_factory=list)

    def __getitem__(self, task: str) -> TaskFit:
        for fitted in self.tasks:
            if fitted.task == task:
                return fitted
        raise KeyError(task)

    def __iter__(self) -> Iterator[TaskFit]:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self.tasks)

    def _columns(self) -> dict[str, list[Any]]:
        from .display import fit_columns

        return fit_columns(self)

    def plot(self, axes: Any = None, *, log: bool = False) -> Any:
        """Draws the fitted curves over the spends with data; needs matplotlib.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Where to draw; by default new axes.
        log : bool
            Use a logarithmic axis for the spend.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        MissingLibraryError
            If matplotlib is not installed.

        Examples
        --------
        >>> log = {"paid": [60, 120, 240], "tried": [500, 500, 500], "won": [100, 250, 400]}
        >>> axes = fit(log, spend="paid", trials="tried", success="won").plot()
        """
        from .plotting import fit_plot

        return fit_plot(self, axes, log)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the HTML report with confidence bands, as ``outlay fit --report``.

        Parameters
        ----------
        path : path-like
            The file.

        Raises
        ------
        FitError
            If `fit` was called without ``report=True``, which computes the confidence bands.
        FileError
            If the file cannot be written.

        Examples
        --------
        >>> import os, tempfile
        >>> log = {"paid": [60, 120, 240], "tried": [500, 500, 500], "won": [100, 250, 400]}
        >>> path = os.path.join(tempfile.mkdtemp(), "fit.html")
        >>> fit(log, spend="paid", trials="tried", success="won", report=True, bootstrap=20).report(path)
        >>> os.path.exists(path)
        True
        """
        if self.page is None:
            raise FitError("report: call fit with report=True, which computes the confidence bands")
        write_file(path, self.page)

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
    count: NDArray[np.float64] | None
    revenue: NDArray[np.float64] | None
    titles: dict[str, str]
    #: The row numbers of the log, if only some rows are used.
    rows: list[int] | None
    is_needs: bool


@dataclass(frozen=True)
class _Request:
    family: str
    ceiling: bool
    floor: bool
    budget: float | None
    reward_max: float | None
    folds: int
    bootstrap: int
    seed: int
    threads: int | None
    report: bool
    name: str


def fit(
    data: Any,
    *,
    spend: str | None = None,
    success: str | None = None,
    trials: str | None = None,
    threshold: str | None = None,
    count: str | None = None,
    revenue: str | None = None,
    task: str | Sequence[str] | None = None,
    reward: str | None = None,
    date: str | None = None,
    since: Any = None,
    until: Any = None,
    reward_max: float | None = None,
    family: str = "auto",
    ceiling: bool = False,
    floor: bool = False,
    budget: float | None = None,
    folds: int = 5,
    bootstrap: int = 200,
    seed: int = 1,
    threads: int | None = None,
    report: bool = False,
) -> Fit:
    """Fits success curves to a log, with intervals and warnings.

    Parameters
    ----------
    data : DataFrame or mapping
        A pandas or polars data frame, or a mapping from column names to arrays.
    spend, success : str, optional
        The columns of spends and of successes (1 or 0; with ``trials``, their number).
    trials : str, optional
        The column of the number of trials of each row.
    threshold : str, optional
        In place of ``spend``: the column of the spend that success required. With ``success`` 0 it is only known to be more.
    count : str, optional
        In place of ``success``: the column of the number of completions of each row, such as the conversions of a day. The fitted tasks
        have a volume.
    revenue : str, optional
        With ``count``: the column of the total reward of the completions of each row.
    task : str or sequence of str, optional
        The columns with the name of the task; without them all rows are of one task.
    reward : str, optional
        The column of the reward of a success.
    date : str, optional
        The column of the date of each row.
    since, until : str or date, optional
        Use only the rows from this date on, and until this date.
    reward_max, budget : float, optional
        By default the largest reward and the largest spend of the log; with ``count``, the largest mean reward of a row and the mean
        spend of a round.
    family : str
        The family of the curves; by default the best one by cross-validation.
    ceiling, floor : bool
        Whether curves may have a ceiling below 1 and a floor above 0.
    folds, bootstrap, seed : int
        The folds of the cross-validation, the samples of the confidence bands of a report, and the seed of both.
    threads : int, optional
        The number of threads; by default one per core.
    report : bool
        Whether to compute the confidence bands that `Fit.report` needs.

    Returns
    -------
    Fit
        The curves and the problem made of them.

    Raises
    ------
    FitError
        If the log is invalid; all errors are listed.

    Examples
    --------
    >>> log = {"paid": [60, 120, 240], "tried": [500, 500, 500], "won": [100, 250, 400]}
    >>> found = fit(log, spend="paid", trials="tried", success="won", family="hill")
    >>> [(name, round(value, 1)) for name, value, low, high in found.tasks[0].parameters]
    [('half_at', 120.0), ('steepness', 2.0)]

    Daily counts:

    >>> days = {"day": ["2026-11-16", "2026-11-17", "2026-11-18"] * 2, "channel": ["search"] * 3 + ["social"] * 3,
    ...         "cost": [20, 40, 80, 10, 30, 60], "orders": [9, 15, 21, 3, 6, 7], "sales": [180.0, 310, 400, 66, 120, 150]}
    >>> found = fit(days, task="channel", spend="cost", count="orders", revenue="sales", date="day", since="2026-11-16", family="exponential")
    >>> found["search"].completions, found.problem.to_dict()["task"][0]["seen"]
    (45.0, {'completions': 45, 'reward': 890.0})
    """
    import numpy as np

    _check_columns(spend, success, trials, threshold, count, revenue, reward)
    if threshold is not None and (ceiling or floor):
        raise FitError("threshold goes with neither trials, ceiling nor floor")
    if reward_max is not None and reward is None and revenue is None:
        raise FitError("reward_max needs reward, the column of a success's reward, or revenue")
    amount = spend if spend is not None else threshold
    assert amount is not None
    rows = _rows_between(data, date, since, until)
    names, places = _tasks(data, [task] if isinstance(task, str) else list(task or []), len(_column(data, amount, "spend")), rows)

    def numbers(title: str | None, what: str) -> NDArray[np.float64] | None:
        if title is None:
            return None
        try:
            column = np.asarray(_column(data, title, what))
            return np.ascontiguousarray(column if rows is None else column[rows], dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise FitError(f"{title}: must be numbers: {error}") from None

    amounts = numbers(amount, "spend" if spend is not None else "threshold")
    assert amounts is not None
    others = {"success": success, "trials": trials, "reward": reward, "count": count, "revenue": revenue}
    columns = _Columns(
        names,
        places,
        amounts,
        numbers(success, "success"),
        numbers(trials, "trials"),
        numbers(reward, "reward"),
        numbers(count, "count"),
        numbers(revenue, "revenue"),
        {"amount": amount} | {field: title for field, title in others.items() if title is not None},
        None if rows is None else np.flatnonzero(rows).tolist(),
        threshold is not None,
    )
    request = _Request(family, ceiling, floor, budget, reward_max, folds, bootstrap, seed, threads, report, "the log")
    found, problem, page = _outlay.fit(columns, request)
    record = json.loads(found)
    tasks = [TaskFit(**{**entry, "parameters": [tuple(one) for one in entry["parameters"]]}) for entry in record["tasks"]]
    notes = []
    if revenue is not None and reward_max is None:
        notes.append(
            f"reward_max {record['reward_max']}: the largest {revenue} / {count} of a row. Single rewards may be larger; reward_max= sets "
            "their limit"
        )
    return Fit(Problem.from_json(problem), tasks, page=page, notes=notes)


def _check_columns(
    spend: str | None, success: str | None, trials: str | None, threshold: str | None, count: str | None, revenue: str | None, reward: str | None
) -> None:
    """Raises `FitError` unless the columns make up one kind of log."""
    if (spend is None) == (threshold is None):
        raise FitError("give spend, the column of what was spent, or threshold, that of what success would have needed")
    if spend is not None and success is None and count is None:
        raise FitError("spend needs success, the column of whether it succeeded, or count, that of the number of completions")
    if threshold is not None and trials is not None:
        raise FitError("threshold goes with neither trials, ceiling nor floor")
    if count is not None and (success is not None or trials is not None or threshold is not None):
        raise FitError("count goes with spend, and with neither success, trials nor threshold")
    if count is not None and reward is not None:
        raise FitError("count goes with revenue, the column of the total reward of a row, not with reward")
    if revenue is not None and count is None:
        raise FitError("revenue needs count, the column of the number of completions; with success, give reward")


def _rows_between(data: Any, title: str | None, since: Any, until: Any) -> NDArray[np.bool_] | None:
    """The rows from one date to another; None means all."""
    import numpy as np

    if title is None:
        if since is not None or until is not None:
            raise FitError(f"{'since' if since is not None else 'until'} needs date, the column of the dates")
        return None
    dates = _dates(data, title)
    chosen = np.ones(len(dates), dtype=bool)
    if since is not None:
        chosen &= dates >= _date(since, "since")
    if until is not None:
        chosen &= dates <= _date(until, "until")
    if not chosen.any():
        raise FitError(f"all {len(dates)} rows are outside the dates of since and until")
    return chosen


def _dates(data: Any, title: str) -> NDArray[np.datetime64]:
    """The days of a column."""
    import numpy as np

    column = _column(data, title, "date")
    if column.dtype.kind != "M":
        return np.array([_date(cell, f"row {row}: {title}") for row, cell in enumerate(column.tolist())], dtype="datetime64[D]")
    dates = column.astype("datetime64[D]")
    if np.isnat(dates).any():
        raise FitError(f"row {int(np.isnat(dates).argmax())}: {title}: is empty; every row needs its date")
    return dates


def _date(given: Any, what: str) -> np.datetime64:
    """A day: of a date, a time, or a text that begins with year-month-day."""
    import numpy as np

    text = given.strip() if isinstance(given, str) else str(given)
    is_date = isinstance(given, str) or hasattr(given, "year") or isinstance(given, np.datetime64)
    try:
        if is_date and re.fullmatch(r"\d{4}-\d{2}-\d{2}([T ].*)?", text):
            return np.datetime64(text[:10], "D")
    except ValueError:
        pass
    raise FitError(f"{what}: must be a date such as 2026-11-18, not {given!r}")


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


def _tasks(data: Any, titles: list[str], rows: int, chosen: NDArray[np.bool_] | None = None) -> tuple[list[str], NDArray[np.int64]]:
    """Every task in the order of its first row, and the task of each row; only of the chosen rows."""
    import numpy as np

    keep = np.ones(rows, dtype=bool) if chosen is None else chosen
    if not titles:
        return ["task"], np.zeros(int(keep.sum()), dtype=np.int64)
    columns = [_column(data, title, "task") for title in titles]
    for title, column in zip(titles, columns):
        if len(column) != rows:
            raise FitError(f"{title}: {len(column)} rows, but the spends have {rows}")
    numbers = np.flatnonzero(keep).tolist()
    texts = [[_task_name(cell, title, row) for row, cell in zip(numbers, column[keep].tolist())] for title, column in zip(titles, columns)]
    joined = [" ".join(cells) for cells in zip(*texts)]
    places: dict[str, int] = {}
    return_places = np.fromiter((places.setdefault(name, len(places)) for name in joined), dtype=np.int64, count=len(joined))
    return list(places), return_places


def _task_name(cell: Any, title: str, row: int) -> str:
    text = "" if cell is None or cell != cell else str(cell).strip()
    if not text:
        raise FitError(f"row {row}: {title}: is empty; every row needs its task")
    if any(ord(character) < 32 for character in text):
        raise FitError(f"row {row}: {title}: must be one line without control characters")
    return text
