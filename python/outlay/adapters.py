"""Other libraries' faces: the classical bandit as river and mabwiser have it, a fitted curve as a classifier of scikit-learn."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from . import _outlay
from .curves import Threshold
from .errors import FitError, ObservationError
from .fitting import fit
from .learner import Learner
from .problem import Problem, Task


class Policy:
    """``pull`` an arm, ``update`` it with what it brought, as in river; rewards lie between 0 and ``reward_max``.

    Every arm is a task that succeeds for the whole budget and for nothing less, so that each round buys one.
    """

    def __init__(self, arms: Sequence[Hashable], learner: str = "kl-ucb-plus", *, reward_max: float = 1.0, seed: int = 1, **options: Any) -> None:
        self.arms = list(arms)
        self._place = {arm: place for place, arm in enumerate(self.arms)}
        tasks = [Task(f"arm-{place + 1}", curve=Threshold(at=1.0)) for place in range(len(self.arms))]
        self.learner = Learner(Problem(tasks, budget=1.0, reward_max=reward_max), learner, seed=seed, **options)
        self._pulled: dict[Hashable, list[Any]] = {}

    def pull(self, arm_ids: Iterable[Hashable] | None = None) -> Any:
        """The arm to try next, of all or of these."""
        there = None if arm_ids is None else [self._known(arm) for arm in arm_ids]
        mask = None if there is None else [place in there for place in range(len(self.arms))]
        round = self.learner.allocate(mask=mask)
        arm = self.arms[int(round.spend.argmax())]
        self._pulled.setdefault(arm, []).append(round)
        return arm

    def update(self, arm_id: Hashable, reward: float) -> Policy:
        """What an arm brought: of its oldest pull that waits, or of one that somebody else decided on."""
        place = self._known(arm_id)
        waiting = self._pulled.get(arm_id)
        round = waiting.pop(0) if waiting else self.learner.allocate(mask=[other == place for other in range(len(self.arms))])
        tried = [other == place for other in range(len(self.arms))]
        self.learner.observe(round, tried, [float(reward) if was else 0.0 for was in tried])
        return self

    def _known(self, arm: Hashable) -> int:
        if arm not in self._place:
            raise ObservationError(f"arm: there is no arm {arm!r}")
        return self._place[arm]


class MAB(Policy):
    """``fit``, ``partial_fit`` and ``predict``, as in mabwiser: what was decided and what it brought goes in, the next arm comes out."""

    def fit(self, decisions: Iterable[Hashable], rewards: Iterable[float]) -> MAB:
        """Forget everything and learn from these."""
        fresh = Learner(self.learner.problem, self.learner.learner, self.learner.horizon, seed=self.learner.seed)
        self.learner, self._pulled = fresh, {}
        return self.partial_fit(decisions, rewards)

    def partial_fit(self, decisions: Iterable[Hashable], rewards: Iterable[float]) -> MAB:
        """Learn from these as well."""
        for arm, reward in zip(decisions, rewards, strict=True):
            self.update(arm, reward)
        return self

    def predict(self) -> Any:
        """The arm to try next."""
        return self.pull()


class CurveClassifier:
    """A curve fitted to one column of spends and whether each succeeded: a classifier for scikit-learn to score and to search over.

    Parameters are those of :func:`outlay.fit`; ``fitted_`` has the curve with its intervals.
    """

    def __init__(self, family: str = "auto", ceiling: bool = False, floor: bool = False, seed: int = 1) -> None:
        self.family, self.ceiling, self.floor, self.seed = family, ceiling, floor, seed

    def fit(self, X: Any, y: Any) -> CurveClassifier:
        log = {"spend": self._spends(X), "success": np.asarray(y, dtype=float)}
        self.fitted_ = fit(log, spend="spend", success="success", **self.get_params()).tasks[0]
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X: Any) -> Any:
        """The chances of failure and of success."""
        if not hasattr(self, "fitted_") or self.fitted_.curve is None:
            raise FitError("predict: there is no curve yet: fit one first")
        success = _outlay.success(json.dumps(self.fitted_.curve), 1.0, self._spends(X))
        return np.column_stack([1.0 - success, success])

    def predict(self, X: Any) -> Any:
        return (self.predict_proba(X)[:, 1] >= 0.5).astype(int)

    def score(self, X: Any, y: Any) -> float:
        return float((self.predict(X) == np.asarray(y)).mean())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("family", "ceiling", "floor", "seed")}

    def set_params(self, **parameters: Any) -> CurveClassifier:
        vars(self).update({**self.get_params(), **parameters})
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, Tags, TargetTags  # type: ignore[import-untyped, import-not-found, unused-ignore]

        return Tags(estimator_type="classifier", target_tags=TargetTags(required=True), classifier_tags=ClassifierTags(multi_class=False))

    @staticmethod
    def _spends(X: Any) -> Any:
        table = np.asarray(X, dtype=float)
        if table.ndim != 1 and (table.ndim != 2 or table.shape[1] != 1):
            raise FitError(f"X: must be one column of spends, not an array of shape {table.shape}")
        return np.ascontiguousarray(table.ravel())
