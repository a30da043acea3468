"""The compiled half of the package; its public names are in ``outlay``. ``python/stubs`` writes the docstrings."""
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol
import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self
Floats = NDArray[np.float64]
Values = Mapping[str, float] | ArrayLike

class _Asked(Protocol):

    @property
    def tolerance(self) -> float | None:
        ...

    @property
    def leftover(self) -> str | None:
        ...

    @property
    def threads(self) -> int | None:
        ...

class Allocation:
    """The best allocation of a budget, with its certificate. Iterates over the tasks, one dictionary
    each.

    Examples
    --------
    >>> import outlay
    >>> best = outlay.Problem.load("square-roots:means=0.6;0.8").allocate()
    >>> [row["spend"].__round__(2) for row in best]
    [0.36, 0.64]"""

    @property
    def budget(self) -> float:
        """The budget."""
        ...

    @property
    def names(self) -> list[str]:
        """The names of the tasks."""
        ...

    @property
    def spend(self) -> Floats:
        """The spend of each task. The array is read-only and always the same one."""
        ...

    @property
    def success(self) -> Floats:
        """The success probability of each task at its spend. Read-only."""
        ...

    @property
    def values(self) -> Floats:
        """The value of a success of each task that was used."""
        ...

    @property
    def share(self) -> Floats:
        """Each task's share of the budget."""
        ...

    @property
    def expected_completions(self) -> Floats:
        """The expected number of completions of each task: its volume times its success probability."""
        ...

    @property
    def expected_reward(self) -> Floats:
        """The expected reward of each task."""
        ...

    @property
    def marginal_return(self) -> Floats:
        """The value that a small additional spend would add, per unit, for each task."""
        ...

    @property
    def return_up(self) -> list[float | None]:
        """The largest gain per unit of more spend of each task; None where no larger spend is allowed."""
        ...

    @property
    def return_down(self) -> list[float | None]:
        """The smallest loss per unit of less spend of each task; None where no smaller spend is allowed."""
        ...

    @property
    def return_on_spend(self) -> list[float | None]:
        """The expected reward per unit of spend of each task; None without spend."""
        ...

    @property
    def cost_per_completion(self) -> list[float | None]:
        """The spend per expected completion of each task; None where none is expected."""
        ...

    @property
    def _is_stepped(self) -> list[bool]:
        ...

    @property
    def _units(self) -> tuple[str | None, str, str | None]:
        ...

    @property
    def bound(self) -> list[str | None]:
        """The binding bound of each task: min, max, fixed, excluded, retired, at_least, or None."""
        ...

    @property
    def value(self) -> float:
        """Expected reward of the round."""
        ...

    @property
    def upper_bound(self) -> float:
        """An upper bound on the value of every allocation."""
        ...

    @property
    def gap(self) -> float:
        """The relative optimality gap, `(upper_bound - value) / upper_bound`."""
        ...

    @property
    def price(self) -> float:
        """The shadow price: the value of one more unit of budget."""
        ...

    @property
    def status(self) -> str:
        """The proved quality: optimal, within_tolerance or limit."""
        ...

    @property
    def unspent(self) -> float:
        """Unspent budget."""
        ...

    @property
    def unspent_reason(self) -> str | None:
        """Why budget is unspent: at_max, curve_flat, rounding, or None."""
        ...

    @property
    def rounding(self) -> dict[str, Any] | None:
        """The cost of rounding: unit, value_before, loss, upper_bound, which no plan in multiples of the
        unit exceeds, and moved_bounds, those that are not multiples. None if nothing was rounded."""
        ...

    @property
    def extrapolates(self) -> list[bool] | None:
        """Whether the curve of each task is extrapolated: its spend is outside `covers`, the range of
        the log that the curve was fitted to. None if no task has `covers`."""
        ...

    @property
    def current(self) -> list[float | None]:
        """The current spend of each task; None where it is unknown."""
        ...

    def __len__(self) -> int:
        ...

    def __iter__(self) -> Iterator[dict[str, Any]]:
        ...

    def table(self, library: str | None=None) -> Any:
        """One row per task, as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            By default pandas if it is installed, else polars.

        Returns
        -------
        DataFrame

        Raises
        ------
        MissingLibraryError
            If the library is not installed.

        Examples
        --------
        >>> import outlay
        >>> problem = outlay.Problem.load("power:tasks=2")
        >>> len(problem.allocate().table())
        2"""
        ...

    def to_dict(self) -> dict[str, Any]:
        """The dictionary that `outlay allocate --format json` writes.

        Returns
        -------
        dict

        Examples
        --------
        >>> import outlay
        >>> outlay.Problem.load("power").allocate().to_dict()["status"]
        'optimal'"""
        ...

    def plot(self, axes: Any=None) -> Any:
        """Draws the spend of each task; needs matplotlib.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Where to draw; by default new axes.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingLibraryError
            If matplotlib is not installed.

        Examples
        --------
        >>> import outlay
        >>> axes = outlay.Problem.load("power").allocate().plot()"""
        ...

    def report(self, path: str | os.PathLike[str], title: str | None=None) -> None:
        """Writes an HTML report with figures, as `outlay allocate --report`.

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
        >>> import os, outlay, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
        >>> outlay.Problem.load("power").allocate().report(path)
        >>> os.path.exists(path)
        True"""
        ...

    def _page(self, title: str, headline: Sequence[str]) -> str:
        ...

    def _repr_html_(self) -> str:
        ...

