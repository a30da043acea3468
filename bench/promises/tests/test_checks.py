"""False certificates are found, and the models of HiGHS are the problems."""

import itertools
import math

import pytest
from promises import curves, highs, measure
from promises.classes import BY_NAME, CLASSES
from promises.problems import Draw
from promises.measure import check_answer, check_bounds

needs_highs = pytest.mark.skipif(highs.highspy is None, reason="highspy is not installed")
PROBLEM = {
    "budget": 10.0,
    "task": [
        {"curve": {"family": "threshold", "at": 4.0}, "value": 1.0},
        {
            "curve": {"family": "exponential", "scale": 2.0},
            "value": 0.5,
            "at_least": 3.0,
            "max": 3.0,
        },
        {"curve": {"family": "saturating", "full_at": 6.0}, "value": 1.0, "exclude": True},
    ],
}
VALUE = 1.0 + 0.5 * (1.0 - math.exp(-1.5))


def answer(value=VALUE, upper_bound=VALUE):
    return {"value": value, "upper_bound": upper_bound}


def test_a_true_certificate_passes():
    assert check_answer(PROBLEM, answer(), [4.0, 3.0, 0.0]) == []
    assert check_bounds(answer(), {"value": VALUE, "bound": VALUE}) == []
    assert check_bounds(answer(), {"value": None, "bound": None}) == []


@pytest.mark.parametrize(
    ("given", "spend", "fault"),
    [
        (answer(), [8.0, 3.0, 0.0], "spends 11.0 of 10.0"),
        (answer(), [4.0, 2.0, 0.0], "out of bounds"),
        (answer(), [4.0, 3.0, 1.0], "out of bounds"),
        (answer(VALUE + 1e-9), [4.0, 3.0, 0.0], "but the curves say"),
        (answer(upper_bound=VALUE - 1e-9), [4.0, 3.0, 0.0], "above the upper bound"),
    ],
)
def test_a_false_answer_is_found(given, spend, fault):
    assert any(fault in found for found in check_answer(PROBLEM, given, spend))


def test_a_false_bound_is_found():
    (fault,) = check_bounds(answer(), {"value": VALUE * (1.0 + 1e-9), "bound": None})
    assert "HiGHS finds" in fault
    (fault,) = check_bounds(answer(), {"value": None, "bound": VALUE * (1.0 - 1e-5)})
    assert "above the bound of HiGHS" in fault


def smooth_curves():
    for name in ("exponential", "power", "concave-hill", "concave-logistic", "hill", "logistic"):
        for task in BY_NAME[name].problem(10, 1)["task"]:
            yield task["curve"]


def test_knots_are_on_the_curve_and_in_order():
    for curve in smooth_curves():
        for level in (0.01, 0.3, 0.9):
            spend = curves.spend_at(curve, level)
            assert curves.success(curve, spend) == pytest.approx(level, rel=1e-12), curve
        knots = curves.knots(curve, 10.0, 1.0)
        assert knots[0] == 0.0
        assert len(knots) >= curves.CONCAVE_PIECES
        assert all(left < right for left, right in itertools.pairwise(knots))


def test_tiers_become_one_run_per_ramp():
    curve = {
        "family": "piecewise",
        "spend": [0.0, 1.0, 2.0, 4.0, 5.0, 6.0],
        "success": [0.0, 0.0, 0.4, 0.5, 0.5, 1.0],
    }
    found = curves.runs({"curve": curve, "value": 2.0}, 10.0, 1.0)
    assert [(run.spend, run.value) for run in found] == [(1.0, 0.0), (5.0, 1.0)]
    assert [run.pieces for run in found] == [[(1.0, 0.8), (2.0, pytest.approx(0.2))], [(1.0, 1.0)]]


def points(task):
    """All spends at which a task is in some best split, unless it takes the rest."""
    if task.get("exclude"):
        return [0.0]
    if "at_least" in task:
        return [0.0, task["max"]]
    curve = task["curve"]
    if curve["family"] in curves.LINEAR:
        return curves.knots(curve, math.inf, math.inf)
    return [0.0, *curves.jumps(curve)]


def enumerated(problem):
    """The best value, one task after the other taking what the others leave."""
    best, tasks = 0.0, problem["task"]
    for rest, task in enumerate(tasks):
        takes_any = task["curve"]["family"] in curves.LINEAR
        others = tasks[:rest] + tasks[rest + 1 :]
        for spends in itertools.product(*map(points, others)):
            left = problem["budget"] - sum(spends)
            if left < 0.0:
                continue
            most = left if takes_any else max(x for x in points(task) if x <= left)
            best = max(best, curves.worth({"task": [*others, task]}, [*spends, most]))
    return best


@needs_highs
@pytest.mark.parametrize(
    "name", [each.name for each in CLASSES if curves.is_exact(each.problem(10, 1))]
)
def test_an_exact_model_has_the_best_value(name):
    """The models that give bounds, against enumeration."""
    draw = Draw("enumerated", name)
    for seed in range(1, 6):
        problem = BY_NAME[name].make(draw, 4, seed)
        if name == "empirical":
            problem["task"] = problem["task"][:2]
        found, best = highs.solve(problem, 10.0), enumerated(problem)
        assert found.is_optimal
        assert found.bound == pytest.approx(best, rel=1e-7)
        assert curves.worth(problem, found.spend) == pytest.approx(best, rel=1e-7)
        assert math.fsum(found.spend) <= problem["budget"] * (1.0 + highs.BUDGET_TOLERANCE)


@needs_highs
@pytest.mark.parametrize(("lowered", "faults"), [(0.0, 0), (1e-9, 1)])
def test_an_instance_with_a_false_bound_has_a_fault(monkeypatch, lowered, faults):
    """The bound of another split is claimed for a split that HiGHS improves."""

    def solve(problem):
        best = highs.solve(problem, 10.0).spend
        spend = [0.0 if spend == max(best) else spend for spend in best]
        bound = curves.worth(problem, best) * (1.0 - lowered)
        value = curves.worth(problem, spend)
        return {"spend": spend, "seconds": 1.0, "value": value, "upper_bound": bound, "gap": 0.1}

    monkeypatch.setattr(measure, "outlay", solve)
    record, found = measure.measure("thresholds", 10, 1)
    assert record["highs"]["value"] > record["value"]
    assert len(found) == faults, found


def test_instances_depend_on_the_seed_alone():
    for each in CLASSES:
        assert each.problem(10, 3) == each.problem(10, 3)
        assert each.problem(10, 3) != each.problem(10, 4)
    assert BY_NAME["thresholds"].problem(10, 1)["budget"] == BUDGET, "another random stream"


# Of the first instance of `thresholds` with ten tasks.
BUDGET = 2197.0
