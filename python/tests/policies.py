"""Learners and environments written in Python, in a separate file so that other processes can import
them."""

from __future__ import annotations

from typing import Any

import numpy as np

from outlay import Counts, Environment, Problem
from outlay.random import Draws


class Greedy:
    """Like the built-in `greedy`."""

    name = "greedy-python"

    def index(self, counts: Counts, round: int) -> Any:
        return np.where(counts.completions > 0, counts.mean, counts.reward_max)


class Even:
    """Like the built-in `uniform`, with its own state."""

    name = "even-python"

    def __init__(self) -> None:
        self.outcomes = 0

    def decide(self, counts: Counts, round: int, budget: float, available: Any) -> Any:
        return np.full(len(counts), budget / len(counts))

    def observe(self, task: int, spend: float, completed: bool, reward: float | None) -> None:
        assert spend >= 0.0 and (reward is not None) == completed
        self.outcomes += 1

    def save(self) -> Any:
        return {"outcomes": self.outcomes}

    def load(self, state: Any) -> None:
        self.outcomes = state["outcomes"]


class Gains:
    """Observes the gain of each round."""

    feedback = "bandit"

    def __init__(self) -> None:
        self.gains: list[float] = []

    def index(self, counts: Counts, round: int) -> Any:
        assert len(self.gains) == round - 1
        return [1.0] * len(counts)

    def observe_gain(self, round: int, spend: Any, success: Any, gain: float) -> None:
        self.gains.append(gain)


class Started:
    """Knows the problem and draws from the public stream."""

    def start(self, problem: Problem, horizon: int, seed: int) -> None:
        self.tasks, self.draws = len(problem), Draws(seed, "learner")

    def index(self, counts: Counts, round: int) -> Any:
        return self.draws.uniform(round, self.tasks)


class SameDraws:
    """The built-in environment in Python: Bernoulli rewards from the public stream."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.values = np.array(problem.values)
        self.completions, self.rewards = Draws(seed, "completion"), Draws(seed, "reward")

    def draw(self, round: int, spend: Any, success: Any) -> tuple[Any, Any]:
        tasks = len(self.values)
        completed = self.completions.uniform(round, tasks) < success
        return completed, (self.rewards.uniform(round, tasks) < self.values).astype(float)


class Reversed(Environment):
    """After round 200 the values of the tasks are in reversed order."""

    def means(self, round: int) -> Any:
        return super().means(round) if round <= 200 else super().means(round)[::-1]

    def draw(self, round: int, spend: Any, success: Any) -> tuple[Any, Any]:
        completed, reward = super().draw(round, spend, success)
        return completed, (reward if round <= 200 else reward[::-1].copy())
