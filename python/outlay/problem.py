"""Problems: a budget per round and tasks with their curves, with the keys of problem files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from . import _outlay
from ._outlay import Allocation, Evaluation
from .curves import Curve, plain
from .errors import AllocationError, ProblemError
from .files import read_text, write_file
from .progress import Bar
from .results import Tabular

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Values = Mapping[str, float] | ArrayLike

__all__ = ["Frontier", "Problem", "ProblemCheck", "Task"]

#: Problems by name, as the command line knows them.
INSTANCES = ("power", "square-roots", "m-set", "k-armed", "saturating-jobs", "theorem-2", "theorem-4", "unknown-thresholds")


@dataclass(frozen=True)
class Task:
    """A task, with the keys of ``[[task]]`` in a problem file; None means unset.

    Parameters
    ----------
    name : str, optional
        Its name; by default its position, such as ``task-1``.
    curve : Curve or mapping
        The success probability by spend: a curve of this package, or a mapping as in a file.
    value : float, optional
        The mean reward of a completion.
    reward : mapping, optional
        The distribution of the reward for simulations, such as ``{"law": "bernoulli", "mean": 0.6}``.
    min, max, fixed, exclude, at_least : optional
        Bounds on the spend; ``at_least`` means nothing or at least this.
    current : float, optional
        The present spend, with which reports compare.
    volume : float, optional
        The expected number of completions in a round at success 1; 1 if unset.
    covers : sequence of float, optional
        The smallest and the largest spend of the log that the curve was fitted to. Spends outside it are marked.
    seen : mapping, optional
        The completions of that log and the sum of their rewards, from which learners start: ``{"completions": 812, "reward": 50344.1}``.

    Examples
    --------
    >>> from outlay import Hill, Task
    >>> Task("tv", curve=Hill(half_at=120, steepness=2.5), value=0.6, min=20).name
    'tv'
    """

    name: str | None = None
    curve: Curve | Mapping[str, Any] | None = None
    value: float | None = None
    reward: Mapping[str, Any] | None = None
    min: float | None = None
    max: float | None = None
    fixed: float | None = None
    exclude: bool | None = None
    at_least: float | None = None
    current: float | None = None
    volume: float | None = None
    covers: Sequence[float] | None = None
    seen: Mapping[str, float] | None = None

    def to_dict(self, budget: float = 1.0) -> dict[str, Any]:
        """The task with the keys of a problem file.

        Parameters
        ----------
        budget : float
            The budget, up to twice which functions of your own are sampled.

        Returns
        -------
        dict
            The keys that are set.

        Examples
        --------
        >>> from outlay import Power, Task
        >>> Task("web", curve=Power(0.5)).to_dict()
        {'name': 'web', 'curve': {'family': 'power', 'exponent': 0.5}}
        """
        written: dict[str, Any] = {key: plain(value) for key, value in vars(self).items() if key != "curve"}
        if isinstance(self.curve, Curve):
            written["curve"] = self.curve.to_dict(budget)
        elif self.curve is not None:
            written["curve"] = plain(self.curve)
        if written["max"] == math.inf:
            written["max"] = None
        return {key: value for key, value in written.items() if value is not None}


@dataclass(frozen=True)
class ProblemCheck:
    """The check of a problem: which guarantee of the paper applies, and notes on suspicious input.

    Attributes
    ----------
    theorem : int or None
        The theorem that bounds the regret: 1 or 3; None if tasks have volumes.
    conclusion : str
        The guarantee in words.
    notes : list of str
        Valid but suspicious input.
    tasks : list of dict
        Shape, bounds and diminishing returns of each task.

    Examples
    --------
    >>> from outlay import Problem
    >>> check = Problem.load("power").check()
    >>> check.theorem, check.notes
    (1, [])
    """

    budget: float
    horizon: int | None
    reward_max: float
    tasks: list[dict[str, Any]]
    theorem: int | None
    conclusion: str
    notes: list[str]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.tasks)

    def __repr__(self) -> str:
        return "\n".join([self.conclusion, *(f"note: {note}" for note in self.notes)])


@dataclass(frozen=True)
class _Arrays:
    """The arrays of `Problem.from_arrays`, as the engine takes them."""

    budget: float
    horizon: int | None
    reward_max: float | None
    reward_over_max: str | None
    leftover: str | None
    names: list[str] | None
    family: str | list[str]
    numbers: dict[str, Any]
    tasks: int


class Problem(_outlay.Problem):
    """A budget per round and tasks with their curves. It is checked when it is made, and all errors are reported at once.

    Parameters
    ----------
    tasks : iterable of Task or mapping, or mapping
        The tasks; or ``{"file": "tasks.csv"}``, a table with one row per task.
    budget : float
        The budget of a round.
    horizon : int, optional
        The number of rounds planned.
    reward_max : float, optional
        The largest reward of a completion; by default 1.
    reward_over_max : {"refuse", "clip"}, optional
        What happens to reported rewards above ``reward_max``: an error, or they count as ``reward_max``.
    leftover : {"keep", "spend"}, optional
        What happens to budget that cannot increase the value.
    currency, period, reward_unit : str, optional
        Words for tables and reports: the unit of budget and spends, such as ``"EUR"``, the length of a round, such as ``"day"``,
        and the unit of rewards, which is the currency by default.
    environment : mapping, optional
        Budgets, delays and availability in simulations.

    Raises
    ------
    ProblemError
        If the problem is invalid.

    Examples
    --------
    >>> from outlay import Hill, Power, Problem, Task
    >>> problem = Problem(
    ...     tasks=[Task("tv", curve=Hill(half_at=120, steepness=2.5), value=0.6, min=20), Task("web", curve=Power(0.5), value=0.4)],
    ...     budget=1000,
    ... )
    >>> best = problem.allocate()
    >>> best.status, best.spend.sum().round(6).item()
    ('optimal', 1000.0)
    """

    _origin: tuple[str, str, str, str, tuple[tuple[str, float], ...]]

    def __new__(
        cls,
        tasks: Iterable[Task | Mapping[str, Any]] | Mapping[str, Any],
        budget: float = 1.0,
        *,
        horizon: int | None = None,
        reward_max: float | None = None,
        reward_over_max: str | None = None,
        leftover: str | None = None,
        currency: str | None = None,
        period: str | None = None,
        reward_unit: str | None = None,
        environment: Mapping[str, Any] | None = None,
    ) -> Problem:
        budget = plain(budget)
        scale = float(budget) if isinstance(budget, (int, float)) else 1.0
        document: dict[str, Any] = {
            "budget": budget,
            "horizon": plain(horizon),
            "reward_max": plain(reward_max),
            "reward_over_max": reward_over_max,
            "leftover": leftover,
            "currency": currency,
            "period": period,
            "reward_unit": reward_unit,
            "environment": plain(environment),
        }
        if isinstance(tasks, Mapping):
            document["tasks"] = plain(tasks)
        else:
            document["task"] = [task.to_dict(scale) if isinstance(task, Task) else plain(task) for task in tasks]
        return cls._made(_json(document), "json", "the problem", os.curdir)

    @classmethod
    def _made(cls, text: str, form: str, place: str, folder: str, changes: Sequence[tuple[str, float]] = ()) -> Problem:
        made: Problem = super().__new__(cls, text, form, place, folder, list(changes))
        made._origin = (text, form, place, folder, tuple(changes))
        return made

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Problem:
        """The problem of a file or of a named instance.

        Parameters
        ----------
        path : path-like
            A TOML or JSON file, or an instance such as ``"m-set:tasks=10,plays=3"``.

        Returns
        -------
        Problem
            The problem.

        Raises
        ------
        FileError
            If the file cannot be read.
        ProblemError
            If the problem is invalid.

        Examples
        --------
        >>> from outlay import Problem
        >>> len(Problem.load("m-set:tasks=10,plays=3"))
        10
        """
        written = os.fspath(path)
        if not os.path.exists(written) and written.split(":")[0] in INSTANCES:
            return cls._made(written, "instance", written, os.curdir)
        form = "json" if written.lower().endswith(".json") else "toml"
        return cls._made(read_text(written), form, written, os.path.dirname(written) or os.curdir)

    @classmethod
    def from_toml(cls, text: str) -> Problem:
        """The problem of a TOML document.

        Parameters
        ----------
        text : str
            The document.

        Returns
        -------
        Problem
            The problem.

        Raises
        ------
        ProblemError
            If the problem is invalid.

        Examples
        --------
        >>> from outlay import Problem
        >>> Problem.from_toml("[[task]]\\ncurve = { family = 'power', exponent = 0.5 }").names
        ['task-1']
        """
        return cls._made(text, "toml", "the problem", os.curdir)

    @classmethod
    def from_json(cls, text: str) -> Problem:
        """The problem of a JSON document.

        Parameters
        ----------
        text : str
            The document.

        Returns
        -------
        Problem
            The problem.

        Raises
        ------
        ProblemError
            If the problem is invalid.

        Examples
        --------
        >>> from outlay import Problem
        >>> Problem.from_json('{"task": [{"curve": {"family": "power", "exponent": 0.5}}]}').names
        ['task-1']
        """
        return cls._made(text, "json", "the problem", os.curdir)

    @classmethod
    def from_arrays(
        cls,
        family: str | Sequence[str],
        *,
        budget: float,
        names: Sequence[str] | None = None,
        horizon: int | None = None,
        reward_max: float | None = None,
        reward_over_max: str | None = None,
        leftover: str | None = None,
        **columns: ArrayLike,
    ) -> Problem:
        """The problem of arrays with one entry per task. The arrays go to the engine without an object per task.

        Parameters
        ----------
        family : str or sequence of str
            The family of all curves, or of each: power, saturating, exponential, hill, logistic or threshold.
        budget : float
            The budget of a round.
        names : sequence of str, optional
            The names of the tasks; by default ``task-1`` and so on.
        horizon, reward_max, reward_over_max, leftover : optional
            As in `Problem`.
        **columns : array_like of float
            The parameters of the curves (exponent, scale, full_at, half_at, steepness, mid, width, at, ceiling, floor), and value, min,
            max, at_least, current and volume. NaN means unset; a single number holds for every task.

        Returns
        -------
        Problem
            The problem.

        Raises
        ------
        ProblemError
            If an array is unknown or of the wrong length, or the problem is invalid.

        Examples
        --------
        >>> import numpy as np
        >>> from outlay import Problem
        >>> problem = Problem.from_arrays("exponential", budget=100, scale=np.array([20.0, 40.0]), value=[1.0, 2.0], reward_max=2)
        >>> problem.allocate().spend.round(1).tolist()
        [33.3, 66.7]
        """
        import numpy as np

        unknown = [name for name in columns if name not in COLUMNS]
        if unknown:
            raise ProblemError(f"{unknown[0]}: is not a column; expected {', '.join(COLUMNS)}")
        arrays: dict[str, Any] = {}
        for name, column in columns.items():
            try:
                arrays[name] = np.asarray(column, dtype=np.float64)
            except (TypeError, ValueError):
                raise ProblemError(f"{name}: must be numbers, one per task") from None
        sizes = [len(array) for array in arrays.values() if array.ndim == 1]
        if names is not None:
            sizes.insert(0, len(names))
        if not isinstance(family, str):
            sizes.insert(0, len(family))
        if not sizes:
            raise ProblemError("columns: give at least one array, with one entry per task")
        filled = {name: np.full(sizes[0], float(array)) if array.ndim == 0 else array for name, array in arrays.items()}
        given = _Arrays(
            plain(budget),
            plain(horizon),
            plain(reward_max),
            reward_over_max,
            leftover,
            None if names is None else [str(name) for name in names],
            family if isinstance(family, str) else [str(one) for one in family],
            filled,
            sizes[0],
        )
        made: Problem = super().__new__(cls, "", "columns", "the problem", os.curdir, [], given)
        # `with_number` creates the text when it needs it.
        made._origin = ("", "columns", "the problem", os.curdir, ())
        return made

    @classmethod
    def from_frame(cls, frame: Any, *, budget: float, **options: Any) -> Problem:
        """The problem of a data frame with one row per task.

        Parameters
        ----------
        frame : pandas.DataFrame, polars.DataFrame or mapping
            The columns ``task`` and ``family``, parameters of the curves, and value, min, max, at_least, current and volume as
            in `from_arrays`. Empty cells are unset.
        budget : float
            The budget of a round.
        **options
            Further arguments of `from_arrays`, such as ``reward_max``, or ``family`` if all curves have the same.

        Returns
        -------
        Problem
            The problem.

        Raises
        ------
        ProblemError
            If a column is missing or unknown, or the problem is invalid.

        Examples
        --------
        >>> import pandas
        >>> from outlay import Problem
        >>> frame = pandas.DataFrame({"task": ["tv", "web"], "family": ["hill", "power"], "half_at": [120, None],
        ...                           "steepness": [2.5, None], "exponent": [None, 0.5], "value": [0.6, 0.4]})
        >>> Problem.from_frame(frame, budget=1000).names
        ['tv', 'web']
        """
        titles = [str(title) for title in (frame.keys() if isinstance(frame, Mapping) else frame.columns)]
        if "family" not in titles and "family" not in options:
            raise ProblemError(f"frame: has no column family; it has {', '.join(titles)}; or give family=... for all tasks")
        ignored = ("task", "family")
        family = options.pop("family", None) or [str(cell) for cell in frame["family"]]
        names = [str(cell) for cell in frame["task"]] if "task" in titles else None
        columns = {title: _numbers(frame[title], title) for title in titles if title not in ignored}
        return cls.from_arrays(family, budget=budget, names=names, **{**columns, **options})

    def to_dict(self) -> dict[str, Any]:
        """The problem with the keys of a problem file; the contents of other files are written out.

        Returns
        -------
        dict
            The problem.

        Examples
        --------
        >>> from outlay import Problem
        >>> Problem.load("power").to_dict()["budget"]
        1.0
        """
        return dict(json.loads(self.to_json()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the problem to a file, as JSON if its name ends in .json, else as TOML.

        Parameters
        ----------
        path : path-like
            The file.

        Raises
        ------
        FileError
            If the file cannot be written.

        Examples
        --------
        >>> import os, tempfile
        >>> from outlay import Problem
        >>> path = os.path.join(tempfile.mkdtemp(), "problem.toml")
        >>> Problem.load("power").save(path)
        >>> Problem.load(path) == Problem.load("power")
        True
        """
        text = self.to_json() if os.fspath(path).lower().endswith(".json") else self.to_toml()
        write_file(path, text)

    def with_number(self, path: str, number: float) -> Problem:
        """The same problem with another number at a path.

        Parameters
        ----------
        path : str
            ``budget``, ``task[0].curve.exponent``, ``task[*].value``; of an instance, one of its parameters.
        number : float
            The number.

        Returns
        -------
        Problem
            The changed problem.

        Raises
        ------
        ProblemError
            If the path does not exist or the problem is invalid.

        Examples
        --------
        >>> from outlay import Problem
        >>> Problem.load("m-set").with_number("tasks", 5).names
        ['task-1', 'task-2', 'task-3', 'task-4', 'task-5']
        """
        text, form, place, folder, changes = self._origin
        if form == "columns":
            text, form = self.to_json(), "json"
        return type(self)._made(text, form, place, folder, [*changes, (path, float(number))])

    def check(self) -> ProblemCheck:
        """Which guarantee of the paper applies to the problem, and notes on suspicious input.

        Returns
        -------
        ProblemCheck
            The result, as ``outlay check`` prints it.

        Examples
        --------
        >>> from outlay import Problem
        >>> Problem.load("power").check().theorem
        1
        """
        return ProblemCheck(**json.loads(_outlay.check_problem(self)))

    def allocate(
        self,
        values: Values | None = None,
        budget: float | None = None,
        *,
        tolerance: float | None = None,
        round: float | None = None,
        leftover: str | None = None,
        threads: int | None = None,
        within_data: bool = False,
    ) -> Allocation:
        """The best allocation of the budget, with a bound on the value of every other.

        Parameters
        ----------
        values : sequence of float, Series, DataFrame or mapping, optional
            The value of a success of each task; by default those of the problem. A mapping may set only some of them. Labels of a Series
            or the column ``task`` of a data frame are aligned with the tasks.
        budget : float, optional
            By default that of the problem.
        tolerance : float, optional
            The relative gap at which a search may stop.
        round : float, optional
            Round the spends to multiples of this, after solving.
        leftover : {"keep", "spend"}, optional
            By default as in the problem.
        threads : int, optional
            The number of threads; by default one per core. Results do not depend on it.
        within_data : bool
            Spend on a task nothing or an amount that the log of its curve covers; see `within_data`.

        Returns
        -------
        Allocation
            The allocation with its certificate.

        Raises
        ------
        AllocationError
            If values or labels do not fit, or the budget does not cover the lower bounds.
        ProblemError
            If the bounds of a task allow no spend that its log covers.

        Examples
        --------
        >>> from outlay import Problem
        >>> Problem.load("square-roots:means=0.6;0.8").allocate().spend.round(6).tolist()
        [0.36, 0.64]
        """
        problem = self.within_data() if within_data else self
        return problem._allocate(values, budget, Asked(tolerance, leftover, threads), round)

    def allocate_for(
        self,
        *,
        target_value: float | None = None,
        target_roas: float | None = None,
        target_cpa: float | None = None,
        marginal_return: float | None = None,
        values: Values | None = None,
        limit: float | None = None,
        tolerance: float | None = None,
        within_data: bool = False,
    ) -> TargetPlan:
        """The allocation for a target instead of a budget, as ``outlay allocate --target-value`` and the like.

        Parameters
        ----------
        target_value : float, optional
            Spend the least that is worth this.
        target_roas : float, optional
            Spend the most that still returns this value per unit of spend.
        target_cpa : float, optional
            Spend the most at which a completion costs at most this. The allocation maximises completions, and ``values`` do not count.
        marginal_return : float, optional
            Spend until the next unit returns less than this.
        values, tolerance, within_data : optional
            As in `allocate`.
        limit : float, optional
            The largest spend; by default any spend is allowed.

        Returns
        -------
        TargetPlan
            The allocation, the bracket of the spend sought and its proof.

        Raises
        ------
        AllocationError
            If not exactly one target is given, if it is not positive, or if values do not fit.

        Examples
        --------
        >>> from outlay import Exponential, Problem, Task
        >>> problem = Problem([Task("search", curve=Exponential(scale=100), value=200)])
        >>> plan = problem.allocate_for(target_value=100)
        >>> plan.is_reached, round(plan.spend, 3)
        (True, 69.315)
        >>> problem.allocate_for(target_value=201).is_reached
        False
        """
        given = {
            "target_value": target_value,
            "target_roas": target_roas,
            "target_cpa": target_cpa,
            "marginal_return": marginal_return,
        }
        targets = [(kind, float(number)) for kind, number in given.items() if number is not None]
        if len(targets) != 1:
            raise AllocationError(f"target: give exactly one of {', '.join(given)}, not {len(targets)}")
        problem = self.within_data() if within_data else self
        target = targets[0]
        allocation, is_reached, (reached, low, high), lines = problem._for_target(target, values, limit, Asked(tolerance, None, None))
        proof = tuple(BoundLine(*line) for line in lines)
        return TargetPlan(*target, is_reached, reached, low, high, proof, allocation)

    def within_data(self) -> Problem:
        """The same problem with spends bounded by ``covers``: a task gets nothing or an amount that the log of its curve covers.

        Returns
        -------
        Problem
            The bounded problem; tasks without ``covers`` are unchanged.

        Raises
        ------
        ProblemError
            If the bounds of a task allow no spend that its log covers.

        Examples
        --------
        >>> from outlay import Exponential, Problem, Task
        >>> search = Task("search", curve=Exponential(scale=40), value=1, covers=(10, 50))
        >>> social = Task("social", curve=Exponential(scale=40), value=0.5)
        >>> problem = Problem([search, social], budget=100)
        >>> problem.allocate().extrapolates
        [True, False]
        >>> problem.within_data().allocate().spend.round(9).tolist()
        [50.0, 50.0]
        """
        return type(self).from_json(self._within_data())

    def within_current(self, share: float) -> Problem:
        """The same problem with every spend within a share of its ``current`` one, as ``--within`` of the command line.

        Parameters
        ----------
        share : float
            ``0.3`` allows 70 to 130 % of the current spend.

        Returns
        -------
        Problem
            The bounded problem; narrower bounds remain.

        Raises
        ------
        ProblemError
            If a task has no ``current``, or its bounds allow no spend near it.

        Examples
        --------
        >>> from outlay import Exponential, Problem, Task
        >>> tasks = [Task("search", curve=Exponential(scale=40), value=1, current=30), Task("tv", curve=Exponential(scale=40), value=9, current=70)]
        >>> Problem(tasks, budget=100).within_current(0.3).allocate().spend.round(9).tolist()
        [21.0, 79.0]
        """
        return type(self).from_json(self._within_current(float(share)))

    def with_limits(self, path: str | os.PathLike[str]) -> Problem:
        """The same problem with the limits of a file, as ``--limits`` of the command line.

        Parameters
        ----------
        path : path-like
            A TOML file with a table per task, or a CSV file with the column ``task`` and those of the bounds.

        Returns
        -------
        Problem
            The bounded problem; tasks without limits in the file keep their bounds.

        Raises
        ------
        FileError
            If the file cannot be read.
        ProblemError
            If a limit is invalid.

        Examples
        --------
        >>> import os, tempfile
        >>> from outlay import Exponential, Problem, Task
        >>> path = os.path.join(tempfile.mkdtemp(), "limits.toml")
        >>> with open(path, "w") as file:
        ...     _ = file.write("[search]\\nmax = '40% of budget'")
        >>> problem = Problem([Task("search", curve=Exponential(scale=40), value=1)], budget=100)
        >>> problem.with_limits(path).allocate().spend.tolist()
        [40.0]
        """
        written = os.fspath(path)
        is_toml = written.lower().endswith(".toml")
        return type(self).from_json(self._with_limits(read_text(written), is_toml, written))

    def evaluate(
        self,
        plan: Values | None = None,
        values: Values | None = None,
        budget: float | None = None,
        *,
        tolerance: float | None = None,
        leftover: str | None = None,
    ) -> Evaluation:
        """The value of a plan beside the best allocation.

        Parameters
        ----------
        plan : sequence of float, Series, DataFrame or mapping, optional
            The spend of every task; by default the ``current`` spends of the tasks.
        values, budget, tolerance, leftover : optional
            As in `allocate`.

        Returns
        -------
        Evaluation
            The value of the plan and the lift of the best allocation.

        Raises
        ------
        AllocationError
            If the plan, the values or their labels do not fit.

        Examples
        --------
        >>> from outlay import Problem
        >>> found = Problem.load("square-roots:means=0.6;0.8").evaluate({"task-1": 0.5, "task-2": 0.5})
        >>> found.lift.__round__(4)
        0.0101
        """
        return self._evaluate(plan, values, budget, Asked(tolerance, leftover, None))

    def frontier(
        self,
        values: Values | None = None,
        *,
        start: float | None = None,
        end: float | None = None,
        points: int = 20,
        tolerance: float | None = None,
        leftover: str | None = None,
        progress: bool | None = None,
    ) -> Frontier:
        """The best allocations of several budgets.

        Parameters
        ----------
        values : optional
            As in `allocate`.
        start, end : float, optional
            The smallest and the largest budget; by default a tenth and twice that of the problem.
        points : int
            The number of budgets.
        tolerance, leftover : optional
            As in `allocate`.
        progress : bool, optional
            Whether to show a progress bar; by default on a terminal.

        Returns
        -------
        Frontier
            A sequence of allocations.

        Raises
        ------
        AllocationError
            If the budgets are not increasing or do not cover the lower bounds.

        Examples
        --------
        >>> from outlay import Problem
        >>> Problem.load("square-roots:means=0.6;0.8").frontier(points=3).budget.round(2).tolist()
        [0.1, 1.05, 2.0]
        """
        with Bar("budgets", points, progress) as bar:
            found = self._frontier(values, (start, end), points, Asked(tolerance, leftover, None), bar.step)
        return Frontier(found)

    def _without_seen(self) -> Problem:
        """The same problem without the totals of its logs."""
        document = self.to_dict()
        for task in document["task"]:
            task.pop("seen", None)
        return type(self).from_json(json.dumps(document))

    def __reduce__(self) -> tuple[Any, ...]:
        source = self.source()
        form = "json" if source.startswith("{") else "instance"
        return _rebuilt, (type(self), source, form)

    def __repr__(self) -> str:
        from .display import problem_text

        return problem_text(self)

    def _repr_html_(self) -> str:
        from .display import problem_html

        return problem_html(self)


