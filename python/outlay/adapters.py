"""Interfaces of other libraries: bandits as in river and mabwiser, a fitted curve as a classifier of scikit-learn."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .curves import Threshold
from .errors import MissingLibraryError, ObservationError
from .learner import AnyLearner, Learner
from .problem import Problem, Task

if TYPE_CHECKING:
    from .classifier import CurveClassifier

__all__ = ["MAB", "CurveClassifier", "Policy"]


class Policy:
    """A bandit with the interface of river: ``pull`` an arm, ``update`` it with its reward.

    Every arm is a task that succeeds for the whole budget and for nothing less, so every round pays for one arm.

    Parameters
    ----------
    arms : sequence
        The arms: any hashable objects.
    learner : str or class
        The learner, as in `Learner`.
    reward_max : float
        The largest reward; rewards lie between 0 and this.
    seed : int
        The seed of the learner's own random draws.
    **options
        Further options and parameters of `Learner`.

    Examples
    --------
    >>> policy = Policy(["red", "blue"])
    >>> arm = policy.pull()
    >>> policy.update(arm, 1.0).learner.rounds
    1
    """

    def __init__(
        self, arms: Sequence[Hashable], learner: AnyLearner = "kl-ucb-plus", *, reward_max: float = 1.0, seed: int = 1, **options: Any
    ) -> None:
        self.arms = list(arms)
        self._position = {arm: position for position, arm in enumerate(self.arms)}
        tasks = [Task(f"arm-{position + 1}", curve=Threshold(at=1.0)) for position in range(len(self.arms))]
        self._problem = Problem(tasks, budget=1.0, reward_max=reward_max)
        self._options = {"learner": learner, "seed": seed, **options}
        self._reset()

    def _reset(self) -> None:
        self.learner = Learner(self._problem, **self._options)
        self._pulled: dict[Hashable, list[Any]] = {}

    def pull(self, arm_ids: Iterable[Hashable] | None = None) -> Any:
        """Chooses the next arm.

        Parameters
        ----------
        arm_ids : iterable, optional
            The available arms; by default all.

        Returns
        -------
        object
            The arm.

        Raises
        ------
        ObservationError
            If an arm is unknown.

        Examples
        --------
        >>> Policy(["red", "blue"]).pull(["blue"])
        'blue'
        """
        available = None if arm_ids is None else {self._known(arm) for arm in arm_ids}
        mask = None if available is None else [position in available for position in range(len(self.arms))]
        issued = self.learner.allocate(mask=mask)
        arm = self.arms[int(issued.spend.argmax())]
        self._pulled.setdefault(arm, []).append(issued)
        return arm

    def update(self, arm_id: Hashable, reward: float) -> Policy:
        """Reports the reward of an arm: of its oldest open pull, or of a pull that was decided elsewhere.

        Parameters
        ----------
        arm_id : object
            The arm.
        reward : float
            Its reward.

        Returns
        -------
        Policy
            This object.

        Raises
        ------
        ObservationError
            If the arm is unknown or the reward is out of range.

        Examples
        --------
        >>> Policy(["red", "blue"]).update("red", 0.5).learner.rounds
        1
        """
        position = self._known(arm_id)
        tried = [other == position for other in range(len(self.arms))]
        waiting = self._pulled.get(arm_id)
        issued = waiting[0] if waiting else self.learner.allocate(mask=tried)
        self.learner.observe(issued, tried, [float(reward) if was else 0.0 for was in tried])
        if waiting:
            waiting.pop(0)
        return self

    def _known(self, arm: Hashable) -> int:
        if arm not in self._position:
            raise ObservationError(f"arm: there is no arm {arm!r}")
        return self._position[arm]


class MAB(Policy):
    """A bandit with the interface of mabwiser: ``fit``, ``partial_fit``, ``predict`` and ``predict_expectations``.

    Parameters
    ----------
    arms, learner, reward_max, seed, **options
        As in `Policy`.

    Examples
    --------
    >>> bandit = MAB(["red", "blue"]).fit(["red", "blue"] * 50, [0, 1] * 50)
    >>> bandit.predict()
    'blue'
    """

    def fit(self, decisions: Iterable[Hashable], rewards: Iterable[float]) -> MAB:
        """Forgets everything and learns from these decisions.

        Parameters
        ----------
        decisions : iterable
            The arms that were tried.
        rewards : iterable of float
            Their rewards.

        Returns
        -------
        MAB
            This object.

        Raises
        ------
        ObservationError
            As `Policy.update`.

        Examples
        --------
        >>> MAB(["red", "blue"]).fit(["red"], [1.0]).learner.rounds
        1
        """
        self._reset()
        return self.partial_fit(decisions, rewards)

    def partial_fit(self, decisions: Iterable[Hashable], rewards: Iterable[float]) -> MAB:
        """Learns from further decisions.

        Parameters
        ----------
        decisions : iterable
            The arms that were tried.
        rewards : iterable of float
            Their rewards.

        Returns
        -------
        MAB
            This object.

        Raises
        ------
        ObservationError
            As `Policy.update`.

        Examples
        --------
        >>> MAB(["red", "blue"]).partial_fit(["red"], [1.0]).learner.rounds
        1
        """
        for arm, reward in zip(decisions, rewards, strict=True):
            self.update(arm, reward)
        return self

    def predict(self) -> Any:
        """The arm to try next. The object is not changed.

        Returns
        -------
        object
            The arm.

        Raises
        ------
        LearnerError
            If a learner of your own fails.

        Examples
        --------
        >>> bandit = MAB(["red", "blue"])
        >>> bandit.predict() == bandit.predict(), bandit.learner.rounds
        (True, 0)
        """
        return copy.deepcopy(self).pull()

    def predict_expectations(self) -> dict[Any, float]:
        """The index of each arm, by which the next one is chosen. The object is not changed.

        Returns
        -------
        dict
            From arms to indices, in the unit of the rewards.

        Raises
        ------
        ObservationError
            If the learner has no indices because it chooses arms itself.

        Examples
        --------
        >>> MAB(["red", "blue"]).predict_expectations()
        {'red': 1.0, 'blue': 1.0}
        """
        ahead = copy.deepcopy(self.learner)
        ahead.allocate()
        if ahead.weights is None:
            raise ObservationError(f"learner {self.learner.learner}: has no indices")
        return dict(zip(self.arms, ahead.weights.tolist()))


def __getattr__(name: str) -> Any:
    if name == "CurveClassifier":
        try:
            from .classifier import CurveClassifier
        except ImportError as error:
            raise MissingLibraryError("CurveClassifier needs scikit-learn: pip install scikit-learn") from error
        return CurveClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
