"""Learners: the loop, late and partial outcomes, saving, copies."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from outlay import Hill, Learner, ObservationError, Power, Problem, StateError, Task, _outlay


def problem() -> Problem:
    curves = [Power(0.5), Hill(half_at=30.0, steepness=2.0), Power(0.3, scale=50.0)]
    return Problem([Task(f"task-{place}", curve=curve) for place, curve in enumerate(curves)], budget=100.0, reward_max=4.0)


def play(learner: Learner, rounds: int, seed: int) -> list[list[float]]:
    """Rounds whose outcomes depend only on the seed and the splits."""
    rng = np.random.default_rng(seed)
    spends = []
    for _ in range(rounds):
        handed_out = learner.allocate()
        spends.append(handed_out.spend.tolist())
        completed = rng.uniform(size=len(handed_out)) < handed_out.success
        learner.observe(handed_out, completed, np.where(completed, 4.0 * rng.uniform(size=len(handed_out)), 0.0))
    return spends


def test_a_loop_learns_the_better_task() -> None:
    learner = Learner(problem())
    rng = np.random.default_rng(1)
    for _ in range(3000):
        handed_out = learner.allocate()
        completed = rng.uniform(size=3) < handed_out.success
        learner.observe(handed_out, completed, np.where(completed, [0.2, 3.8, 0.2], 0.0))
    assert handed_out.spend[1] > 0.8 * 100.0
    columns = learner.table()
    assert columns["mean_reward"].tolist() == pytest.approx([0.2, 3.8, 0.2], abs=1e-6)


@pytest.mark.parametrize("name", [name for name, *_ in _outlay.learners() if name != "full"])
def test_every_learner_is_saved_and_continues(name: str, tmp_path: Path) -> None:
    never_stopped = Learner(problem(), name, horizon=80, seed=5)
    stopped = Learner(problem(), name, horizon=80, seed=5)
    assert play(never_stopped, 30, 1) == play(stopped, 30, 1)
    open_round, never_closed = stopped.allocate(), never_stopped.allocate()
    stopped.save(tmp_path / "learner.json")
    others = [Learner.load(tmp_path / "learner.json"), pickle.loads(pickle.dumps(stopped)), copy.deepcopy(stopped)]
    never_stopped.observe(never_closed, [False, False, False])
    for learner in others:
        learner.observe(open_round, [False, False, False])
    expected = play(never_stopped, 40, 2)
    for learner in others:
        assert play(learner, 40, 2) == expected
        assert learner.state() == never_stopped.state()
    assert not list(tmp_path.glob("*.part"))


def test_full_feedback_includes_every_reward() -> None:
    learner = Learner(problem(), "full", horizon=100)
    handed_out = learner.allocate()
    with pytest.raises(ObservationError, match="its reward is missing; full is shown every reward"):
        learner.observe(handed_out, [True, False, False], [1.0, float("nan"), 2.0])
    learner.observe(handed_out, [True, False, False], [1.0, 2.0, 3.0])
    assert json.loads(learner.learnt())["completions"] == [1, 1, 1]


def test_outcomes_may_be_late_partial_and_in_any_order() -> None:
    learner = Learner(problem())
    first, second, third = (learner.allocate() for _ in range(3))
    learner.observe(third, [True, False, True], [1.0, 0.0, 2.0])
    learner.observe(first, {"task-2": True}, {"task-2": 4.0})
    assert learner.open_rounds == 2
    learner.observe(first, {"task-0": False, "task-1": True}, {"task-1": 0.0})
    learner.observe(int(second), np.array([0, 0, 1]), [np.nan, np.nan, 1.0])
    assert learner.open_rounds == 0
    assert json.loads(learner.learnt()) == {"completions": [1, 1, 3], "reward_sum": [250_000_000, 0, 1_750_000_000]}
    for number in (first, 2):
        with pytest.raises(ObservationError, match="is not open"):
            learner.observe(number, [False] * 3)


def test_unavailable_tasks_get_nothing_and_report_nothing() -> None:
    learner = Learner(problem())
    handed_out = learner.allocate(budget=50.0, mask=[True, False, True])
    assert handed_out.spend[1] == 0.0 and handed_out.success[1] == 0.0 and handed_out.mask is not None
    with pytest.raises(ObservationError, match="task task-1 was not available in round 1"):
        learner.observe(handed_out, [True, True, False], [1.0, 1.0, 0.0])
    learner.observe(handed_out, [True, False, False], [1.0, 0.0, 0.0])
    assert learner.open_rounds == 0
    # Unavailable tasks do not complete, even if their curves have a floor.
    lucky = Learner(Problem([Task("a", curve=Power(0.5, floor=0.3)), Task("b", curve=Power(0.5))]))
    assert lucky.allocate(mask=[False, True]).success[0] == 0.0 and lucky.allocate(budget=0.0).success[0] == 0.3


def test_many_rounds_at_once_equal_single_rounds() -> None:
    rng = np.random.default_rng(3)
    one, many = Learner(problem()), Learner(problem())
    completed = rng.uniform(size=(50, 3)) < 0.5
    reward = np.where(completed, rng.uniform(size=(50, 3)), 0.0)
    rounds = [one.allocate() for _ in range(50)]
    for handed_out, done, brought in zip(rounds, completed, reward):
        one.observe(handed_out, done, brought)
    for _ in range(50):
        many.allocate()
    many.observe_many(np.arange(1, 51), completed, reward)
    assert one.learnt() == many.learnt() and one.allocate().spend.tolist() == many.allocate().spend.tolist()


def test_gains_for_bandit_feedback() -> None:
    by_gain, by_task = Learner(problem(), "oful", horizon=50), Learner(problem(), "oful", horizon=50)
    for number in range(10):
        by_gain.observe(by_gain.allocate(), gain=1.0 + number % 3)
        by_task.observe(by_task.allocate(), [True, False, True], [1.0, 0.0, number % 3])
    assert by_gain.allocate().spend.tolist() == by_task.allocate().spend.tolist()


def test_guards_hold_and_are_saved() -> None:
    learner = Learner(problem(), max_change=5.0, floor=10.0)
    spends = np.array(play(learner, 20, 1))
    assert (np.abs(np.diff(spends, axis=0)) <= 5.0 + 1e-9).all() and (spends >= 10.0 - 1e-9).all()
    again = pickle.loads(pickle.dumps(learner))
    assert play(again, 20, 2) == play(learner, 20, 2)


def test_the_options_of_a_learner_are_saved() -> None:
    learner = Learner(problem(), "thompson", horizon=70, feedback="full", seed=9, always_cold=True)
    again = Learner.from_json(learner.to_json())
    keys = ("learner", "horizon", "feedback", "seed", "always_cold", "names", "rounds", "open_rounds", "reward_max")
    assert [getattr(again, key) for key in keys] == [getattr(learner, key) for key in keys]
    assert again.always_cold and again.problem == problem()
    earlier = Learner.from_json(learner.to_json().replace("always_cold", "search_afresh"))
    assert earlier.always_cold


def test_damaged_states_are_refused() -> None:
    learner = Learner(problem())
    play(learner, 3, 1)
    record = json.loads(learner.to_json())
    with pytest.raises(StateError, match="is not JSON"):
        Learner.from_json("{")
    with pytest.raises(StateError, match="is not a saved learner"):
        Learner.from_json("[]")
    with pytest.raises(StateError, match="unsupported version 2"):
        Learner.from_json(json.dumps(record | {"version": 2}))
    with pytest.raises(StateError, match="its tasks are task-0, task-1, task-2, those of the problem"):
        problem_of_two = record["problem"] | {"task": record["problem"]["task"][:2]}
        Learner.from_json(json.dumps(record | {"problem": problem_of_two}))
    with pytest.raises(StateError, match="state: unsupported version 9"):
        Learner.from_json(json.dumps(record | {"state": record["state"] | {"version": 9}}))
