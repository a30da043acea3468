"""Problems: a budget per round and tasks with their curves. The keys of problem files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from . import _outlay
from ._outlay import Allocation, Evaluation
from .curves import Curve, plain
from .errors import FileError, ProblemError
from .progress import Bar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Values = Mapping[str, float] | ArrayLike

__all__ = ["Frontier", "Problem", "Task"]

#: Problems by name, as the command line knows them.
INSTANCES = ("power", "square-roots", "m-set", "k-armed", "saturating-jobs", "theorem-2", "theorem-4", "unknown-thresholds")


@dataclass(frozen=True)
class Task:
    """A task, with the keys of ``[[task]]`` in a problem file; what is left out is not there.

    ``curve`` is a curve of this package, or a mapping as in a file; ``reward`` is a mapping such as
    ``{"law": "bernoulli", "mean": 0.6}``.
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

    def to_dict(self, budget: float = 1.0) -> dict[str, Any]:
        """The task as a problem file has it."""
        written: dict[str, Any] = {key: plain(value) for key, value in vars(self).items() if key != "curve"}
        if isinstance(self.curve, Curve):
            written["curve"] = self.curve.to_dict(budget)
        elif self.curve is not None:
            written["curve"] = plain(self.curve)
        if written["max"] == math.inf:
            written["max"] = None
        return {key: value for key, value in written.items() if value is not None}


class Problem(_outlay.Problem):
    """What is to be decided: a budget per round and tasks with their curves. Checked when it is made, every error at once.

    >>> from outlay import Hill, Power, Problem, Task
    >>> problem = Problem(
    ...     tasks=[Task("tv", curve=Hill(half_at=120, steepness=2.5), value=0.6, min=20), Task("web", curve=Power(0.5), value=0.4)],
    ...     budget=1000,
    ... )
    >>> best = problem.allocate()
    >>> best.status, best.spend.sum().round(6).item()
    ('optimal', 1000.0)

    ``tasks`` may also be ``{"file": "tasks.csv"}``, one row a task. The other keys are those of a problem file: ``horizon``,
    ``reward_max``, ``leftover``, ``environment``.
    """

    _origin: tuple[str, str, str, str, tuple[tuple[str, float], ...]]

    def __new__(
        cls,
        tasks: Iterable[Task | Mapping[str, Any]] | Mapping[str, Any],
        budget: float = 1.0,
        *,
        horizon: int | None = None,
        reward_max: float | None = None,
        leftover: str | None = None,
        environment: Mapping[str, Any] | None = None,
    ) -> Problem:
        budget = plain(budget)
        scale = float(budget) if isinstance(budget, (int, float)) else 1.0
        document: dict[str, Any] = {
            "budget": budget,
            "horizon": plain(horizon),
            "reward_max": plain(reward_max),
            "leftover": leftover,
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
        """The problem of a file, TOML or JSON by its name, or of an instance by name: ``Problem.load("m-set:tasks=10,plays=3")``."""
        written = os.fspath(path)
        if not os.path.exists(written) and written.split(":")[0] in INSTANCES:
            return cls._made(written, "instance", written, os.curdir)
        form = "json" if written.lower().endswith(".json") else "toml"
        return cls._made(read_text(written), form, written, os.path.dirname(written) or os.curdir)

    @classmethod
    def from_toml(cls, text: str) -> Problem:
        """The problem that a TOML document describes."""
        return cls._made(text, "toml", "the problem", os.curdir)

    @classmethod
    def from_json(cls, text: str) -> Problem:
        """The problem that a JSON document describes."""
        return cls._made(text, "json", "the problem", os.curdir)

    def to_dict(self) -> dict[str, Any]:
        """The problem with the keys of a problem file, all that was read from other files written out."""
        return dict(json.loads(self.to_json()))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the problem to a file, as JSON if its name ends in .json, else as TOML."""
        text = self.to_json() if os.fspath(path).lower().endswith(".json") else self.to_toml()
        try:
            Path(path).write_text(text, encoding="utf-8")
        except OSError as error:
            raise FileError(f"cannot write {os.fspath(path)}: {error.strerror}") from error

    def with_number(self, path: str, number: float) -> Problem:
        """The same problem with another number at a path: ``budget``, ``task[0].curve.exponent``, ``task[*].value``; of an instance, one
        of its parameters.

        >>> Problem.load("m-set").with_number("tasks", 5).names
        ['task-1', 'task-2', 'task-3', 'task-4', 'task-5']
        """
        text, form, place, folder, changes = self._origin
        return type(self)._made(text, form, place, folder, [*changes, (path, float(number))])

    def allocate(
        self,
        values: Values | None = None,
        budget: float | None = None,
        *,
        tolerance: float | None = None,
        round: float | None = None,
        leftover: str | None = None,
        threads: int | None = None,
    ) -> Allocation:
        """The best split of the budget, with a bound on how much better any split could be.

        values: what a success of each task is worth: one number a task, or a mapping from names that sets only some; the problem's own,
        if nobody says. round: spends in multiples of this, after solving. tolerance: the relative gap at which a search may stop.
        """
        return self._allocate(values, budget, Asked(tolerance, leftover, threads), round)

    def evaluate(
        self,
        plan: Values | None = None,
        values: Values | None = None,
        budget: float | None = None,
        *,
        tolerance: float | None = None,
        leftover: str | None = None,
    ) -> Evaluation:
        """What a plan is worth next to the best split. The plan is one spend a task, or a mapping from every name; without one, what the
        tasks' ``current`` says."""
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
        """The best split at each of ``points`` budgets from ``start`` to ``end`` (from a tenth to twice the problem's, if nobody says)."""
        with Bar("budgets", points, progress) as bar:
            found = self._frontier(values, (start, end), points, Asked(tolerance, leftover, None), bar.step)
        return Frontier(found)

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


class Frontier(Sequence[Allocation]):
    """Best splits of growing budgets: a sequence of allocations."""

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
        """The budgets."""
        return self._of("budget")

    @property
    def value(self) -> NDArray[np.float64]:
        """What each buys."""
        return self._of("value")

    @property
    def price(self) -> NDArray[np.float64]:
        """What one more unit of each is worth."""
        return self._of("price")

    def _of(self, key: str) -> NDArray[np.float64]:
        import numpy as np

        return np.array([getattr(point, key) for point in self._points], dtype=np.float64)

    def table(self, library: str | None = None) -> Any:
        """One row a budget, as a data frame: pandas if it is installed, else polars."""
        from .display import frontier_table

        return frontier_table(self, library)

    def __repr__(self) -> str:
        from .display import frontier_text

        return frontier_text(self)

    def _repr_html_(self) -> str:
        from .display import frontier_html

        return frontier_html(self)


def read_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise FileError(f"cannot read {path}: no such file") from error
    except PermissionError as error:
        raise FileError(f"cannot read {path}: permission denied") from error
    except IsADirectoryError as error:
        raise FileError(f"cannot read {path}: it is a directory") from error
    except UnicodeDecodeError as error:
        raise FileError(f"cannot read {path}: it is not UTF-8 text") from error


def _json(document: dict[str, Any]) -> str:
    """As JSON, which has no numbers but finite ones; the others are told with their places, all at once."""
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