class Evaluation:
    """The value of a plan beside the best allocation. Iterates over the tasks, one dictionary each.

    Examples
    --------
    >>> import outlay
    >>> found = outlay.Problem.load("power:tasks=2").evaluate([0.2, 0.8])
    >>> found.lift >= 0
    True"""

    @property
    def budget(self) -> float:
        """The budget of a round."""
        ...

    @property
    def plan(self) -> Floats:
        """The spend of each task under the plan."""
        ...

    @property
    def total(self) -> float:
        """The total spend of the plan."""
        ...

    @property
    def value(self) -> float:
        """The expected reward of a round under the plan."""
        ...

    @property
    def violations(self) -> list[str]:
        """The violated constraints in words; empty if the plan is feasible."""
        ...

    @property
    def best(self) -> Allocation:
        """The best allocation of the budget."""
        ...

    @property
    def best_for_total(self) -> Allocation | None:
        """The best allocation of the plan's own total; None if that is the budget."""
        ...

    @property
    def lift(self) -> float:
        """The value of the best allocation minus that of the plan."""
        ...

    @property
    def relative_lift(self) -> float | None:
        """The lift relative to the plan's value; None if that is zero."""
        ...

    @property
    def moves(self) -> Floats:
        """The change of each spend from the plan to the best allocation."""
        ...

    @property
    def keeps_plan(self) -> bool:
        """Whether the plan itself is the best allocation known."""
        ...

    def __len__(self) -> int:
        ...

    def __iter__(self) -> Iterator[dict[str, Any]]:
        ...

    def table(self, library: str | None=None) -> Any:
        """One row per task, as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            By default pandas if it is installed, else polars.

        Returns
        -------
        DataFrame

        Raises
        ------
        MissingLibraryError
            If the library is not installed.

        Examples
        --------
        >>> import outlay
        >>> problem = outlay.Problem.load("power:tasks=2")
        >>> len(problem.evaluate([0.2, 0.8]).table())
        2"""
        ...

    def plot(self, axes: Any=None) -> Any:
        """Draws the plan beside the best allocation; needs matplotlib.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Where to draw; by default new axes.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        MissingLibraryError
            If matplotlib is not installed.

        Examples
        --------
        >>> import outlay
        >>> problem = outlay.Problem.load("power:tasks=2")
        >>> axes = problem.evaluate([0.2, 0.8]).plot()"""
        ...

    def report(self, path: str | os.PathLike[str], title: str | None=None) -> None:
        """Writes an HTML report with figures, as `outlay evaluate --report`.

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
        >>> import os, outlay, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
        >>> outlay.Problem.load("power:tasks=2").evaluate([0.2, 0.8]).report(path)
        >>> os.path.exists(path)
        True"""
        ...

    def _page(self, title: str, headline: Sequence[str]) -> str:
        ...

    def _repr_html_(self) -> str:
        ...

