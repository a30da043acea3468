"""Curves from Python functions."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from outlay import Custom, Exponential, Hill, Problem, ProblemError, Task


def smooth(spend: float) -> float:
    return 1.0 - math.exp(-spend / 90.0)


def test_points_are_as_close_as_stated() -> None:
    for function, shape in [(smooth, "concave"), (lambda x: min(1.0, math.sqrt(x / 400.0)), "concave"), (lambda x: x**3 / (x**3 + 1e6), "monotone")]:
        curve = Custom(function, shape)
        spends = np.linspace(0.0, 400.0, 40_001)
        misses = np.abs(curve(spends, budget=200.0) - [function(spend) for spend in spends])
        assert misses.max() <= 1.5 * max(curve.error(200.0), 1e-6)
        assert curve.error(200.0) <= 2e-6


def test_a_split_equals_that_of_the_family() -> None:
    known = Problem([Task("a", curve=Exponential(90.0), value=0.6), Task("b", curve=Hill(80.0, 3.0), value=0.7)], budget=200.0)
    own = Problem(
        [
            Task("a", curve=Custom(smooth, "concave"), value=0.6),
            Task("b", curve=Custom(lambda x: x**3 / (x**3 + 80.0**3), "lipschitz", lipschitz=0.02), value=0.7),
        ],
        budget=200.0,
    )
    assert own.shapes == ["concave", "piecewise linear, not concave"]
    assert own.allocate().value == pytest.approx(known.allocate().value, abs=3e-6)
    assert own.allocate().spend == pytest.approx(known.allocate().spend, abs=1.0)
    assert pickle.loads(pickle.dumps(own)).allocate().spend.tolist() == own.allocate().spend.tolist()


def test_a_jump_is_found() -> None:
    curve = Custom(lambda spend: 1.0 if spend >= 37.3 else 0.0)
    assert float(curve(37.3 - 1e-6, budget=100.0)) == 0.0 and float(curve(37.3 + 1e-6, budget=100.0)) == 1.0


def test_ceilings_apply() -> None:
    assert float(Custom(smooth, "concave", ceiling=0.5)(1e9, budget=1e6)) == 0.5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Custom(smooth, "convex"), "shape: must be concave, lipschitz or monotone, not convex"),
        (lambda: Custom(smooth, "lipschitz"), "lipschitz: give the largest slope with shape lipschitz, and only then"),
        (lambda: Custom(smooth, lipschitz=1.0), "lipschitz: give the largest slope with shape lipschitz, and only then"),
        (lambda: Custom(smooth, "lipschitz", lipschitz=-1.0), "lipschitz: must be positive and finite, not -1.0"),
        (lambda: Custom(smooth, up_to=math.inf), "up_to: must be positive and finite, not inf"),
        (lambda: Custom(smooth, tolerance=0.0), "tolerance: must be positive, not 0.0"),
        (lambda: Custom(smooth, points=10), "points: must be more than 104, not 10"),
        (lambda: Custom(lambda x: x)(1.0, budget=5.0), "custom curve: must be between 0 and 1, but is "),
        (lambda: Custom(lambda x: math.nan)(1.0), "custom curve: must be between 0 and 1, but is nan at spend "),
        (lambda: Custom(lambda x: 1.0 - x / 9.0)(1.0), "custom curve: falls from "),
        (lambda: Custom(lambda x: x**3 / (x**3 + 1.0), "concave")(1.0), "custom curve: declared concave, but this is violated between spends "),
        (
            lambda: Custom(lambda x: min(1.0, x), "lipschitz", lipschitz=0.5)(1.0),
            "custom curve: declared Lipschitz with constant 0.5, but this is violated between spends ",
        ),
    ],
)
def test_functions_that_break_their_declaration_are_refused(make: object, message: str) -> None:
    with pytest.raises(ProblemError) as refusal:
        make()  # type: ignore[operator]
    assert str(refusal.value).startswith(message)
