"""Simulations: learners on problems, with their regret against the optimum.

A simulation consists of cells (one learner on one problem), each run in chunks of replications. A replication depends on its cell and
its seed alone, so results do not depend on threads, processes or machines.
"""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Union

from . import _outlay
from .errors import SimulationError
from .learner import AnyLearner
from .problem import Problem
from .progress import Bar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = dict[str, NDArray[Any]]

__all__ = ["Cell", "Chunk", "Result", "chunks", "play_chunk", "put_together", "simulate"]

DEFAULT_LEARNERS = ("kl-ucb-plus", "algorithm-1", "uniform")
DEFAULT_ROUNDS = 10_000
#: Replications that the engine simulates together, if possible.
TOGETHER = 8
#: Rounds per chunk: so few that progress is shown, Ctrl-C takes effect and a process ends soon.
CHUNK_ROUNDS = 4_000_000

Problems = Union[Problem, str, "os.PathLike[str]"]


class DrawsOutcomes(Protocol):
    """An environment of your own: draws the outcomes of rounds.

    An optional method ``means(round)`` returns the mean reward of each task's completions in a round, by which regret is measured;
    without it these are the values of the problem.
    """

    def draw(self, round: int, spend: Any, success: Any, /) -> tuple[Any, Any]:
        """Whether each task completed, and the reward of each task. With volumes: how often, and the sum of the rewards.

        Parameters
        ----------
        round : int
            The round, counted from 1.
        spend, success : numpy.ndarray
            The spend of each task, and its success probability by the curves of the problem.

        Returns
        -------
        completed, reward : array_like
            One entry per task.
        """
        ...


@dataclass(frozen=True)
class Case:
    """One problem of a simulation."""

    name: str
    #: The problem as JSON, or the name of an instance.
    problem: str
    rounds: int
    parameter: tuple[str, float] | None = None

    def label(self) -> str:
        """What messages call it."""
        return self.name if self.parameter is None else f"{self.name} {self.parameter[0]}={_number(self.parameter[1])}"


@dataclass(frozen=True)
class Cell:
    """One learner on one problem: data that can be sent to another process.

    A learner or an environment of your own is pickled, so it must be importable there.
    """

    problem: str
    learner: AnyLearner
    rounds: int
    seed: int
    replications: int
    feedback: str | None = None
    #: The name of the problem in messages.
    name: str = ""
    #: Called with the problem and the seed of each replication; None: the environment of the problem.
    environment: Any = None
    #: The name of the learner in messages.
    learner_name: str = ""


@dataclass(frozen=True)
class Chunk:
    """Some replications of a cell: ``first`` to ``first + count - 1``."""

    cell: int
    first: int
    count: int


def play_chunk(cell: Cell, first: int, count: int, stop: _outlay.Stop | None = None) -> Arrays:
    """Plays some replications of a cell; a row of each array is a replication."""
    return _outlay.play(
        cell.problem,
        cell.learner,
        cell.rounds,
        cell.seed,
        first,
        count,
        feedback=cell.feedback,
        environment=cell.environment,
        stop=stop,
    )


