"""Learners: policies that choose the next allocation from the outcomes so far."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Protocol

from . import _outlay
from ._outlay import Counts
from .curves import plain
from .errors import LearnerError, StateError
from .files import read_text, write_file
from .problem import Problem
from .results import Tabular

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["DecisionPolicy", "IndexPolicy", "Learner", "LearnerSpec"]

#: The `form` of a saved learner.
FORM = "outlay learner"


class LearnerSpec(str):
    """A built-in learner with its parameters.

    Parameters
    ----------
    name : str
        The name of the learner, such as ``"epsilon-greedy"``.
    **parameters : float
        Its parameters.

    Examples
    --------
    >>> from outlay import LearnerSpec, simulate
    >>> LearnerSpec("epsilon-greedy", epsilon=0.05)
    'epsilon-greedy:epsilon=0.05'
    >>> result = simulate("power", [LearnerSpec("epsilon-greedy", epsilon=0.05)], rounds=100, replications=2)
    """

    __slots__ = ()

    def __new__(cls, name: str, **parameters: float) -> LearnerSpec:
        words = [f"{key}={_parameter(key, value)}" for key, value in parameters.items()]
        if not words:
            return super().__new__(cls, name)
        return super().__new__(cls, f"{name}{',' if ':' in name else ':'}{','.join(words)}")


class IndexPolicy(Protocol):
    """A learner of your own that gives every task a weight; the oracle finds the best allocation for the weights.

    Any class with this method can be passed to `Learner` and `simulate`. Optional attributes and methods:

    - ``name`` (str): by default the name of the class;
    - ``feedback`` (str): ``"censored"`` (the default), ``"full"`` or ``"bandit"``;
    - ``start(problem, horizon, seed)``: called once before the first round;
    - ``observe(task, spend, completed, reward)``: called with every outcome; ``reward`` is None if it is unknown;
    - ``observe_gain(round, spend, success, gain)``: called in its place under bandit feedback;
    - ``save()`` and ``load(state)``: the state as plain data, if it consists of more than counts.

    Examples
    --------
    >>> import numpy as np
    >>> from outlay import simulate
    >>> class Optimist:
    ...     def index(self, counts, round):
    ...         return (counts.reward_sum + 1) / (counts.completions + 1)
    >>> result = simulate("power", ["kl-ucb-plus", Optimist], rounds=100, replications=4)
    >>> [learner["learner"] for learner in result.summaries[0]["learners"]]
    ['kl-ucb-plus', 'Optimist']
    """

    def index(self, counts: Counts, round: int, /) -> ArrayLike:
        """The weight of each task in a round, in the unit of the rewards.

        Parameters
        ----------
        counts : Counts
            Completions and rewards so far.
        round : int
            The round, counted from 1.

        Returns
        -------
        array_like of float
            One finite weight of at least 0 per task.

        Examples
        --------
        >>> from outlay import Learner, Problem
        >>> class Even:
        ...     def index(self, counts, round):
        ...         return [1.0] * len(counts)
        >>> Learner(Problem.load("square-roots:means=0.6;0.8"), Even).allocate().spend.round(9).tolist()
        [0.5, 0.5]
        """
        ...


class DecisionPolicy(Protocol):
    """A learner of your own that chooses the allocation itself.

    Any class with this method can be passed to `Learner` and `simulate`; the optional attributes and methods are those of
    `IndexPolicy`.

    Examples
    --------
    >>> import numpy as np
    >>> from outlay import simulate
    >>> class Even:
    ...     def decide(self, counts, round, budget, available):
    ...         return np.full(len(counts), budget / len(counts))
    >>> result = simulate("power", ["uniform", Even], rounds=50, replications=2)
    >>> mine, builtin = (learner["regret"]["mean"] for learner in result.summaries[0]["learners"])
    >>> mine == builtin
    True
    """

    def decide(self, counts: Counts, round: int, budget: float, available: NDArray[np.bool_] | None, /) -> ArrayLike:
        """The spend of each task in a round.

        Parameters
        ----------
        counts : Counts
            Completions and rewards so far.
        round : int
            The round, counted from 1.
        budget : float
            The budget of the round.
        available : numpy.ndarray of bool or None
            Which tasks are available; None if all are.

        Returns
        -------
        array_like of float
            One spend per task, together at most the budget.

        Examples
        --------
        >>> from outlay import Learner, Problem
        >>> class First:
        ...     def decide(self, counts, round, budget, available):
        ...         return [budget] + [0.0] * (len(counts) - 1)
        >>> Learner(Problem.load("power:tasks=2"), First).allocate(budget=0.5).spend.tolist()
        [0.5, 0.0]
        """
        ...


AnyLearner = str | IndexPolicy | DecisionPolicy | type[IndexPolicy] | type[DecisionPolicy]


class Learner(Tabular, _outlay.Learner):
    """Chooses an allocation in every round and learns from the outcomes.

    `table` has the completions, the mean reward and the weight of each task.

    Parameters
    ----------
    problem : Problem
        The problem. The values of its tasks are not used.
    learner : str, IndexPolicy or DecisionPolicy
        A built-in learner by name, or a class or object of your own.
    horizon : int, optional
        The number of rounds, for learners that need it.
    feedback : str, optional
        What it observes: ``"censored"``, ``"full"`` or ``"bandit"``; by default what the learner needs.
    seed : int
        The seed of the learner's own random draws.
    max_change, floor, min_move : float, optional
        Guards: the largest change of a task's spend from round to round, the smallest spend, the smallest change.
    always_cold : bool
        Start every search cold, as in the service and the daily loop. An allocation then depends only on the observed
        outcomes, bit for bit. Otherwise a search starts from the last solution, which is faster.
    ignore_seen : bool
        Start without the completions that the tasks have ``seen``. By default the learner starts as if it had observed them.
    **parameters : float
        Parameters of a built-in learner.

    Raises
    ------
    LearnerError
        If the learner is unknown or does not fit the problem.

    Examples
    --------
    >>> from outlay import Learner, Power, Problem, Task
    >>> problem = Problem([Task("search", curve=Power(0.5)), Task("social", curve=Power(0.5))], budget=100)
    >>> learner = Learner(problem)
    >>> first = learner.allocate()
    >>> first.spend.round(6).tolist()
    [50.0, 50.0]
    >>> learner.observe(first, completed=[True, False], reward=[0.8, 0])
    >>> learner.rounds, learner.open_rounds
    (1, 0)
    >>> Learner(problem, "epsilon-greedy", epsilon=0.2).learner
    'epsilon-greedy:epsilon=0.2'
    """

    #: The learner as given, if it is not a name.
    _own: Any

    def __new__(
        cls,
        problem: Problem,
        learner: AnyLearner = "kl-ucb-plus",
        horizon: int | None = None,
        *,
        feedback: str | None = None,
        seed: int = 1,
        max_change: float | None = None,
        floor: float | None = None,
        min_move: float | None = None,
        always_cold: bool = False,
        ignore_seen: bool = False,
        **parameters: float,
    ) -> Learner:
        made = super().__new__(
            cls,
            _checked_problem(problem),
            _with_parameters(learner, parameters),
            horizon,
            feedback=feedback,
            seed=seed,
            max_change=max_change,
            floor=floor,
            min_move=min_move,
            always_cold=always_cold,
            ignore_seen=ignore_seen,
        )
        made._own = None if isinstance(learner, str) else learner
        return made

    @property
    def problem(self) -> Problem:
        """The problem."""
        return Problem.from_json(self._problem_json())

    def to_json(self) -> str:
        """The problem and the state of the learner, as JSON. A loaded learner continues bit for bit.

        Returns
        -------
        str
            A JSON document.

        Raises
        ------
        StateError
            If a learner of your own observes outcomes and has no methods ``save`` and ``load``.

        Examples
        --------
        >>> from outlay import Learner, Problem
        >>> learner = Learner(Problem.load("power"))
        >>> Learner.from_json(learner.to_json()).learner
        'kl-ucb-plus'
        """
        own = self._own
        observes = any(hasattr(own, method) for method in ("observe", "observe_gain"))
        if observes and not (hasattr(own, "save") and hasattr(own, "load")):
            raise StateError(f"learner {self.learner}: define save() and load(state) to save it")
        record = {
            "form": FORM,
            "version": 1,
            "always_cold": self.always_cold,
            "problem": json.loads(self._problem_json()),
            "state": json.loads(self.state()),
        }
        return json.dumps(record)

    @classmethod
    def from_json(cls, text: str, learner: AnyLearner | None = None) -> Learner:
        """The learner that `to_json` wrote.

        Parameters
        ----------
        text : str
            The document.
        learner : IndexPolicy or DecisionPolicy, optional
            The class or object, if the learner is your own.

        Returns
        -------
        Learner
            The learner.

        Raises
        ------
        StateError
            If the document is not a saved learner or is damaged.

        Examples
        --------
        >>> from outlay import Learner, Problem
        >>> Learner.from_json(Learner(Problem.load("power")).to_json()).rounds
        0
        """
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
        try:
            made = super().__new__(
                cls,
                problem,
                str(state.get("learner", "")) if learner is None else learner,
                state.get("horizon"),
                feedback=state.get("feedback"),
                seed=state.get("seed", 1),
                # Files of earlier versions have the key `search_afresh`.
                always_cold=bool(record.get("always_cold", record.get("search_afresh"))),
                state=json.dumps(state),
            )
        except LearnerError as error:
            raise StateError(f"state: {error}; a learner of your own must be given as learner") from None
        made._own = None if learner is None or isinstance(learner, str) else learner
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the learner to a file. If that fails, the file is left unchanged.

        Parameters
        ----------
        path : path-like
            The file.

        Raises
        ------
        FileError
            If the file cannot be written.
        StateError
            As `to_json`.

        Examples
        --------
        >>> import os, tempfile
        >>> from outlay import Learner, Problem
        >>> path = os.path.join(tempfile.mkdtemp(), "learner.json")
        >>> Learner(Problem.load("power")).save(path)
        >>> Learner.load(path).rounds
        0
        """
        write_file(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str], learner: AnyLearner | None = None) -> Learner:
        """The learner that `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.
        learner : IndexPolicy or DecisionPolicy, optional
            The class or object, if the learner is your own.

        Returns
        -------
        Learner
            The learner.

        Raises
        ------
        FileError
            If the file cannot be read.
        StateError
            If the file is not a saved learner or is damaged.

        Examples
        --------
        >>> import os, tempfile
        >>> from outlay import Learner, Problem
        >>> path = os.path.join(tempfile.mkdtemp(), "learner.json")
        >>> Learner(Problem.load("power"), "thompson", seed=7).save(path)
        >>> Learner.load(path).seed
        7
        """
        return cls.from_json(read_text(os.fspath(path)), learner)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_json, (self.to_json(), self._own)

    def _columns(self) -> dict[str, list[Any]]:
        from .display import learner_columns

        return learner_columns(self)

    def __repr__(self) -> str:
        from .display import learner_text

        return learner_text(self)

    def _repr_html_(self) -> str:
        from .display import learner_html

        return learner_html(self)


def _checked_problem(problem: Problem) -> Problem:
    if not isinstance(problem, _outlay.Problem):
        raise LearnerError(f"problem: must be a Problem, not a {type(problem).__name__}: see Problem.load")
    return problem


def _with_parameters(learner: AnyLearner, parameters: dict[str, float]) -> AnyLearner:
    if not parameters:
        return learner
    if not isinstance(learner, str):
        raise LearnerError(f"{', '.join(parameters)}: only built-in learners have parameters; give yours to its class")
    return LearnerSpec(learner, **parameters)


def _parameter(key: str, value: Any) -> str:
    number = plain(value)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise LearnerError(f"{key}: must be a number, not {value!r}")
    return repr(number)