class Problem:
    """A checked problem. `outlay.Problem` is this with Python's conveniences."""

    def __new__(cls, text: str, form: str, place: str, folder: str, changes: Sequence[tuple[str, float]], columns: Any=None) -> Self:
        ...

    @property
    def currency(self) -> str | None:
        """The unit of budget and spends in tables and reports; None if it was not given."""
        ...

    @property
    def period(self) -> str:
        """The length of a round in tables and reports, by default round."""
        ...

    @property
    def reward_unit(self) -> str | None:
        """The unit of rewards in tables and reports: by default the currency."""
        ...

    @property
    def budget(self) -> float:
        """The budget of a round."""
        ...

    @property
    def horizon(self) -> int | None:
        """The number of rounds planned, None if unknown."""
        ...

    @property
    def reward_max(self) -> float:
        """The largest reward of a completion."""
        ...

    @property
    def reward_over_max(self) -> str:
        """What happens to reported rewards above reward_max: refuse or clip."""
        ...

    @property
    def leftover(self) -> str:
        """What happens to budget that cannot increase the value: keep or spend."""
        ...

    @property
    def names(self) -> list[str]:
        """The names of the tasks, in order."""
        ...

    @property
    def values(self) -> list[float | None]:
        """The values of the tasks; None where a value is unknown."""
        ...

    @property
    def shapes(self) -> list[str]:
        """The shape of each curve in words."""
        ...

    def to_json(self) -> str:
        """The problem as JSON, with the keys of a problem file; the contents of other files are written
        out.

        Returns
        -------
        str
            JSON.

        Examples
        --------
        >>> import json, outlay
        >>> json.loads(outlay.Problem.load("power:tasks=2").to_json())["budget"]
        1.0"""
        ...

    def to_toml(self) -> str:
        """The problem as TOML, with the keys of a problem file.

        Returns
        -------
        str
            TOML.

        Examples
        --------
        >>> import outlay
        >>> outlay.Problem.load("power:tasks=2").to_toml().splitlines()[0]
        'budget = 1.0'"""
        ...

    def source(self) -> str:
        """The problem as JSON, or the name of an instance, which may depend on horizon and seed.

        Returns
        -------
        str
            JSON, or a name.

        Examples
        --------
        >>> import outlay
        >>> outlay.Problem.load("power:tasks=2").source()
        'power:tasks=2'"""
        ...

    def _within_data(self) -> str:
        ...

    def __len__(self) -> int:
        ...

    def __eq__(self, other: object) -> bool:
        ...

    def __hash__(self) -> int:
        ...

    def _allocate(self, values: Values | None, budget: float | None, asked: _Asked, unit: float | None) -> Allocation:
        ...

    def _evaluate(self, plan: Values | None, values: Values | None, budget: float | None, asked: _Asked) -> Evaluation:
        ...

    def _within_current(self, share: float) -> str:
        ...

    def _with_limits(self, text: str, is_toml: bool, place: str) -> str:
        ...

    def _for_target(self, target: tuple[str, float], values: Values | None, limit: float | None, asked: _Asked) -> tuple[Allocation, bool, list[float], list[list[float]]]:
        ...

    def _frontier(self, values: Values | None, span: tuple[float | None, float | None], points: int, asked: _Asked, each: Callable[[], None]) -> list[Allocation]:
        ...