def chunks(cells: Sequence[Cell], workers: int = 1) -> list[Chunk]:
    """Everything that is to be played, in parts of whole groups of replications: first all learners' first parts."""
    parts = []
    for place, cell in enumerate(cells):
        size = max(1, CHUNK_ROUNDS // max(1, cell.rounds))
        share = -(-cell.replications // max(1, workers))
        size = max(TOGETHER, min(size, share) // TOGETHER * TOGETHER)
        parts += [Chunk(place, first, min(size, cell.replications - first)) for first in range(0, cell.replications, size)]
    return sorted(parts, key=lambda part: part.first)


def put_together(parts: Iterable[tuple[Chunk, Arrays]]) -> Arrays:
    """One cell's chunks, in whatever order they came, as one."""
    import numpy as np

    ordered = [arrays for _, arrays in sorted(parts, key=lambda part: part[0].first)]
    return {key: np.concatenate([arrays[key] for arrays in ordered]) for key in ordered[0]}


def simulate(
    problem: Problems | Sequence[Problems] | Mapping[str, Problems],
    learners: AnyLearner | Sequence[AnyLearner] = DEFAULT_LEARNERS,
    *,
    rounds: int | None = None,
    replications: int = 100,
    seed: int = 1,
    feedback: str | None = None,
    grid: Mapping[str, Sequence[Any]] | None = None,
    environment: Callable[[Problem, int], DrawsOutcomes] | None = None,
    ignore_seen: bool = False,
    threads: int | None = None,
    executor: Any = None,
    progress: bool | None = None,
) -> Result:
    """Runs learners on problems whose values they do not know, and compares their regret.

    Replication r has the seed ``seed + r``. All learners of a replication meet the same random numbers.

    Parameters
    ----------
    problem : Problem, str, path-like, sequence or mapping
        One problem or several. Problem files and instances may be given by name.
    learners : str, IndexPolicy, DecisionPolicy, or a sequence of them
        Built-in learners by name (see `LearnerSpec` for parameters), and classes or objects of your own.
    rounds : int, optional
        The number of rounds; by default the horizon of the problem, or 10,000.
    replications : int
        The number of replications of each learner on each problem.
    seed : int
        The seed of the first replication.
    feedback : str, optional
        The feedback of all learners; by default each gets what it needs.
    grid : mapping, optional
        One run per value of a parameter, such as ``{"tasks": [2, 5, 10]}``.
    environment : callable, optional
        Called with the problem and a seed; returns an object with a method ``draw(round, spend, success)`` that returns whether
        each task completed (how often, if the problem has volumes) and the rewards. See `Environment`.
    ignore_seen : bool
        Start the learners without the completions that the tasks have ``seen``.
    threads : int, optional
        The number of threads; by default one per core. Python code runs one thread at a time: use an executor of processes for
        learners and environments of your own.
    executor : object, optional
        An executor, such as ``concurrent.futures.ProcessPoolExecutor()``, that runs the replications. Results do not depend on it.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal.

    Returns
    -------
    Result
        Regret of each learner on each problem.

    Raises
    ------
    SimulationError
        If an argument is invalid.
    ProblemError, LearnerError
        If a problem or a learner is invalid.

    Examples
    --------
    >>> from outlay import simulate
    >>> result = simulate("power", ["kl-ucb-plus", "uniform"], rounds=1000, replications=8)
    >>> [round(learner["regret"]["mean"], 4) for learner in result.summaries[0]["learners"]]
    [9.8604, 80.5214]
    """
    # A class or an object with `index` or `decide` is one learner.
    is_one = isinstance(learners, str) or hasattr(learners, "index") and not isinstance(learners, (list, tuple)) or hasattr(learners, "decide")
    given: list[AnyLearner] = [learners] if is_one else list(learners)  # type: ignore[arg-type]
    rounds = rounds if rounds is None else _whole("rounds", rounds, 1)
    replications, seed = _whole("replications", replications, 1), _whole("seed", seed, 0)
    cases = list(_cases(problem, rounds, grid, ignore_seen))
    if not cases:
        raise SimulationError("no problem: give one, or several")
    if environment is not None and not callable(environment):
        raise SimulationError("environment: must be a class, or a function of the problem and the seed")
    names = [_checked(case, given, seed, replications, feedback) for case in cases]
    cells = [
        Cell(case.problem, learner, case.rounds, seed, replications, feedback, case.label(), environment, name)
        for case, full in zip(cases, names)
        for learner, name in zip(given, full)
    ]
    if executor is None:
        played = _play_here(cells, threads or os.cpu_count() or 1, progress)
    else:
        from .sweep import play_on

        played = play_on(executor, cells, progress)
    results = [played[place : place + len(given)] for place in range(0, len(played), len(given))]
    return Result._of(cases, given, seed, replications, feedback, results)


def _whole(what: str, number: int, least: int) -> int:
    try:
        whole = operator.index(number)
    except TypeError:
        whole = least - 1
    if not least <= whole < 2**64:
        raise SimulationError(f"{what}: must be a whole number of at least {least}, not {number}")
    return whole


def _checked(case: Case, learners: list[AnyLearner], seed: int, replications: int, feedback: str | None) -> list[str]:
    try:
        return _outlay.check(case.problem, learners, case.rounds, seed, replications, feedback)
    except (SimulationError, ValueError) as error:
        raise type(error)(f"{case.label()}: {error}") from None


def _number(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)


def _cases(
    problem: Problems | Sequence[Problems] | Mapping[str, Problems],
    rounds: int | None,
    grid: Mapping[str, Sequence[Any]] | None,
    ignore_seen: bool,
) -> Iterator[Case]:
    if isinstance(problem, Mapping):
        named = list(problem.items())
    elif isinstance(problem, (Problem, str, os.PathLike)):
        named = [(_name(problem, 0), problem)]
    else:
        named = [(_name(entry, place), entry) for place, entry in enumerate(problem)]
    if len({name for name, _ in named}) < len(named):
        raise SimulationError("two problems have the same name: give a mapping from names to problems")
    if grid is not None and len(grid) != 1:
        raise SimulationError(f"grid: must be one parameter with its values, not {len(grid)}")
    for name, given in named:
        loaded = given if isinstance(given, Problem) else Problem.load(given)
        if ignore_seen and loaded.source().startswith("{"):
            loaded = loaded._without_seen()
        for parameter, values in (grid or {}).items():
            if parameter == "horizon" and rounds is not None:
                raise SimulationError("the horizon is given twice: by a grid and as rounds; leave one out")
            for value in values:
                changed = loaded if parameter == "horizon" else loaded.with_number(parameter, value)
                length = _whole("horizon", value, 1) if parameter == "horizon" else rounds
                yield _case(name, changed, length, (parameter, float(value)))
        if grid is None:
            yield _case(name, loaded, rounds, None)


def _case(name: str, problem: Problem, rounds: int | None, parameter: tuple[str, float] | None) -> Case:
    source = problem.source()
    # An instance has the horizon of the simulation.
    own = problem.horizon if source.startswith("{") else None
    return Case(name, source, rounds if rounds is not None else own or DEFAULT_ROUNDS, parameter)


def _name(problem: Problems, place: int) -> str:
    if isinstance(problem, Problem):
        _, form, named, _, _ = problem._origin
        if form == "instance":
            return named
        return f"problem-{place + 1}" if named == "the problem" else os.path.splitext(os.path.basename(named))[0]
    written = os.fspath(problem)
    return os.path.splitext(os.path.basename(written))[0] if os.path.exists(written) else written


def _play_here(cells: list[Cell], threads: int, progress: bool | None) -> list[Arrays]:
    """On threads of this process: the engine works without the interpreter's lock."""
    from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

    stop = _outlay.Stop()
    parts = chunks(cells, threads)
    done: list[list[tuple[Chunk, Arrays]]] = [[] for _ in cells]
    with ThreadPoolExecutor(max(1, threads)) as pool, Bar("replications", sum(part.count for part in parts), progress) as bar:
        waiting: dict[Future[Arrays], Chunk] = {
            pool.submit(play_chunk, cells[part.cell], part.first, part.count, stop): part for part in parts
        }
        try:
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    part = waiting.pop(future)
                    done[part.cell].append((part, future.result()))
                    bar.step(part.count)
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [put_together(parts) for parts in done]


class Result:
    """The results of a simulation: iterates over the summaries, one per problem.

    Attributes
    ----------
    summaries : list of dict
        For each problem, what ``outlay simulate --format json`` writes: means with intervals, quantiles, curves over time.
    arrays : list of list of dict
        ``arrays[problem][learner]`` has every replication, one row each.

    Examples
    --------
    >>> from outlay import simulate
    >>> result = simulate("power", ["kl-ucb-plus", "uniform"], rounds=100, replications=3)
    >>> [learner["learner"] for learner in result.summaries[0]["learners"]], result.arrays[0][1]["regret"].shape
    (['kl-ucb-plus', 'uniform'], (3,))
    """

    summaries: list[dict[str, Any]]
    arrays: list[list[Arrays]]

    def __init__(
        self,
        summaries: list[dict[str, Any]],
        arrays: list[list[Arrays]],
        cases: Sequence[Case] = (),
        learners: Sequence[AnyLearner] = (),
        seed: int = 1,
        replications: int = 0,
        feedback: str | None = None,
    ) -> None:
        self.summaries, self.arrays = summaries, arrays
        self.cases, self.learners, self.seed, self.count, self.feedback = list(cases), list(learners), seed, replications, feedback

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.summaries)

    def __len__(self) -> int:
        return len(self.summaries)

    @classmethod
    def _of(
        cls,
        cases: Sequence[Case],
        learners: Sequence[AnyLearner],
        seed: int,
        replications: int,
        feedback: str | None,
        arrays: list[list[Arrays]],
    ) -> Result:
        summaries = [
            json.loads(
                _outlay.summarise(
                    case.problem, case.name, case.parameter, list(learners), case.rounds, seed, replications, feedback, played
                )
            )
            for case, played in zip(cases, arrays)
        ]
        return cls(summaries, arrays, cases, learners, seed, replications, feedback)

    def frame(self, library: str | None = None) -> Any:
        """One row per problem and learner, as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            By default pandas if it is installed, else polars.

        Returns
        -------
        DataFrame
            The columns of ``results.csv``.

        Raises
        ------
        MissingLibraryError
            If the library is not installed.

        Examples
        --------
        >>> from outlay import simulate
        >>> len(simulate("power", "uniform", rounds=10, replications=3).frame()) > 0
        True
        """
        from .display import result_rows, frame

        return frame(result_rows(self), library)

    def replications(self, library: str | None = None) -> Any:
        """One row per replication, as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            By default pandas if it is installed, else polars.

        Returns
        -------
        DataFrame
            Seed, regret and completions of each replication.

        Raises
        ------
        MissingLibraryError
            If the library is not installed.

        Examples
        --------
        >>> from outlay import simulate
        >>> len(simulate("power", "uniform", rounds=10, replications=3).replications()) > 0
        True
        """
        from .display import replication_rows, frame

        return frame(replication_rows(self), library)

    def curves(self, library: str | None = None) -> Any:
        """One row per point of each curve of regret over time, as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            By default pandas if it is installed, else polars.

        Returns
        -------
        DataFrame
            The columns of ``curves.csv``.

        Raises
        ------
        MissingLibraryError
            If the library is not installed.

        Examples
        --------
        >>> from outlay import simulate
        >>> len(simulate("power", "uniform", rounds=10, replications=3).curves()) > 0
        True
        """
        from .display import curve_rows, frame

        return frame(curve_rows(self), library)

    def plot(self, axes: Any = None, *, log: bool = False) -> Any:
        """Draws the mean regret over time with its 95 % interval, one line per learner; needs matplotlib.

        Parameters
        ----------
        axes : matplotlib.axes.Axes, optional
            Where to draw; by default new axes.
        log : bool
            Use a logarithmic axis for the regret too; rounds always have one.

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
        >>> from outlay import simulate
        >>> axes = simulate("power", "uniform", rounds=10, replications=3).plot()
        """
        from .plotting import regret_plot

        return regret_plot(self, axes, log)

    def report(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Writes an HTML report with figures, as ``outlay simulate`` does.

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
        >>> from outlay import simulate
        >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
        >>> simulate("power", rounds=100, replications=3).report(path)
        >>> os.path.exists(path)
        True
        """
        from .reports import simulation_report

        simulation_report(self, path, title)

    def __repr__(self) -> str:
        from .display import result_text

        return result_text(self)

    def _repr_html_(self) -> str:
        from .display import result_html

        return result_html(self)
