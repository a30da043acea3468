"""Splits, plans and other budgets."""

from __future__ import annotations

import math

import numpy as np
import pytest

import outlay
from outlay import AllocationError, Exponential, Hill, Logistic, Power, Problem, ProblemError, Task, Threshold


def channels() -> Problem:
    return Problem(
        tasks=[
            Task("search", curve=Exponential(90.0), value=0.62),
            Task("social", curve=Hill(half_at=180.0, steepness=3.0, ceiling=0.9), value=0.55),
            Task("video", curve=Logistic(320.0, 40.0), value=0.80, at_least=200.0),
        ],
        budget=1000.0,
    )


def test_a_split_adds_up_and_is_certified() -> None:
    best = channels().allocate()
    assert best.status == "optimal"
    assert best.spend.sum() + best.unspent == pytest.approx(1000.0, rel=1e-12)
    assert best.value <= best.upper_bound
    assert best.gap == (best.upper_bound - best.value) / best.upper_bound < 1e-12
    assert best.value == pytest.approx(float(best.values @ best.success), rel=1e-12)
    assert best.share.sum() == pytest.approx(1.0)


def test_two_square_roots_by_hand() -> None:
    problem = Problem([Task("a", curve=Power(0.5)), Task("b", curve=Power(0.5))])
    best = problem.allocate([0.6, 0.8])
    assert best.value == pytest.approx(1.0, abs=1e-12)
    assert best.spend == pytest.approx([0.36, 0.64], abs=1e-12)


def test_values_in_order_by_name_or_from_the_problem() -> None:
    problem = channels()
    own = problem.allocate()
    in_order = problem.allocate([0.62, 0.55, 0.80])
    as_array = problem.allocate(np.array([0.62, 0.55, 0.80]))
    strided = problem.allocate(np.array([0.62, 0, 0.55, 0, 0.80, 0])[::2])
    assert own.spend.tolist() == in_order.spend.tolist() == as_array.spend.tolist() == strided.spend.tolist()
    other = problem.allocate({"video": 0.1})
    assert other.values.tolist() == [0.62, 0.55, 0.1]
    assert other.value < own.value and other.spend.tolist() != own.spend.tolist()


def test_earlier_calls_have_no_effect() -> None:
    """The oracle keeps its buffers between calls, but no warm start."""
    rng = np.random.default_rng(7)
    for name in ("power:tasks=7", "m-set", "saturating-jobs", "square-roots:means=0.6;0.8;0.1"):
        problem = Problem.load(name)
        values = rng.uniform(size=(20, len(problem)))
        once = [Problem.load(name).allocate(row).spend.tolist() for row in values]
        again = [problem.allocate(row).spend.tolist() for row in values]
        backwards = [problem.allocate(row).spend.tolist() for row in values[::-1]][::-1]
        assert once == again == backwards


def test_arrays_are_the_same_and_cannot_be_written_to() -> None:
    best = channels().allocate()
    assert best.spend is best.spend
    with pytest.raises(ValueError, match="read-only"):
        best.spend[0] = 1.0


def test_rounding_reports_its_cost() -> None:
    best = channels().allocate(round=50.0)
    assert all(spend % 50.0 == 0.0 for spend in best.spend)
    assert best.rounding is not None and best.rounding["unit"] == 50.0
    assert best.rounding["loss"] == best.rounding["value_before"] - best.value >= 0.0
    assert best.rounding["upper_bound"] >= best.value
    assert best.rounding["moved_bounds"] == []
    assert "before rounding" in str(best) and "rounding to multiples of 50 costs" in str(best)


def test_bounds_between_multiples_are_named() -> None:
    problem = Problem([Task("job", curve=outlay.Exponential(3.0), value=1.0, min=1.5, max=7.5)], budget=10.0)
    best = problem.allocate(round=1.0)
    assert best.rounding is not None
    assert best.rounding["moved_bounds"] == [
        {"task": "job", "bound": "min", "given": 1.5, "used": 2.0},
        {"task": "job", "bound": "max", "given": 7.5, "used": 7.0},
    ]
    assert "rounded inwards: min of job 1.5 → 2, max of job 7.5 → 7" in str(best)


def test_leftover_is_kept_or_spent() -> None:
    problem = Problem([Task("job", curve=outlay.Threshold(3.0), value=1.0)], budget=10.0)
    kept = problem.allocate()
    assert (kept.spend.tolist(), kept.unspent, kept.unspent_reason) == ([3.0], 7.0, "curve_flat")
    assert problem.allocate(leftover="spend").spend.tolist() == [10.0]