def _rebuilt(cls: type[Problem], source: str, form: str) -> Problem:
    return cls._made(source, form, "the problem", os.curdir)


@dataclass(frozen=True)
class Asked:
    """How to solve."""

    tolerance: float | None
    leftover: str | None
    threads: int | None


def _load_evaluation(problem: str, plan: list[float], values: list[float], budget: float, asked: dict[str, Any]) -> Evaluation:
    """An evaluation that was pickled; it is computed again, with the same result."""
    return Problem.from_json(problem)._evaluate(plan, values, budget, Asked(**asked))


@dataclass(frozen=True)
class BoundLine:
    """An allocation that spends ``s``, at most ``budget``, is worth at most ``upper_bound - price * (budget - s)``.

    Parameters
    ----------
    budget : float
        The largest spend that the line is about; infinite for all spends.
    upper_bound : float
        An upper bound on the value of this budget.
    price : float
        The slope of the line.

    Examples
    --------
    >>> from outlay.problem import BoundLine
    >>> BoundLine(budget=10, upper_bound=5, price=0.25).at(6)
    4.0
    """

    budget: float
    upper_bound: float
    price: float

    def at(self, spend: float) -> float:
        """The bound for a spend of at most ``budget``.

        Parameters
        ----------
        spend : float
            The spend.

        Returns
        -------
        float
            The bound.

        Examples
        --------
        >>> from outlay.problem import BoundLine
        >>> BoundLine(budget=10, upper_bound=5, price=0).at(6)
        5
        """
        return self.upper_bound if self.price == 0 else self.upper_bound - self.price * (self.budget - spend)