class Round:
    """An issued round: the spend of each task, and the number with which its outcomes are observed.

    Examples
    --------
    >>> import outlay
    >>> issued = outlay.Learner(outlay.Problem.load("power")).allocate()
    >>> issued.round, len(issued.spend)
    (1, 5)

    See Also
    --------
    Learner.allocate : Issues the next round.
    Learner.observe : Reports the outcomes of a round."""

    @property
    def round(self) -> int:
        """The number of the round, counted from 1."""
        ...

    @property
    def key(self) -> str | None:
        """The key with which a ledger issued the round; None without one."""
        ...

    @property
    def cancelled(self) -> bool:
        """Whether the round had been cancelled when a ledger returned it."""
        ...

    @property
    def budget(self) -> float:
        """The budget of the round."""
        ...

    @property
    def names(self) -> list[str]:
        """The tasks' names."""
        ...

    @property
    def spend(self) -> Floats:
        """The spend of each task. The array is read-only and always the same one."""
        ...

    @property
    def success(self) -> Floats:
        """The success probability of each task; 0 for unavailable tasks. Read-only."""
        ...

    @property
    def expected_completions(self) -> Floats:
        """The expected number of completions of each task: its volume times its success probability."""
        ...

    @property
    def scale(self) -> Floats | None:
        """The scale of each task's curve in this round; None if all are 1."""
        ...

    @property
    def volume(self) -> Floats | None:
        """The volume of each task in this round; None if they are those of the problem."""
        ...

    @property
    def mask(self) -> NDArray[np.bool_] | None:
        """Which tasks are available; None if all are."""
        ...

    @property
    def value(self) -> float:
        """The value of the allocation by the learner's weights; 0 if the learner chose it itself."""
        ...

    @property
    def upper_bound(self) -> float:
        """An upper bound on the value of every allocation, by the same weights."""
        ...

    @property
    def gap(self) -> float:
        """The relative optimality gap: no allocation is better by more than this share."""
        ...

    @property
    def status(self) -> str:
        """The proved quality: "optimal", "within_tolerance" or "limit"."""
        ...

    @property
    def unspent(self) -> float:
        """Unspent budget."""
        ...

    @property
    def guards(self) -> dict[str, Any] | None:
        """The effect of the guards, None without guards.

        A dictionary with the keys max_change, floor and min_move: the value that this round would
        gain without the guard, by the learner's weights (None: no such guard). kept is the number
        of tasks whose move was too small, relaxed says whether the budget was too small for the
        guards."""
        ...

    def __int__(self) -> int:
        ...

    def __index__(self) -> int:
        ...

    def __len__(self) -> int:
        ...

    def _repr_html_(self) -> str:
        ...