def test_a_plan_is_compared_with_the_best_split() -> None:
    problem = channels()
    found = problem.evaluate({"search": 300.0, "social": 300.0, "video": 400.0})
    assert found.total == 1000.0 and not found.violations
    assert found.lift == found.best.value - found.value > 0.0
    assert (found.plan + found.moves).tolist() == pytest.approx(found.best.spend.tolist())
    over = problem.evaluate([600.0, 600.0, 0.0])
    assert over.violations and over.best_for_total is not None and over.best_for_total.budget == 1200.0
    best = problem.evaluate(problem.allocate().spend)
    assert best.keeps_plan and best.lift == 0.0


def test_value_rises_with_the_budget() -> None:
    frontier = channels().frontier(points=12, start=100.0, end=2000.0)
    assert len(frontier) == 12 and frontier.budget[0] == 100.0 and frontier.budget[-1] == 2000.0
    assert (np.diff(frontier.value) >= 0.0).all()
    assert [point.budget for point in frontier[2:4]] == frontier.budget[2:4].tolist()


def test_infinite_slopes_are_reported() -> None:
    best = Problem([Task("a", curve=Power(0.5), value=1.0), Task("b", curve=Power(0.5), value=0.0)]).allocate(budget=0.0)
    assert best.marginal_return.tolist() == [math.inf, 0.0]
    assert best.to_dict()["tasks"][0]["marginal_return"] is None


def test_units_are_in_texts() -> None:
    task = Task("search", curve=Exponential(scale=100), value=200, volume=3)
    problem = Problem([task], budget=50, currency="EUR", period="day")
    assert (problem.currency, problem.period, problem.reward_unit) == ("EUR", "day", "EUR")
    text = repr(problem.allocate())
    assert "budget 50.00 EUR per day" in text and "return on spend" in text and "per EUR" in text
    assert "per round" in repr(Problem([task], budget=50).allocate())
    assert Problem.from_toml(problem.to_toml()) == problem
    with pytest.raises(ProblemError, match="currency: must be a word"):
        Problem([task], currency="")


def test_returns_of_steps_are_of_whole_steps() -> None:
    problem = Problem([Task("job", curve=Threshold(4), value=2), Task("other", curve=Threshold(8), value=1)], budget=6)
    best = problem.allocate()
    assert best.marginal_return.tolist() == [0, 0]
    assert (best.return_up, best.return_down) == ([0.0, 0.125], [0.5, None])
    assert (best.return_on_spend, best.cost_per_completion) == ([0.5, None], [4.0, None])
    assert "return up" in repr(best)


def test_targets_have_a_bracket_and_a_proof() -> None:
    problem = Problem([Task("search", curve=Exponential(scale=100), value=200)], budget=10)
    plan = problem.allocate_for(target_value=100)
    assert plan.is_reached and plan.spend == pytest.approx(100 * math.log(2), rel=1e-5)
    assert plan.low <= plan.high == plan.spend and plan.proof[0].at(plan.low) < 100 <= plan.allocation.value
    returns = problem.allocate_for(target_roas=1.5)
    assert returns.is_reached and returns.reached == pytest.approx(1.5, rel=1e-4)
    cost = problem.allocate_for(target_cpa=150, values=None)
    assert cost.is_reached and cost.spend / cost.allocation.value <= 150
    marginal = problem.allocate_for(marginal_return=1)
    assert marginal.spend == pytest.approx(100 * math.log(2))
    missed = problem.allocate_for(target_value=150, limit=50)
    assert not missed.is_reached and missed.spend == 50 and missed.reached == missed.allocation.value < 150
    with pytest.raises(AllocationError, match="exactly one"):
        problem.allocate_for(target_value=1, target_roas=1)
    with pytest.raises(AllocationError, match="positive"):
        problem.allocate_for(target_value=-1)


def test_splits_of_a_frontier_have_a_row_per_budget_and_task() -> None:
    frontier = channels().frontier(points=4)
    splits = frontier.splits()
    assert len(splits) == 4 * len(channels()) and len(splits.columns) == 15
    assert splits.groupby("budget")["expected_reward"].sum().tolist() == pytest.approx(frontier.value.tolist())