@dataclass(frozen=True)
class TargetPlan:
    """The answer of `Problem.allocate_for`: an allocation, the bracket of the spend sought, and its proof.

    Parameters
    ----------
    kind : str
        The target: ``target_value``, ``target_roas``, ``target_cpa`` or ``marginal_return``.
    target : float
        Its number.
    is_reached : bool
        Whether the allocation reaches it. If not, no allocation does, or none was found.
    reached : float
        The target that the allocation reaches: the nearest one found, if the given one cannot be reached.
    low, high : float
        The ends of the bracket.
    proof : tuple of BoundLine
        Why spends outside the bracket miss the target, or all spends if it cannot be reached.
    allocation : Allocation
        The allocation. For a cost per completion its value is the number of completions.

    Examples
    --------
    >>> from outlay import Problem
    >>> plan = Problem.load("square-roots:means=0.6;0.8").allocate_for(marginal_return=0.5)
    >>> round(plan.spend, 6), plan.proof
    (1.0, ())
    """

    kind: str
    target: float
    is_reached: bool
    reached: float
    low: float
    high: float
    proof: tuple[BoundLine, ...]
    allocation: Allocation

    @property
    def spend(self) -> float:
        """The total spend of the allocation."""
        return float(self.allocation.spend.sum())


class Frontier(Tabular, Sequence[Allocation]):
    """Best allocations of increasing budgets: a sequence of `Allocation`.

    `table` has the budget, value, bound, gap, price and unspent budget of each, `splits` one row per budget and task.

    Parameters
    ----------
    points : sequence of Allocation
        The allocations.

    Examples
    --------
    >>> from outlay import Problem
    >>> frontier = Problem.load("power").frontier(points=3)
    >>> len(frontier), frontier[-1].budget, frontier.value.round(3).tolist()
    (3, 2.0, [0.617, 1.472, 1.897])
    """

    def __init__(self, points: Sequence[Allocation]) -> None:
        self._points = list(points)

    @overload
    def __getitem__(self, place: SupportsIndex) -> Allocation: ...
    @overload
    def __getitem__(self, place: slice) -> Frontier: ...
    def __getitem__(self, place: SupportsIndex | slice) -> Allocation | Frontier:
        return Frontier(self._points[place]) if isinstance(place, slice) else self._points[place]

    def __len__(self) -> int:
        return len(self._points)

    def __iter__(self) -> Iterator[Allocation]:
        return iter(self._points)

    @property
    def budget(self) -> NDArray[np.float64]:
        """The budget of each point."""
        return self._of("budget")

    @property
    def value(self) -> NDArray[np.float64]:
        """The value of each point."""
        return self._of("value")

    @property
    def price(self) -> NDArray[np.float64]:
        """The shadow price of each point: the value of one more unit of budget."""
        return self._of("price")

    def _of(self, key: str) -> NDArray[np.float64]:
        import numpy as np

        return np.array([getattr(point, key) for point in self._points], dtype=np.float64)

    def _columns(self) -> dict[str, list[Any]]:
        from .display import FRONTIER

        return {key: [getattr(point, key) for point in self] for key in FRONTIER}

    def splits(self, library: str | None = None) -> Any:
        """The split of every budget as a data frame: one row per budget and task, as ``outlay frontier --format csv``.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            By default pandas if it is installed, else polars.

        Returns
        -------
        DataFrame
            The rows.

        Raises
        ------
        MissingLibraryError
            If the library is not installed.

        Examples
        --------
        >>> from outlay import Problem
        >>> splits = Problem.load("square-roots:means=0.6;0.8").frontier(start=0.5, end=1, points=2).splits()
        >>> splits[["budget", "task", "spend"]].round(2).values.tolist()
        [[0.5, 'task-1', 0.18], [0.5, 'task-2', 0.32], [1.0, 'task-1', 0.36], [1.0, 'task-2', 0.64]]
        """
        from .display import frame, frontier_splits

        return frame(frontier_splits(self), library)

    def plot(self, axes: Any = None) -> Any:
        """Draws the value over the budget; needs matplotlib.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Where to draw; by default new axes.

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
        >>> from outlay import Problem
        >>> axes = Problem.load("power").frontier(points=5).plot()
        """
        from .plotting import frontier_plot

        return frontier_plot(self, axes)

    def report(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Writes an HTML report with figures, as ``outlay frontier --report``.

        Parameters
        ----------
        path : path-like
            The file.
        title : str, optional
            The title of the page.

        Raises
        ------
        FileError
            If the file cannot be written.

        Examples
        --------
        >>> import os, tempfile
        >>> from outlay import Problem
        >>> path = os.path.join(tempfile.mkdtemp(), "frontier.html")
        >>> Problem.load("power").frontier(points=5).report(path)
        >>> os.path.exists(path)
        True
        """
        from .reports import frontier_report

        frontier_report(self, path, title)

    def __repr__(self) -> str:
        from .display import frontier_text

        return frontier_text(self)

    def _repr_html_(self) -> str:
        from .display import frontier_html

        return frontier_html(self)


#: The columns of `Problem.from_arrays`.
COLUMNS = (
    "exponent", "scale", "full_at", "half_at", "steepness", "mid", "width", "at", "ceiling", "floor",
    "value", "min", "max", "at_least", "current", "volume",
)  # fmt: skip


def _numbers(column: Any, title: str) -> NDArray[np.float64]:
    """A column of a frame as numbers; empty cells are NaN."""
    import numpy as np

    try:
        if hasattr(column, "to_numpy"):
            return np.asarray(column.to_numpy(), dtype=np.float64)
        return np.array([math.nan if cell is None else cell for cell in column], dtype=np.float64)
    except (TypeError, ValueError):
        raise ProblemError(f"{title}: must be numbers") from None


def _json(document: dict[str, Any]) -> str:
    """The problem as JSON. JSON has finite numbers only; all others are reported with their paths."""
    wrong = list(_unwritable(document, ""))
    if wrong:
        count = "1 error" if len(wrong) == 1 else f"{len(wrong)} errors"
        raise ProblemError("\n  ".join([f"the problem has {count}", *(f"{path}: {why}" for path, why in wrong)]), wrong)
    return json.dumps({key: value for key, value in document.items() if value is not None})


def _unwritable(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _unwritable(entry, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            yield from _unwritable(entry, f"{path}[{place}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield path, f"must be finite, not {value}"
    elif not isinstance(value, (str, int, float, bool, type(None))):
        yield path, f"must be a number, a text or a list, not a {type(value).__name__}"