class Learner:
    """A learner and its rounds. `outlay.Learner` adds files and tables."""

    def __new__(cls, problem: Problem, learner: Any=None, horizon: int | None=None, *, feedback: str | None=None, seed: int=1, max_change: float | None=None, floor: float | None=None, min_move: float | None=None, always_cold: bool=False, ignore_seen: bool=False, state: str | None=None) -> Self:
        ...

    def allocate(self, budget: float | None=None, mask: ArrayLike | None=None, *, scale: Values | None=None, volume: Values | None=None) -> Round:
        """Issues the next round.

        Parameters
        ----------
        budget : float, optional
            The budget of the round; by default that of the problem.
        mask : sequence of bool, numpy.ndarray or Series, optional
            Which tasks are available; by default all. A Series with labels is aligned by name.
        scale : mapping, sequence of float or Series, optional
            The scale of each task's curve in this round: a task with scale s has the curve F(x / s).
            A mapping from names may set only some of them; the others are 1.
        volume : mapping, sequence of float or Series, optional
            The volume of each task in this round; by default those of the problem.

        Returns
        -------
        Round
            The spend of each task.

        Raises
        ------
        AllocationError
            If the budget does not cover the lower bounds of the tasks, or a scale or volume is
            invalid or unsuitable for the learner. No round is issued then.
        ObservationError
            If the mask does not fit the tasks.

        Examples
        --------
        >>> import outlay
        >>> learner = outlay.Learner(outlay.Problem.load("power"))
        >>> learner.allocate(budget=0.5).budget
        0.5
        >>> learner.allocate(scale={"task-1": 1.3}).scale.tolist()
        [1.3, 1.0, 1.0, 1.0, 1.0]"""
        ...

    def observe(self, round: Round | int | Any, completed: Mapping[str, bool] | ArrayLike | Any=None, reward: Mapping[str, float] | ArrayLike | None=None, *, completions: Mapping[str, float] | ArrayLike | Any=None, spend: Mapping[str, float] | ArrayLike | None=None, gain: float | None=None) -> None:
        """Reports the outcomes of a round.

        Parameters
        ----------
        round : Round, int or DataFrame
            The round or its number. A data frame with the columns round, task, completed (or
            completions), reward and, if known, spend reports several rounds; it is then the only
            argument.
        completed : sequence of bool, Series, mapping or DataFrame, optional
            Whether each task completed. A mapping from names, or a data frame with the columns
            task, completed and reward, may report only some of the tasks. A Series with labels is
            aligned by name.
        reward : sequence of float, Series or mapping, optional
            The reward of each completed task, between 0 and reward_max; with completions, the sum
            of the rewards. The reward of a task that failed is unknown: 0 or NaN.
        completions : sequence of int, Series, mapping or DataFrame, optional
            In place of completed: how often each task completed. Only a problem with volumes has
            more than one completion. NaN means that the number is not known yet.
        spend : sequence of float, Series or mapping, optional
            The amounts that were really spent; NaN means as allocated. Learners that learn from
            spends use them: lattimore, and those of your own with a method observe.
        gain : float, optional
            The total reward of the round, in place of the others, for learners with bandit
            feedback.

        Raises
        ------
        ObservationError
            If an outcome is impossible, the round is not open, or another learner issued it.
            Nothing was learnt then.

        Examples
        --------
        >>> import outlay
        >>> learner = outlay.Learner(outlay.Problem.load("power:tasks=2"))
        >>> first = learner.allocate()
        >>> learner.observe(first, completed=[True, False], reward=[0.8, 0])
        >>> learner.open_rounds
        0

        With counts:

        >>> curve = outlay.Exponential(scale=40)
        >>> tasks = [outlay.Task(name, curve=curve, volume=30) for name in ("search", "social")]
        >>> learner = outlay.Learner(outlay.Problem(tasks, budget=100, reward_max=50))
        >>> first = learner.allocate()
        >>> completions, reward = {"search": 24, "social": 3}, {"search": 410, "social": 66}
        >>> learner.observe(first, completions=completions, reward=reward)
        >>> learner.table()["completions"].tolist()
        [24, 3]"""
        ...

    def observe_many(self, rounds: Iterable[Round | int], completed: ArrayLike | None=None, reward: ArrayLike | None=None, *, completions: ArrayLike | None=None, spend: ArrayLike | None=None) -> None:
        """Reports the outcomes of many rounds.

        The effect is that of `observe` on each row in turn, up to the first invalid one.

        Parameters
        ----------
        rounds : iterable of Round or int
            The rounds.
        completed : array_like of bool or DataFrame, optional
            One row per round and one column per task. The columns of a data frame are aligned by
            name.
        reward : array_like of float or DataFrame, optional
            The rewards, in the same shape.
        completions, spend : array_like of float or DataFrame, optional
            As in `observe`, in the same shape.

        Raises
        ------
        ObservationError
            If the shapes do not fit, or `observe` would raise.

        Examples
        --------
        >>> import outlay
        >>> learner = outlay.Learner(outlay.Problem.load("power:tasks=2"))
        >>> rounds = [learner.allocate() for _ in range(2)]
        >>> learner.observe_many(rounds, [[True, False], [True, True]], [[1, 0], [0, 1]])
        >>> learner.open_rounds
        0"""
        ...

    @property
    def learner(self) -> str:
        """The learner with its parameters, such as "epsilon-greedy:epsilon=0.1"."""
        ...

    @property
    def horizon(self) -> int | None:
        """The number of rounds planned, None if unknown."""
        ...

    @property
    def feedback(self) -> str:
        """The feedback that the learner observes: "censored", "full" or "bandit"."""
        ...

    @property
    def seed(self) -> int:
        """The seed of the learner's own random draws."""
        ...

    @property
    def always_cold(self) -> bool:
        """Whether every search starts cold, as in the service."""
        ...

    @property
    def names(self) -> list[str]:
        """The names of the tasks."""
        ...

    @property
    def rounds(self) -> int:
        """The number of rounds issued so far."""
        ...

    @property
    def reward_max(self) -> float:
        """The largest reward of a completion."""
        ...

    @property
    def clipped(self) -> int:
        """The number of reports whose reward was above the largest one and was clipped, for problems
        with reward_over_max="clip"."""
        ...

    @property
    def open_rounds(self) -> int:
        """The number of rounds with missing outcomes."""
        ...

    @property
    def guards(self) -> dict[str, float]:
        """The guards with their amounts; empty without guards."""
        ...

    @property
    def weights(self) -> Floats | None:
        """The weight of each task in the last round, in the unit of the rewards. None before the
        first round and for learners that choose the allocation itself."""
        ...

    def learnt(self) -> str:
        """The learner's state: what it has learnt from the outcomes.

        Returns
        -------
        str
            JSON.

        Examples
        --------
        >>> import outlay
        >>> outlay.Learner(outlay.Problem.load("power:tasks=2")).learnt()
        '{"completions":[0,0],"reward_sum":[0,0]}'"""
        ...

    def state(self) -> str:
        """The learner, its state and its open rounds, without the problem; see `to_json`.

        Returns
        -------
        str
            JSON.

        Examples
        --------
        >>> import json, outlay
        >>> json.loads(outlay.Learner(outlay.Problem.load("power")).state())["learner"]
        'kl-ucb-plus'"""
        ...

    def _problem_json(self) -> str:
        ...

