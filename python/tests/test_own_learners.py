"""Custom learners and environments give the numbers of built-in ones, on threads and in processes."""

from __future__ import annotations

import json
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import policies  # noqa: E402

from outlay import Environment, Learner, LearnerError, Problem, SimulationError, StateError, simulate  # noqa: E402
from outlay.random import PURPOSES, Draws  # noqa: E402


def same(one: Any, other: Any, keys: tuple[str, ...] = ("regret", "realised_regret", "trace", "completions", "spend", "seed")) -> bool:
    return all(np.array_equal(one[key], other[key]) for key in keys)


@pytest.mark.parametrize("problem", ["power", "m-set:tasks=6,plays=2"])
def test_a_python_learner_is_the_built_in_one_bit_for_bit(problem: str) -> None:
    played = simulate(problem, ["greedy", policies.Greedy, "uniform"], rounds=400, replications=6).arrays[0]
    assert same(played[0], played[1])
    assert not same(played[0], played[2])


def test_rewards_and_weights_are_in_the_unit_of_the_problem(root: Path) -> None:
    """The engine computes in shares of the largest reward, so the last digits may differ."""
    played = simulate(root / "examples/shop-ads.toml", ["greedy", policies.Greedy], rounds=400, replications=6).arrays[0]
    assert played[0]["regret"] == pytest.approx(played[1]["regret"], rel=1e-9)


def test_a_learner_that_chooses_allocations() -> None:
    result = simulate("power", ["uniform", policies.Even()], rounds=300, replications=3)
    assert result.arrays[0][0]["regret"] == pytest.approx(result.arrays[0][1]["regret"], rel=1e-12)
    assert [learner["learner"] for learner in result.summaries[0]["learners"]] == ["uniform", "even-python"]
    assert "even-python" in repr(result) and result.frame()["learner"].tolist() == ["uniform", "even-python"]


def test_gains_starts_and_delays() -> None:
    delayed = Problem.load("power").to_dict() | {"environment": {"delay": {"law": "constant", "rounds": 3}, "available": 0.8}}
    problem = Problem.from_json(json.dumps(delayed))
    assert simulate(problem, [policies.Greedy, "greedy"], rounds=200, replications=2).arrays[0][0]["pending"].max() > 0
    simulate("power", policies.Gains, rounds=100, replications=2)
    random = simulate("power", policies.Started, rounds=100, replications=4).arrays[0][0]["regret"]
    assert len(set(random)) == 4


def test_processes_give_the_same_results() -> None:
    learners = ["kl-ucb-plus", policies.Greedy, policies.Even()]
    here = simulate("power", learners, rounds=200, replications=16)
    with ProcessPoolExecutor(2) as executor:
        there = simulate("power", learners, rounds=200, replications=16, executor=executor)
        reversed_there = simulate("power", learners, rounds=300, replications=8, environment=policies.Reversed, executor=executor)
    assert all(same(one, other) for one, other in zip(here.arrays[0], there.arrays[0]))
    reversed_here = simulate("power", learners, rounds=300, replications=8, environment=policies.Reversed)
    assert all(same(one, other) for one, other in zip(reversed_here.arrays[0], reversed_there.arrays[0]))


@pytest.mark.parametrize("environment", [Environment, policies.SameDraws])
def test_an_environment_with_the_public_stream_is_the_built_in_one(environment: Any) -> None:
    learners = ["kl-ucb-plus", "thompson", policies.Greedy]
    built_in = simulate("power", learners, rounds=500, replications=4)
    own = simulate("power", learners, rounds=500, replications=4, environment=environment)
    assert all(same(one, other) for one, other in zip(built_in.arrays[0], own.arrays[0]))


def test_regret_is_measured_by_the_means_of_the_environment() -> None:
    still = simulate("power", ["greedy", "uniform"], rounds=400, replications=4)
    moved = simulate("power", ["greedy", "uniform"], rounds=400, replications=4, environment=policies.Reversed)
    trace = [result.arrays[0][0]["trace"] for result in (still, moved)]
    rounds = [point["round"] for point in still.summaries[0]["learners"][0]["curve"]]
    until = sum(number <= 200 for number in rounds)
    assert np.array_equal(trace[0][:, :until], trace[1][:, :until])
    problem = Problem.load("power")
    values, even = np.array(problem.values), problem.evaluate([0.2] * 5)
    backwards = problem.evaluate([0.2] * 5, values=values[::-1].copy())
    assert moved.arrays[0][1]["regret"] == pytest.approx(200 * (even.lift + backwards.lift), rel=1e-9)
    assert (moved.arrays[0][0]["regret"] > still.arrays[0][0]["regret"]).any()


