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
result = simulate(problem, ["kl-ucb-plus", "uniform"], rounds=100, replications=2)
print(len(result.summaries), Problem.from_arrays("power", budget=1.0, exponent=[0.5, 0.3]).names)