class Counts:
    """The completions and rewards of each task so far, as `index` and `decide` get them.

    Attributes
    ----------
    completions, reward_sum, mean : numpy.ndarray
        Number of completions, sum of rewards and mean reward of each task.
    reward_max : float
        The largest reward of a completion.

    Examples
    --------
    >>> import outlay
    >>> class Greedy:
    ...     def index(self, counts, round):
    ...         return counts.mean if counts.completions.all() else [1.0] * len(counts)
    >>> learner = outlay.Learner(outlay.Problem.load("square-roots:means=0.6;0.8"), Greedy)
    >>> learner.allocate().spend.round(9).tolist()
    [0.5, 0.5]"""

    @property
    def completions(self) -> Floats:
        """The number of completions of each task."""
        ...

    @property
    def reward_sum(self) -> Floats:
        """The sum of the rewards of each task."""
        ...

    @property
    def mean(self) -> Floats:
        """The mean reward of each task's completions; 0 before the first."""
        ...

    @property
    def reward_max(self) -> float:
        """The largest reward of a completion."""
        ...

    def __len__(self) -> int:
        ...

class Environment:
    """The environment that `simulate` uses for a problem: completions, rewards and budgets.

    Subclass it to change what is drawn, and pass the subclass as ``environment`` to `simulate`.

    Parameters
    ----------
    problem : Problem
        The problem; every task needs a value or a reward.
    seed : int
        The seed of the replication.

    Raises
    ------
    SimulationError
        If a task has neither a value nor a reward.

    Examples
    --------
    >>> import outlay
    >>> problem = outlay.Problem.load("power:tasks=2")
    >>> best = problem.allocate()
    >>> completed, reward = outlay.Environment(problem, seed=1).draw(1, best.spend, best.success)
    >>> completed.tolist()
    [True, True]"""

    def __new__(cls, problem: Problem, seed: int=1) -> Self:
        ...

    def means(self, round: int) -> Floats:
        """The mean reward of each task's completions in a round.

        Parameters
        ----------
        round : int
            The round, counted from 1. The means of a problem are the same in every round.

        Returns
        -------
        numpy.ndarray
            One mean per task.

        Examples
        --------
        >>> import outlay
        >>> outlay.Environment(outlay.Problem.load("square-roots:means=0.6;0.8")).means(1).tolist()
        [0.6, 0.8]"""
        ...

    def budget(self, round: int) -> float:
        """The budget of a round.

        Parameters
        ----------
        round : int
            The round, counted from 1.

        Returns
        -------
        float
            The budget.

        Examples
        --------
        >>> import outlay
        >>> outlay.Environment(outlay.Problem.load("power")).budget(1)
        1.0"""
        ...

    def draw(self, round: int, spend: ArrayLike, success: ArrayLike) -> tuple[NDArray[Any], Floats]:
        """Draws the outcomes of a round.

        Parameters
        ----------
        round : int
            The round, counted from 1.
        spend : array_like of float
            The spend of each task.
        success : array_like of float
            The success probability of each task at its spend.

        Returns
        -------
        completed : numpy.ndarray of bool or int
            Whether each task completed; how often, if the problem has volumes.
        reward : numpy.ndarray of float
            The reward of each task, also of those that failed; with volumes, the sum of the rewards.

        Raises
        ------
        SimulationError
            If there is not one probability per task.

        Examples
        --------
        >>> import outlay
        >>> tasks = [outlay.Task(curve=outlay.Power(0.5), value=2.0, volume=40)]
        >>> law = {"completions": "poisson"}
        >>> problem = outlay.Problem(tasks, reward_max=2, environment=law)
        >>> completions, reward = outlay.Environment(problem, seed=1).draw(1, [0.25], [0.5])
        >>> completions.tolist(), reward.tolist()
        ([28], [56.0])"""
        ...