class Raises:
    def index(self, counts: Any, round: int) -> Any:
        if round > 3:
            raise RuntimeError("no idea")
        return [1.0] * len(counts)


class Wrong:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def index(self, counts: Any, round: int) -> Any:
        return self.answer


class Both(Raises):
    def decide(self, *_: Any) -> Any:
        return []


class NoDraw:
    def __init__(self, problem: Problem, seed: int) -> None:
        pass


class BadDraw(NoDraw):
    def draw(self, round: int, spend: Any, success: Any) -> Any:
        return [True] * 5, [7.0] * 5


def test_exceptions_of_custom_learners_reach_the_caller() -> None:
    with pytest.raises(RuntimeError, match="no idea"):
        simulate("power", [Raises], rounds=5000, replications=4)
    learner = Learner(Problem.load("power"), Raises)
    for _ in range(3):
        learner.observe(learner.allocate(), [False] * 5)
    with pytest.raises(RuntimeError, match="no idea"):
        learner.allocate()
    assert learner.rounds == 3


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (Wrong([1.0]), "learner Wrong: index returned 1 numbers for 5 tasks"),
        (Wrong([1.0, 1.0, float("nan"), 1.0, 1.0]), "returned NaN for task 2 in round 1"),
        (Wrong("none"), "learner Wrong: index: must be a list of numbers"),
        (Both, "has both index and decide"),
        (7, "must be a name, or a class with a method index"),
    ],
)
def test_invalid_learners(learner: Any, message: str) -> None:
    with pytest.raises(LearnerError, match=message):
        simulate("power", [learner], rounds=10, replications=2)


@pytest.mark.parametrize(
    ("environment", "message"),
    [(NoDraw, "NoDraw has no method draw"), (BadDraw, "draw returned the reward 7 for task 0"), (3, "must be a class")],
)
def test_invalid_environments(environment: Any, message: str) -> None:
    with pytest.raises(SimulationError, match=message):
        simulate("power", ["greedy"], rounds=10, replications=2, environment=environment)


def test_custom_learners_are_saved() -> None:
    problem = Problem.load("power")
    for own in (policies.Greedy, policies.Even()):
        learner = Learner(problem, own)
        for _ in range(20):
            learner.observe(learner.allocate(), [True, False, True, False, False], [1.0, 0, 0.5, 0, 0])
        again = Learner.from_json(learner.to_json(), own)
        assert again.state() == learner.state() == pickle.loads(pickle.dumps(learner)).state()
        assert again.allocate().spend.tolist() == learner.allocate().spend.tolist()
        with pytest.raises(StateError, match="must be given as learner"):
            Learner.from_json(learner.to_json())
    with pytest.raises(StateError, match="define save"):
        Learner(problem, policies.Gains).to_json()


def test_the_stream_matches_the_engine() -> None:
    """Compares with the numbers in the tests of the Rust library, and with a second
    implementation."""
    assert Draws(1, "completion").uniform(1, 1)[0] == 0.9250777258326593
    assert Draws(1, "reward").uniform(1, 1)[0] == 0.3805995096134631
    assert Draws(7, "learner").uniform(1000, 5)[4] == 0.846565866462442
    mask = 2**64 - 1

    def finalized(bits: int) -> int:
        bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & mask
        bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & mask
        return bits ^ bits >> 31

    def bits(seed: int, purpose: str, number: int, task: int) -> int:
        golden = 0x9E3779B97F4A7C15
        stream = finalized(seed + golden * (PURPOSES.index(purpose) + 1) & mask)
        return finalized(finalized(stream + golden * (number + 1) & mask) + 0xD1342543DE82EF95 * (task + 1) & mask)

    for purpose in PURPOSES:
        expected = [bits(2**63 + 5, purpose, 12, task) for task in range(4)]
        assert Draws(2**63 + 5, purpose).bits(12, 4).tolist() == expected
        assert Draws(2**63 + 5, purpose).uniform(12, 4).tolist() == [(one >> 11) / 2**53 for one in expected]
    assert pickle.loads(pickle.dumps(Draws(3, "delay"))).bits(1, 2).tolist() == Draws(3, "delay").bits(1, 2).tolist()
    with pytest.raises(SimulationError, match="purpose: must be one of completion"):
        Draws(1, "luck")
