"""A script as users write it, for the type checkers: see test_typing.py."""

from __future__ import annotations

from typing_extensions import assert_type

import numpy as np
from numpy.typing import NDArray

from outlay import Allocation, Hill, Learner, Ledger, Power, Problem, Round, Task, simulate

problem = Problem([Task("tv", curve=Hill(half_at=120, steepness=2.5), value=0.6), Task("web", curve=Power(0.5), value=0.4)], budget=1000)
best = problem.allocate(values={"tv": 0.5})
assert_type(best, Allocation)
assert_type(best.spend, NDArray[np.float64])
learner = Learner(problem, "epsilon-greedy", epsilon=0.1)
assert_type(learner, Learner)
issued = learner.allocate()
assert_type(issued, Round)
learner.observe(issued, completed=[True, False], reward=[0.8, 0.0])
for row in best:
    print(row["task"], row["spend"])
ledger = Ledger(problem)
assert_type(ledger.next().spend, NDArray[np.float64])
assert_type(ledger.undo(), int)
counted = Problem([Task("tv", curve=Hill(half_at=120, steepness=2.5), volume=30, covers=(10, 90), seen={"completions": 3, "reward": 2.5})], budget=100)
daily = Ledger(counted, ignore_seen=True)
today = daily.next(key="2026-11-18", round=0.5, without=[], scale={"tv": 1.3}, volume=[40.0])
assert_type(today.key, str | None)
assert_type(daily.report(today, completions={"tv": 24}, reward={"tv": 12.5}, spend={"tv": 80.0}), tuple[int, int])
assert_type(daily.revise(1, completions=[23], reward=[12.0]), tuple[int, int, int])
assert_type(daily.status().tasks[0].delivered, float | None)
counting = Learner(counted)
counting.observe(counting.allocate(), completions=np.array([24]), reward=[12.5], spend=[80.0])
print(daily.status().table(), daily.show(1).cancelled, counted.allocate([1.0], within_data=True).extrapolates)
result = simulate(problem, ["kl-ucb-plus", "uniform"], rounds=100, replications=2)
print(len(result.summaries), Problem.from_arrays("power", budget=1.0, exponent=[0.5, 0.3]).names)
