"""The daily loop: a learner with a record of all rounds and outcomes, in the state file of the command line."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _outlay
from ._outlay import Round
from .errors import FileError
from .files import read_text, write_file
from .learner import LearnerSpec
from .problem import Problem
from .results import Tabular

if TYPE_CHECKING:
    from ._outlay import Values

__all__ = ["Amendment", "Ledger", "LedgerStatus", "TaskStatus"]

#: Seconds to wait for the lock of a state file.
LOCK_TIMEOUT = 30.0


@dataclass(frozen=True)
class TaskStatus:
    """The status of a task. Rewards are in the unit of the problem.

    Attributes
    ----------
    task : str
        Its name.
    retired : bool
        Whether an amendment has retired the task: it gets nothing any more.
    spend, share : float
        Its total spend, and the share of all spends (None before the first round).
    reported, completions : int
        The number of reported outcomes, and of completions among them.
    expected : float
        The number of completions that its curve predicts for the reported rounds.
    delivered : float
        The reported spend as a share of the allocated one (None if no spend was reported).
    proposed_max : float
        A ``max`` to consider, because the task does not spend its allocation (None if it does).
    gain, mean : float
        The total reward, and the mean reward of a completion (None before the first). Clipped rewards count as the largest one.
    clipped : int
        The number of outcomes whose reported reward is above the largest one.
    seen_completions, seen_mean : int, float
        The completions of the log that the learner started from, and their mean reward (None without a log).
    index, bonus : float
        The learner's index, and its difference from the mean (None if the learner has none).
    next : float
        Its spend in the next round with the budget of the problem (None if there is no such round or the task is retired).
    misfit : float
        None if the completions agree with the curve; else the probability of such a deviation if the curve is correct.
    """

    task: str
    retired: bool
    spend: float
    share: float | None
    reported: int
    completions: int
    expected: float
    delivered: float | None
    proposed_max: float | None
    gain: float
    clipped: int
    mean: float | None
    seen_completions: int | None
    seen_mean: float | None
    index: float | None
    bonus: float | None
    next: float | None
    misfit: float | None


@dataclass(frozen=True)
class Amendment:
    """The difference between the problem of a ledger and its amended form. It is false if there is none.

    Attributes
    ----------
    added, retired, returned : list of str
        The tasks that are new, that are retired now, and that were retired and are not any more.
    changed : list of dict
        The changed fields: ``task`` (None for a field of the problem), ``field``, ``old`` and ``new``.
    kept_seen : list of str
        The tasks whose ``seen`` differs and stays as it was, because the learner has started from it.

    Examples
    --------
    >>> from outlay import Ledger, Problem
    >>> ledger = Ledger(Problem.load("power:tasks=3"))
    >>> ledger.amend(Problem.load("power:tasks=2")).retired
    ['task-3']
    >>> bool(ledger.amend(Problem.load("power:tasks=2")))
    False
    """

    added: list[str]
    retired: list[str]
    returned: list[str]
    changed: list[dict[str, Any]]
    kept_seen: list[str]

    def __bool__(self) -> bool:
        return bool(self.added or self.retired or self.returned or self.changed)


@dataclass(frozen=True)
class LedgerStatus(Tabular):
    """The status of a daily loop: iterates over `TaskStatus`, and `table` has the attributes of these as columns.

    Attributes
    ----------
    rounds : int
        The number of issued rounds.
    cancelled : list of int
        The cancelled rounds.
    open : list of (int, int)
        Rounds with missing outcomes, each with their number.
    spend, gain : float
        The total spend and reward.
    clipped : int
        The number of outcomes whose reported reward is above the largest one.
    tasks : list of TaskStatus
        One entry per task.
    warnings : list of str
        Completions that contradict a curve, and tasks that do not spend their allocation.

    Examples
    --------
    >>> from outlay import Ledger, Problem
    >>> status = Ledger(Problem.load("power")).status()
    >>> status.rounds, status.tasks[0].task, status.warnings
    (0, 'task-1', [])
    """

    rounds: int
    cancelled: list[int]
    open: list[tuple[int, int]]
    spend: float
    gain: float
    clipped: int
    tasks: list[TaskStatus]
    warnings: list[str]
    #: The lines below the table.
    summary: list[str] = field(repr=False)
    #: The state of the ledger, from which the report is made.
    _state: str = field(repr=False, compare=False)

    def __iter__(self) -> Iterator[TaskStatus]:
        return iter(self.tasks)

    def _columns(self) -> dict[str, list[Any]]:
        return {key: [getattr(task, key) for task in self.tasks] for key in TaskStatus.__dataclass_fields__}

    def report(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Writes the HTML report, as ``outlay status --report``: the next allocation with the learner's estimates.

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
        >>> from outlay import Ledger, Problem
        >>> path = os.path.join(tempfile.mkdtemp(), "status.html")
        >>> Ledger(Problem.load("power")).status().report(path)
        >>> os.path.exists(path)
        True
        """
        write_file(path, _outlay.Ledger(None, None, self._state)._page(title or "Status"))

    def __repr__(self) -> str:
        from .display import status_text

        return status_text(self)


