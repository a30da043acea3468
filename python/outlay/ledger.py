"""The daily loop: a learner with a record of all rounds and outcomes, in the state file of the command line."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import _outlay
from ._outlay import Round
from .errors import FileError, ObservationError
from .files import read_text, write_file
from .learner import LearnerSpec
from .problem import Problem

__all__ = ["Ledger", "LedgerStatus", "TaskStatus"]

#: Seconds to wait for the lock of a state file.
LOCK_TIMEOUT = 30.0


@dataclass(frozen=True)
class TaskStatus:
    """The status of a task. Rewards are in the unit of the problem.

    Attributes
    ----------
    task : str
        Its name.
    spend, share : float
        Its total spend, and the share of all spends (None before the first round).
    reported, completions : int
        The number of reported outcomes, and of completions among them.
    expected : float
        The number of completions that its curve predicts for the reported rounds.
    gain, mean : float
        The total reward, and the mean reward of a completion (None before the first).
    index, bonus : float
        The learner's index, and its difference from the mean (None if the learner has none).
    next : float
        Its spend in the next round with the budget of the problem (None if there is no such round).
    misfit : float
        None if the completions agree with the curve; else the probability of such a deviation if the curve is correct.
    """

    task: str
    spend: float
    share: float | None
    reported: int
    completions: int
    expected: float
    gain: float
    mean: float | None
    index: float | None
    bonus: float | None
    next: float | None
    misfit: float | None


@dataclass(frozen=True)
class LedgerStatus:
    """The status of a daily loop.

    Attributes
    ----------
    rounds : int
        The number of issued rounds.
    open : list of (int, int)
        Rounds with missing outcomes, each with their number.
    spend, gain : float
        The total spend and reward.
    tasks : list of TaskStatus
        One entry per task.
    """

    rounds: int
    open: list[tuple[int, int]]
    spend: float
    gain: float
    tasks: list[TaskStatus]

    def __iter__(self) -> Iterator[TaskStatus]:
        return iter(self.tasks)

    def table(self, library: str | None = None) -> Any:
        """One row per task, as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            By default pandas if it is installed, else polars.

        Returns
        -------
        DataFrame
            The attributes of `TaskStatus` as columns.

        Raises
        ------
        MissingLibraryError
            If the library is not installed.

        Examples
        --------
        >>> from outlay import Ledger, Problem
        >>> len(Ledger(Problem.load("power")).status().table())
        5
        """
        from .display import frame

        return frame({key: [getattr(task, key) for task in self.tasks] for key in TaskStatus.__dataclass_fields__}, library)

    def __repr__(self) -> str:
        from .display import status_text

        return status_text(self)


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
    >>> first = ledger.next()
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
        **parameters: float,
    ) -> Ledger:
        spec = LearnerSpec(learner, **parameters)
        return super().__new__(cls, problem, spec, horizon, seed, (max_change, floor, min_move))

    @property
    def problem(self) -> Problem:
        """The problem."""
        return Problem.from_json(self.problem_json())

    def next(self, budget: float | None = None, *, without: str | Iterable[str] = ()) -> Round:
        """Issues the next round.

        Parameters
        ----------
        budget : float, optional
            The budget of the round; by default that of the problem.
        without : str or iterable of str
            Tasks that are not available.

        Returns
        -------
        Round
            The spend of each task; ``guards`` has the costs of the guards.

        Raises
        ------
        AllocationError
            If a task is unknown, or the budget does not cover the lower bounds.

        Examples
        --------
        >>> from outlay import Ledger, Problem
        >>> Ledger(Problem.load("power")).next(without="task-1").spend[0].item()
        0.0
        """
        return self._next(budget, [without] if isinstance(without, str) else list(without))

    def report(self, round: Any, completed: Any = None, reward: Any = None) -> tuple[int, int]:
        """Records outcomes, all of them or, if one is invalid, none.

        Parameters
        ----------
        round : Round, int or DataFrame
            The round or its number; or a data frame with the columns round, task, completed and reward.
        completed : mapping or DataFrame, optional
            From names to whether the task completed; or a data frame with the columns task, completed and reward.
        reward : mapping, optional
            From names to rewards.

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
        >>> from outlay import Ledger, Problem
        >>> ledger = Ledger(Problem.load("power"))
        >>> issued = ledger.next()
        >>> ledger.report(issued, {"task-1": False}), ledger.report(1, {"task-1": False})
        ((1, 0), (0, 1))
        """
        if completed is None:
            return self._report(round)
        if hasattr(completed, "columns"):
            return self._report(completed, int(round))
        if not hasattr(completed, "items"):
            raise ObservationError("completed: must be a mapping from names, or a data frame")
        rewards = dict(reward or {})
        unknown = [name for name in rewards if name not in completed]
        if unknown:
            raise ObservationError(f"task {unknown[0]} has a reward, but completed does not name it")
        names = list(completed)
        columns = {
            "task": names,
            "completed": [completed[name] for name in names],
            "reward": [float(rewards.get(name, "nan")) for name in names],
        }
        return self._report(_Columns(columns), int(round))

    def undo(self) -> int:
        """Undoes the last report that had new outcomes.

        Returns
        -------
        int
            The number of outcomes that were removed.

        Raises
        ------
        ObservationError
            If there is no report.

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
        return LedgerStatus(**found, tasks=tasks)

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
        return super().__new__(cls, None, "", None, 1, (None, None, None), text)

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


class _Columns(dict[str, list[Any]]):
    """Columns with the interface of a data frame that the engine needs."""

    @property
    def columns(self) -> list[str]:
        return list(self)

    def __getitem__(self, title: str) -> Any:
        return _Column(super().__getitem__(title))


class _Column(list[Any]):
    def to_numpy(self) -> list[Any]:
        return list(self)


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
