"""A learner at work: splits out, outcomes in, as late and in whatever order they come."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from . import _outlay
from .errors import FileError, StateError
from .problem import Problem, _text

__all__ = ["Learner"]

#: What a file of a saved learner is called inside.
FORM = "outlay learner"


class Learner(_outlay.Learner):
    """Decides round by round what each task gets, and learns from what comes back.

    ``learner`` is one by name: ``"kl-ucb-plus"``, ``"algorithm-1"``, ``"epsilon-greedy:epsilon=0.1"``. ``horizon`` is the number of rounds, for those
    that must know it. ``max_change``, ``floor`` and ``min_move`` hold every split within guards. With ``always_cold`` every split is
    searched without the result of the last one, as in the service and the daily loop: it then depends only on what was observed,
    to the last bit.

    >>> from outlay import Learner, Power, Problem, Task
    >>> problem = Problem([Task("search", curve=Power(0.5)), Task("social", curve=Power(0.5))], budget=100)
    >>> learner = Learner(problem)
    >>> round = learner.allocate()
    >>> round.spend.round(6).tolist()
    [50.0, 50.0]
    >>> learner.observe(round, completed=[True, False], reward=[0.8, 0])
    >>> learner.rounds, learner.open_rounds
    (1, 0)
    """

    @property
    def problem(self) -> Problem:
        """The problem it was made for."""
        return Problem.from_json(self.problem_json())

    def to_json(self) -> str:
        """Everything: the problem, and the library's saved state. A learner that is loaded goes on to the last bit."""
        record = {
            "form": FORM,
            "version": 1,
            "always_cold": self.always_cold,
            "problem": json.loads(self.problem_json()),
            "state": json.loads(self.state()),
        }
        return json.dumps(record)

    @classmethod
    def from_json(cls, text: str) -> Learner:
        """The learner that ``to_json`` wrote."""
        try:
            record = json.loads(text)
        except ValueError as error:
            raise StateError(f"state: is not JSON: {error}") from error
        if not isinstance(record, dict) or record.get("form") != FORM:
            raise StateError("state: is not a saved learner")
        if record.get("version") != 1:
            raise StateError(f"state: unsupported version {record.get('version')}, expected 1: a newer outlay wrote it")
        if not isinstance(record.get("problem"), dict) or not isinstance(record.get("state"), dict):
            raise StateError("state: has no problem or no state")
        problem, state = Problem.from_json(json.dumps(record["problem"])), record["state"]
        return cls(
            problem,
            str(state.get("learner", "")),
            state.get("horizon"),
            feedback=state.get("feedback"),
            seed=state.get("seed", 1),
            # Files of earlier versions say `search_afresh`.
            always_cold=bool(record.get("always_cold", record.get("search_afresh"))),
            state=json.dumps(state),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the learner to a file: all of it or, if that fails, nothing."""
        target = Path(path)
        beside = target.with_name(target.name + ".part")
        try:
            beside.write_text(self.to_json(), encoding="utf-8")
            os.replace(beside, target)
        except OSError as error:
            raise FileError(f"cannot write {os.fspath(path)}: {error.strerror}") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Learner:
        """The learner that ``save`` wrote."""
        return cls.from_json(_text(os.fspath(path)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(),)

    def table(self, library: str | None = None) -> Any:
        """What is known of each task, as a data frame: pandas if it is installed, else polars."""
        from .showing import frame, learner_columns

        return frame(learner_columns(self), library)

    def __repr__(self) -> str:
        from .showing import learner_text

        return learner_text(self)

    def _repr_html_(self) -> str:
        from .showing import learner_html

        return learner_html(self)
