"""Problems from arrays and data frames; results that are pickled, iterated and drawn."""

from __future__ import annotations

import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from outlay import Exponential, Hill, Power, Problem, ProblemError, Task, Threshold, fit, simulate


def same_problem() -> Problem:
    tasks = [
        Task("tv", curve=Hill(half_at=120, steepness=2.5, ceiling=0.9), value=0.6, min=20),
        Task("web", curve=Power(0.5), value=0.4, max=500),
        Task("radio", curve=Threshold(at=70), value=0.3, at_least=10, current=70),
        Task("print", curve=Exponential(scale=90, floor=0.1), value=0.2),
    ]
    return Problem(tasks, budget=1000, horizon=50, reward_max=2)


COLUMNS: dict[str, list[Any]] = {
    "half_at": [120, None, None, None],
    "steepness": [2.5, None, None, None],
    "exponent": [None, 0.5, None, None],
    "at": [None, None, 70, None],
    "scale": [None, None, None, 90],
    "ceiling": [0.9, None, None, None],
    "floor": [None, None, None, 0.1],
    "value": [0.6, 0.4, 0.3, 0.2],
    "min": [20, None, None, None],
    "max": [None, 500, None, None],
    "at_least": [None, None, 10, None],
    "current": [None, None, 70, None],
}
NAMES, FAMILIES = ["tv", "web", "radio", "print"], ["hill", "power", "threshold", "exponential"]


def test_arrays_and_frames_are_the_same_problem() -> None:
    arrays = {name: np.array([np.nan if cell is None else cell for cell in cells], dtype=float) for name, cells in COLUMNS.items()}
    made = Problem.from_arrays(FAMILIES, budget=1000, names=NAMES, horizon=50, reward_max=2, **arrays)
    assert made == same_problem() and made.to_dict() == same_problem().to_dict()
    table = {"task": NAMES, "family": FAMILIES, **COLUMNS}
    for frame in (pd.DataFrame(table), pl.DataFrame(table, strict=False), table):
        assert Problem.from_frame(frame, budget=1000, horizon=50, reward_max=2) == made
    assert made.with_number("budget", 500).budget == 500.0
    assert pickle.loads(pickle.dumps(made)) == made
    scaled = Problem.from_arrays("exponential", budget=10, scale=3.0, value=[0.2, 0.3])
    assert scaled.names == ["task-1", "task-2"] and scaled.allocate().status == "optimal"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"family": "hill", "half_at": [1.0, -2.0], "steepness": 2.0}, r"half_at: must be positive and finite.* \(task task-2\)"),
        ({"family": "hill", "half_at": [1.0, 2.0]}, "steepness: is missing; family hill needs it"),
        ({"family": "power", "exponent": [0.5], "value": [1.0, 2.0]}, "value: 2 entries for 1 tasks"),
        ({"family": "power", "exponent": [0.5], "names": ["a", "b"]}, "exponent: 1 entries for 2 tasks"),
        ({"family": "power", "exponents": [0.5]}, "exponents: is not a column; expected exponent"),
        ({"family": "spline", "at": [0.5]}, "family: must be one of power"),
        ({"family": "power", "exponent": ["half"]}, "exponent: must be numbers"),
        ({"family": "power"}, "give at least one array"),
        ({"family": "power", "exponent": [0.5], "min": [2.0]}, "min"),
        ({"family": "power", "exponent": [0.5], "leftover": "burn"}, "leftover: must be keep or spend"),
    ],
)
def test_errors_name_the_argument(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message):
        Problem.from_arrays(budget=1.0, **arguments)


def test_a_hundred_thousand_tasks() -> None:
    """Measures processor time, so that other load on the machine does not matter."""
    rng = np.random.default_rng(1)
    scale, value = rng.uniform(1.0, 5.0, 100_000), rng.uniform(0.0, 1.0, 100_000)
    times = []
    for _ in range(3):
        started = time.process_time()
        problem = Problem.from_arrays("exponential", budget=1e5, scale=scale, value=value)
        times.append(time.process_time() - started)
    assert min(times) < 0.3 and len(problem) == 100_000


def results(root: Path) -> dict[str, Any]:
    shop = Problem.load(root / "examples/shop-ads.toml")
    log = pd.read_csv(root / "examples/data/ads_log.csv")
    return {
        "allocation": shop.allocate(round=0.5),
        "evaluation": shop.evaluate([7.0] * 6),
        "frontier": shop.frontier(points=6),
        "fit": fit(log, task="channel", spend="spend", trials="hours", success="wins", reward="order", budget=40),
        "result": simulate("power", rounds=200, replications=3),
        "check": shop.check(),
    }


def test_results_are_pickled_iterated_and_drawn(root: Path) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    for name, result in results(root).items():
        again = pickle.loads(pickle.dumps(result))
        assert repr(again) == repr(result), name
        assert len(list(again)) == len(list(result)) > 0, name
        if hasattr(result, "plot"):
            assert result.plot().get_xlabel(), name
            own = pyplot.subplots()[1]
            assert result.plot(own) is own
            pyplot.close("all")
    assert list(results(root)["allocation"])[0]["task"] == "search"


def test_joblib_sends_results() -> None:
    joblib = pytest.importorskip("joblib")
    problem = Problem.load("power")
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(problem.allocate)(budget=budget) for budget in (0.5, 1.0))
    assert [one.spend.tolist() for one in found] == [problem.allocate(budget=budget).spend.tolist() for budget in (0.5, 1.0)]