class Draws:
    """All draws of one seed for one purpose.

    A draw is a function of seed, purpose, round and task, and of nothing else: the same on every
    machine, in any order, and bit for bit that of the engine.

    Parameters
    ----------
    seed : int
        The seed.
    purpose : str
        One of `outlay.random.PURPOSES`; each purpose has its own stream.

    Raises
    ------
    SimulationError
        If the purpose is unknown.

    Examples
    --------
    >>> from outlay.random import Draws
    >>> Draws(1, "completion").uniform(round=1, tasks=2).tolist()
    [0.9250777258326593, 0.06893801751033912]"""

    def __new__(cls, seed: int, purpose: str) -> Self:
        ...

    @property
    def seed(self) -> int:
        """The seed."""
        ...

    @property
    def purpose(self) -> str:
        """The purpose."""
        ...

    def uniform(self, round: int, tasks: int) -> Floats:
        """One number in [0, 1) per task, each a multiple of 2**-53.

        Parameters
        ----------
        round : int
            The round, counted from 1.
        tasks : int
            The number of tasks.

        Returns
        -------
        numpy.ndarray
            Numbers in [0, 1).

        Examples
        --------
        >>> from outlay.random import Draws
        >>> Draws(1, "reward").uniform(round=1, tasks=1).tolist()
        [0.3805995096134631]"""
        ...

    def bits(self, round: int, tasks: int) -> NDArray[np.uint64]:
        """64 random bits per task.

        Parameters
        ----------
        round : int
            The round, counted from 1.
        tasks : int
            The number of tasks.

        Returns
        -------
        numpy.ndarray
            Unsigned integers of 64 bits.

        Examples
        --------
        >>> from outlay.random import Draws
        >>> Draws(1, "learner").bits(round=1, tasks=3).dtype
        dtype('uint64')"""
        ...

    def sequence(self, round: int, task: int, count: int) -> Floats:
        """A sequence of numbers in (0, 1) for one task, for draws that need more than one number.

        Parameters
        ----------
        round : int
            The round, counted from 1.
        task : int
            The task, counted from 0.
        count : int
            How many numbers.

        Returns
        -------
        numpy.ndarray
            Numbers in (0, 1).

        Examples
        --------
        >>> from outlay.random import Draws
        >>> Draws(1, "learner").sequence(round=1, task=0, count=5).shape
        (5,)"""
        ...

