"""The classical bandit through the adapters gives the results of the engine, arm by arm."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from outlay import Learner, Problem, Task, Threshold
from outlay.adapters import MAB, CurveClassifier, Policy
from outlay.errors import ObservationError

MEANS = np.array([0.2, 0.45, 0.8, 0.5])
ARMS = ["red", "green", "blue", "grey"]


def draws(rounds):
    return (np.random.default_rng(5).random((rounds, len(ARMS))) < MEANS).astype(float)


@pytest.mark.parametrize("learner", ["kl-ucb-plus", "cucb"])
def test_a_policy_pulls_the_arms_of_the_learner(learner):
    problem = Problem([Task(name, curve=Threshold(at=1.0)) for name in ARMS], budget=1.0)
    direct, policy = Learner(problem, learner), Policy(ARMS, learner)
    for drawn in draws(300):
        issued = direct.allocate()
        place = int(issued.spend.argmax())
        assert sorted(issued.spend) == [0.0, 0.0, 0.0, 1.0]
        direct.observe(issued, issued.spend > 0, drawn * (issued.spend > 0))
        arm = policy.pull()
        assert arm == ARMS[place]
        policy.update(arm, drawn[place])


def test_the_best_arm_is_found():
    policy, pulls = Policy(ARMS), []
    for drawn in draws(2000):
        pulls.append(policy.pull())
        policy.update(pulls[-1], drawn[ARMS.index(pulls[-1])])
    assert pulls[1000:].count("blue") > 900


def test_only_known_arms_are_pulled():
    policy = Policy(ARMS)
    for drawn in draws(50):
        arm = policy.pull(["red", "grey"])
        assert arm in ("red", "grey")
        policy.update(arm, drawn[ARMS.index(arm)])


def test_rewards_may_be_late_and_decisions_external():
    policy = Policy([1, 2], reward_max=10.0)
    arms = [policy.pull() for _ in range(4)]
    for arm in arms:
        policy.update(arm, 4.0)
    assert policy.learner.open_rounds == 0
    policy.update(2, 10.0)
    assert policy.learner.rounds == 5
    with pytest.raises(ObservationError, match="no arm 3"):
        policy.update(3, 1.0)
    with pytest.raises(ObservationError):
        policy.update(1, 11.0)


def test_external_decisions_are_learned():
    rewards = draws(400)
    decisions = [ARMS[place % 4] for place in range(400)]
    brought = [rewards[place, place % 4] for place in range(400)]
    whole = MAB(ARMS).fit(decisions, brought)
    assert whole.predict() == "blue"
    parts = MAB(ARMS).fit(decisions[:150], brought[:150]).partial_fit(decisions[150:], brought[150:])
    assert parts.predict() == "blue"
    again = parts.fit(["red"] * 9 + ["green", "blue", "grey"] * 100, [1.0] * 9 + [0.0] * 300)
    assert again.predict() == "red"
    with pytest.raises(ValueError):
        whole.partial_fit(["red"], [1.0, 0.0])


def spends_and_successes(rows=4000):
    world = np.random.default_rng(9)
    spends = world.uniform(1.0, 300.0, size=(rows, 1))
    chance = spends[:, 0] ** 3 / (spends[:, 0] ** 3 + 90.0**3)
    return spends, (world.random(rows) < chance).astype(int), chance


def test_a_curve_is_a_classifier():
    spends, success, chance = spends_and_successes()
    classifier = CurveClassifier("hill").fit(spends, success)
    assert [name for name, *_ in classifier.fitted_.parameters] == ["half_at", "steepness"]
    assert classifier.fitted_.parameters[0][1] == pytest.approx(90.0, rel=0.05)
    found = classifier.predict_proba(spends)
    assert found.shape == (4000, 2) and np.abs(found.sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(found[:, 1] - chance).max() < 0.03
    assert classifier.predict([[10.0], [290.0]]).tolist() == [0, 1]
    with pytest.raises(NotFittedError, match="not fitted yet"):
        CurveClassifier().predict(spends)
    with pytest.raises(ValueError, match="one column of spends"):
        CurveClassifier().fit(np.ones((3, 2)), [0, 1, 1])
    words = CurveClassifier("hill").fit(spends, np.where(success, "won", "lost"))
    assert words.predict([[10.0], [290.0]]).tolist() == ["lost", "won"]


def test_scikit_learn_accepts_the_classifier():
    spends, success, chance = spends_and_successes(1500)
    classifier = CurveClassifier(family="exponential", seed=4)
    assert is_classifier(classifier) and clone(classifier).get_params() == classifier.get_params()
    best = (np.where(chance >= 0.5, 1, 0) == success).mean()
    assert cross_val_score(CurveClassifier("hill"), spends, success, cv=3).mean() == pytest.approx(best, abs=0.03)
    search = GridSearchCV(classifier, {"family": ["exponential", "hill"]}, cv=3, scoring="neg_log_loss").fit(spends, success)
    assert search.best_params_ == {"family": "hill"}


#: Checks that use several columns, or index the columns; this estimator takes a single one.
SEVERAL_COLUMNS = (
    "check_classifiers_train",
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_f_contiguous_array_estimator",
    "check_fit1d",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
)


@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_that_apply():
    reasons = {name: "needs several columns; a curve has one" for name in SEVERAL_COLUMNS}
    results = check_estimator(CurveClassifier(), expected_failed_checks=reasons, on_skip=None)
    passed = [entry["check_name"] for entry in results if entry["status"] == "passed"]
    assert len(passed) >= 35


def test_options_are_kept():
    """`fit` starts again with the options of the bandit."""
    bandit = MAB(ARMS, "epsilon-greedy", epsilon=0.5, horizon=1000, seed=9, reward_max=2.0, always_cold=True)
    options = ("learner", "horizon", "seed", "reward_max", "always_cold", "feedback")
    before = [getattr(bandit.learner, option) for option in options]
    assert before[:3] == ["epsilon-greedy:epsilon=0.5", 1000, 9]
    bandit.fit(["red", "blue"], [2.0, 1.0])
    assert [getattr(bandit.learner, option) for option in options] == before


def test_predictions_change_nothing():
    bandit = MAB(ARMS).fit(ARMS * 20, [0.0, 0.2, 1.0, 0.4] * 20)
    before = bandit.learner.state()
    assert bandit.predict() == bandit.predict() == "blue"
    expectations = bandit.predict_expectations()
    assert list(expectations) == ARMS and max(expectations, key=expectations.get) == "blue"
    assert bandit.learner.state() == before
    again = pickle.loads(pickle.dumps(bandit))
    assert again.predict_expectations() == expectations
    with pytest.raises(ObservationError, match="has no indices"):
        MAB(ARMS, "uniform").predict_expectations()


def test_a_refused_reward_keeps_the_pull_open():
    policy = Policy(ARMS)
    arm = policy.pull()
    with pytest.raises(ObservationError):
        policy.update(arm, 2.0)
    policy.update(arm, 1.0)
    assert policy.learner.open_rounds == 0 and policy.learner.rounds == 1