@dataclass(frozen=True)
class _Settings:
    """The settings of a ledger, as the engine takes them."""

    learner: str
    horizon: int | None
    seed: int
    max_change: float | None
    floor: float | None
    min_move: float | None
    ignore_seen: bool


@dataclass(frozen=True)
class _AskedRound:
    """A request for a round, as the engine takes it."""

    budget: float | None
    without: list[str]
    key: str | None
    unit: float | None
    scale: Any
    volume: Any


class Ledger(_outlay.Ledger):
    """A learner that keeps the whole history of its rounds: the daily loop of ``outlay new``, ``next``, ``tell``, ``status`` and ``undo``.

    Repeated outcomes count once, contradictions are rejected, the last report can be undone, and completions are compared with the
    curves. The file of a ledger is the state file of the command line.

    Parameters
    ----------
    problem : Problem
        The problem.
    learner : str
        A built-in learner.
    horizon : int, optional
        The number of rounds, for learners that need it.
    seed : int
        The seed of the learner's own random draws.
    max_change, floor, min_move : float, optional
        Guards, as in `Learner`.
    ignore_seen : bool
        Start without the completions that the tasks have ``seen``. By default the learner starts as if it had observed them.
    **parameters : float
        Parameters of the learner.

    Raises
    ------
    LearnerError
        If the learner or the guards do not fit the problem.

    Examples
    --------
    >>> from outlay import Ledger, Power, Problem, Task
    >>> problem = Problem([Task("search", curve=Power(0.5)), Task("social", curve=Power(0.5))], budget=100)
    >>> ledger = Ledger(problem)
    >>> first = ledger.next(key="2026-11-18")
    >>> ledger.report(first, {"search": True, "social": False}, {"search": 0.8})
    (2, 0)
    >>> ledger.status().tasks[0].completions
    1
    >>> ledger.undo()
    2
    """

    def __new__(
        cls,
        problem: Problem,
        learner: str = "kl-ucb-plus",
        horizon: int | None = None,
        *,
        seed: int = 1,
        max_change: float | None = None,
        floor: float | None = None,
        min_move: float | None = None,
        ignore_seen: bool = False,
        **parameters: float,
    ) -> Ledger:
        spec = LearnerSpec(learner, **parameters)
        return super().__new__(cls, problem, _Settings(spec, horizon, seed, max_change, floor, min_move, ignore_seen))

    @property
    def problem(self) -> Problem:
        """The problem."""
        return Problem.from_json(self._problem_json())

    def next(
        self,
        budget: float | None = None,
        *,
        without: str | Iterable[str] = (),
        scale: Values | None = None,
        volume: Values | None = None,
        key: str | None = None,
        round: float | None = None,
    ) -> Round:
        """Issues the next round.

        Parameters
        ----------
        budget : float, optional
            The budget of the round; by default that of the problem.
        without : str or iterable of str
            Tasks that are not available.
        scale, volume : mapping, sequence of float or Series, optional
            The scale of each task's curve and its volume in this round, as in `Learner.allocate`.
        key : str, optional
            A key such as a date, for jobs that may run twice: a second call with the same key returns the same round, without its
            certificate. It must have the same budget, tasks, scales and volumes.
        round : float, optional
            Round the spends to multiples of this.

        Returns
        -------
        Round
            The spend of each task; ``guards`` has the costs of the guards.

        Raises
        ------
        AllocationError
            If a task is unknown, a scale or volume is invalid, the budget does not cover the lower bounds, or the round of the key was
            asked for differently. No round is issued then.

        Examples
        --------
        >>> from outlay import Ledger, Problem
        >>> ledger = Ledger(Problem.load("power"))
        >>> ledger.next(without="task-1", key="monday").spend[0].item()
        0.0
        >>> ledger.next(without="task-1", key="monday").round
        1
        """
        names = [without] if isinstance(without, str) else list(without)
        return self._next(_AskedRound(budget, names, key, round, scale, volume))

    def show(self, round: Round | int) -> Round:
        """A round that was issued before, with its spends. The rest of its certificate is not on record.

        Parameters
        ----------
        round : Round or int
            The round or its number.

        Returns
        -------
        Round
            The round, with its ``key`` and whether it was ``cancelled``.

        Raises
        ------
        ObservationError
            If the round was never issued.

        Examples
        --------
        >>> from outlay import Ledger, Problem
        >>> ledger = Ledger(Problem.load("power"))
        >>> issued = ledger.next(key="monday")
        >>> ledger.show(1).key, (ledger.show(1).spend == issued.spend).all().item()
        ('monday', True)
        """
        return self._show(round)

    def cancel(self, round: Round | int) -> None:
        """Cancels a round that was not played. It keeps its number, takes no outcomes, and its key is free again.

        Parameters
        ----------
        round : Round or int
            The round or its number.

        Raises
        ------
        ObservationError
            If the round was never issued, is already cancelled or has outcomes.

        Examples
        --------
        >>> from outlay import Ledger, Problem
        >>> ledger = Ledger(Problem.load("power"))
        >>> ledger.cancel(ledger.next())
        >>> ledger.status().cancelled, ledger.open_rounds
        ([1], 0)
        """
        self._cancel(round)

    def report(
        self, round: Any, completed: Any = None, reward: Any = None, *, completions: Any = None, spend: Any = None
    ) -> tuple[int, int]:
        """Records outcomes, all of them or, if one is invalid, none.

        Parameters
        ----------
        round : Round, int or DataFrame
            The round or its number; or a data frame with the columns round, task, completed (or completions), reward and, if known,
            spend. Rows without completions are skipped, because their outcome is not known yet.
        completed : mapping, sequence of bool, Series or DataFrame, optional
            Whether each task completed: from names, which may be some of the tasks; in the order of the tasks; or a data frame
            without rounds.
        reward : mapping, sequence of float or Series, optional
            The reward of each completed task; with completions, the sum of the rewards.
        completions : mapping, sequence of int, Series or DataFrame, optional
            In place of completed: how often each task completed.
        spend : mapping, sequence of float or Series, optional
            The amounts that were really spent; by default as allocated.

        Returns
        -------
        new, repeated : int
            The number of new outcomes, and of those that were reported before, identically.

        Raises
        ------
        ObservationError
            If an outcome is impossible or contradicts an earlier report.

        Examples
        --------
        >>> from outlay import Exponential, Ledger, Problem, Task
        >>> tasks = [Task(name, curve=Exponential(scale=40), volume=30) for name in ("search", "social")]
        >>> ledger = Ledger(Problem(tasks, budget=100, reward_max=50))
        >>> today = ledger.next()
        >>> ledger.report(today, completions={"search": 24}, reward={"search": 410.5}, spend={"search": 38})
        (1, 0)
        >>> ledger.report(1, completions={"search": 24, "social": 0}, reward={"search": 410.5})
        (1, 1)
        """
        new, repeated, _ = self._report(round, completed, reward, completions, spend, False)
        return new, repeated

    def revise(
        self, round: Any, completed: Any = None, reward: Any = None, *, completions: Any = None, spend: Any = None
    ) -> tuple[int, int, int]:
        """Records outcomes as `report`, but outcomes that contradict earlier ones replace them.

        The learner is then as if the corrected outcomes had been reported at first; issued rounds do not change. `undo` brings the
        earlier outcomes back.

        Parameters
        ----------
        round, completed, reward, completions, spend
            As in `report`. A spend that is omitted stays as it was.

        Returns
        -------
        new, repeated, revised : int
            The number of new outcomes, of those that were reported before, and of those that replaced earlier ones.

        Raises
        ------
        ObservationError
            If an outcome is impossible.

        Examples
        --------
        >>> from outlay import Ledger, Problem
        >>> ledger = Ledger(Problem.load("power"))
        >>> _ = ledger.report(ledger.next(), {"task-1": False})
        >>> ledger.revise(1, {"task-1": True}, {"task-1": 0.5})
        (0, 0, 1)
        """
        return self._report(round, completed, reward, completions, spend, True)

    def amend(self, problem: Problem) -> Amendment:
        """Replaces the problem by another one, as ``outlay amend``; the learner keeps what it has learned.

        Tasks are matched by name. Tasks that the new problem lacks are retired: they get nothing in later rounds. Issued rounds keep
        their spends and curves, and their outcomes can still be reported. `undo` reverts an amendment until the next round is issued.

        Parameters
        ----------
        problem : Problem
            The new problem, with all tasks that are to stay.

        Returns
        -------
        Amendment
            The difference.

        Raises
        ------
        LearnerError
            If ``reward_max`` decreases, or the learner or the guards do not fit the new problem. Nothing changes then.

        Examples
        --------
        >>> from outlay import Exponential, Ledger, Problem, Task
        >>> search, radio, video = (Task(name, curve=Exponential(scale=40)) for name in ("search", "radio", "video"))
        >>> ledger = Ledger(Problem([search, radio], budget=100))
        >>> _ = ledger.next()
        >>> difference = ledger.amend(Problem([search, video], budget=120))
        >>> difference.added, difference.retired, difference.changed
        (['video'], ['radio'], [{'task': None, 'field': 'budget', 'old': 100.0, 'new': 120.0}])
        >>> ledger.names, ledger.next().spend.tolist()[1]
        (['search', 'radio', 'video'], 0.0)
        """
        found = json.loads(self._amend(problem))
        found["changed"] = [{"task": None, **change} for change in found["changed"]]
        return Amendment(**found)

    def undo(self) -> int:
        """Undoes the last report that had new outcomes, or an amendment after it, if no round was issued since.

        Returns
        -------
        int
            The number of outcomes that were removed; 0 for an amendment.

        Raises
        ------
        ObservationError
            If there is neither.

        Examples
        --------
        >>> from outlay import Ledger, Problem
        >>> ledger = Ledger(Problem.load("power"))
        >>> _ = ledger.report(ledger.next(), {"task-1": True}, {"task-1": 0.5})
        >>> ledger.undo()
        1
        """
        return self._undo()

    def status(self) -> LedgerStatus:
        """Spends, rewards, open rounds, and whether the completions agree with the curves.

        Returns
        -------
        LedgerStatus
            The status.

        Raises
        ------
        StateError
            If the ledger is damaged.

        Examples
        --------
        >>> from outlay import Ledger, Problem
        >>> ledger = Ledger(Problem.load("power"))
        >>> _ = ledger.next()
        >>> ledger.status().open
        [(1, 5)]
        """
        found = json.loads(self._status())
        tasks = [TaskStatus(**task) for task in found.pop("tasks")]
        found["open"] = [(number, waiting) for number, waiting in found["open"]]
        return LedgerStatus(**found, tasks=tasks, _state=self.to_json())

    @classmethod
    def from_json(cls, text: str) -> Ledger:
        """The ledger of a state.

        Parameters
        ----------
        text : str
            The state, as `to_json` and the command line write it.

        Returns
        -------
        Ledger
            The ledger.

        Raises
        ------
        StateError
            If the text is not a state or is damaged.

        Examples
        --------
        >>> from outlay import Ledger, Problem
        >>> Ledger.from_json(Ledger(Problem.load("power")).to_json()).rounds
        0
        """
        return super().__new__(cls, None, None, text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Ledger:
        """The ledger of a state file, which the command line or `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        Ledger
            The ledger.

        Raises
        ------
        FileError
            If the file cannot be read.
        StateError
            If the file is not a state or is damaged.

        Examples
        --------
        >>> import os, tempfile
        >>> from outlay import Ledger, Problem
        >>> path = os.path.join(tempfile.mkdtemp(), "state.json")
        >>> Ledger(Problem.load("power")).save(path)
        >>> Ledger.load(path).learner
        'kl-ucb-plus'
        """
        return cls.from_json(read_text(os.fspath(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the state file. If that fails, the file is left unchanged.

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
        >>> from outlay import Ledger, Problem
        >>> path = os.path.join(tempfile.mkdtemp(), "state.json")
        >>> Ledger(Problem.load("power")).save(path)
        >>> os.path.exists(path)
        True
        """
        write_file(path, self.to_json())

    @classmethod
    @contextmanager
    def open(cls, path: str | os.PathLike[str]) -> Iterator[Ledger]:
        """Locks a state file, loads it, and saves it at the end unless an exception is raised.

        The lock is that of the command line, so both can work on the same file at the same time.

        Parameters
        ----------
        path : path-like
            The file.

        Yields
        ------
        Ledger
            The ledger.

        Raises
        ------
        FileError
            If the file cannot be read or written, or stays locked for 30 seconds.
        StateError
            If the file is not a state or is damaged.

        Examples
        --------
        >>> import os, tempfile
        >>> from outlay import Ledger, Problem
        >>> path = os.path.join(tempfile.mkdtemp(), "state.json")
        >>> Ledger(Problem.load("power")).save(path)
        >>> with Ledger.open(path) as ledger:
        ...     issued = ledger.next()
        >>> Ledger.load(path).rounds
        1
        """
        cls.load(path)
        with _locked(os.fspath(path)):
            ledger = cls.load(path)
            yield ledger
            ledger.save(path)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(),)

    def __repr__(self) -> str:
        return repr(self.status())


@contextmanager
def _locked(path: str) -> Iterator[None]:
    try:
        import fcntl
    except ImportError as error:
        raise FileError(f"cannot lock {path}: files can be locked on Unix only; use load and save") from error
    try:
        file = open(path + ".lock", "w", encoding="utf-8")
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}") from error
    with file:
        started = time.monotonic()
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() - started > LOCK_TIMEOUT:
                    raise FileError(f"{path}: another process has locked it for {LOCK_TIMEOUT:.0f} s; try again") from None
                time.sleep(0.02)
        yield