class Ledger:
    """A ledger. `outlay.Ledger` adds files and tables."""

    def __new__(cls, problem: Problem | None, settings: Any, state: str | None=None) -> Self:
        ...

    @property
    def learner(self) -> str:
        """The learner with its parameters."""
        ...

    @property
    def names(self) -> list[str]:
        """The names of the tasks."""
        ...

    @property
    def rounds(self) -> int:
        """The number of rounds issued so far."""
        ...

    @property
    def open_rounds(self) -> int:
        """The number of rounds with missing outcomes."""
        ...

    def to_json(self) -> str:
        """The state, as the command line writes it.

        Returns
        -------
        str
            JSON.

        Examples
        --------
        >>> import json, outlay
        >>> json.loads(outlay.Ledger(outlay.Problem.load("power")).to_json())["learner"]
        'kl-ucb-plus'"""
        ...

    def _problem_json(self) -> str:
        ...

    def _next(self, asked: Any) -> Round:
        ...

    def _show(self, round: Round | int) -> Round:
        ...

    def _cancel(self, round: Round | int) -> None:
        ...

    def _report(self, round: Any, completed: Any, reward: Any, completions: Any, spend: Any, revises: bool) -> tuple[int, int, int]:
        ...

    def _undo(self) -> int:
        ...

    def _amend(self, problem: Problem) -> str:
        ...

    def _status(self) -> str:
        ...

    def _page(self, title: str) -> str:
        ...

class Stop:
    """A flag that stops a long computation in any thread."""

    def __init__(self) -> None:
        ...

    def set(self) -> None:
        """Stops the computation that was given this flag; it raises KeyboardInterrupt."""
        ...

def success(curve: str, budget: float, spend: ArrayLike) -> Floats:
    """The chance of success at each spend, for the curve that a JSON object describes; `budget` is the
    scale that a power curve without one takes."""
    ...

def check(problem: str, learners: Sequence[Any], rounds: int, seed: int, replications: int, feedback: str | None=None) -> list[str]:
    """Checks that everything can be played. Returns the learners' names with their parameters."""
    ...

def checkpoints(rounds: int) -> NDArray[np.uint64]:
    """The rounds at which regret is traced: about 200, geometrically spaced."""
    ...

def learners() -> list[tuple[str, str, str, bool, str]]:
    """Every learner: name, parameters, feedback, whether it needs a horizon, its guarantee."""
    ...

def play(problem: str, learner: Any, rounds: int, seed: int, first: int, count: int, *, feedback: str | None=None, environment: Any=None, stop: Stop | None=None) -> dict[str, NDArray[Any]]:
    """Plays the replications `first` to `first + count - 1` of one learner on one problem; replication
    r has the seed `seed + r`.

    `problem` is JSON (`Problem.to_json`) or the name of an instance, `learner` a name or a Python
    class, `environment` a Python class in place of the problem's environment. Every row of the
    arrays belongs to a replication and depends on these and on its seed alone: replications that
    are played in parts, anywhere, are the same together."""
    ...

def summarise(problem: str, name: str, parameter: tuple[str, float] | None, learners: Sequence[Any], rounds: int, seed: int, replications: int, feedback: str | None, results: Sequence[dict[str, NDArray[Any]]]) -> str:
    """The summary of several learners on one problem, as `outlay simulate --format json` writes it.
    `results` holds the arrays of `play` for each learner, all replications in their order."""
    ...

def simulation_page(title: str, command: str, cases: Sequence[Any]) -> str:
    """The page of a simulation."""
    ...

def fit(columns: Any, request: Any) -> tuple[str, str, str | None]:
    """Fits every task of a log. Returns the fits as JSON, the problem as JSON, and the page."""
    ...

def frontier_page(points: Sequence[Allocation], title: str) -> str:
    """The page of a frontier of allocations of one problem."""
    ...

def purposes() -> list[str]:
    """The names of the purposes, in the order of their streams."""
    ...

def replay(problem: Problem, columns: Any, request: Any) -> tuple[str, str, list[str]]:
    """Replays learners on recorded rows: JSON as `outlay replay` writes it, the page, and notes."""
    ...

def check_problem(problem: Problem) -> str:
    """The check of a problem as JSON, as `outlay check` writes it."""
    ...

def bound(problem: Problem, source: str, name: str, horizon: int, share: float | None, run: Any=None) -> str:
    """The bounds that apply to a problem as JSON, as `outlay bound` writes them."""
    ...

def claims() -> list[str]:
    """The names of the claims."""
    ...

def reproduce(names: Sequence[str], quick: bool, threads: int | None) -> tuple[str, str]:
    """Tests claims by experiments: JSON as `outlay reproduce` writes it, and the page."""
    ...
