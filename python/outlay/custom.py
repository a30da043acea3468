"""Curves from Python functions, sampled at points; their declared shape is checked."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Any

from .curves import Curve
from .errors import ProblemError

__all__ = ["Custom"]

SHAPES = ("concave", "lipschitz", "monotone")
#: The first points at which functions are evaluated: even, and halving towards zero, where curves may
#: start vertically.
EVEN = 64
HALVES = 40
#: Narrower intervals count as a jump.
NARROW = 1e-12
#: Tolerance for rounding errors of a function that has its declared shape.
SLACK = 1e-9


class Custom(Curve):
    """A success curve made of a Python function.

    The function is evaluated once at up to ``points`` spends between 0 and ``up_to``, where it bends most. From then on the points are the
    curve, linear between them and flat beyond the last: certificates hold for the points, and the value of an allocation under the
    function itself differs by at most the sum of value times `error` over the tasks. Problems can be pickled and saved.

    Parameters
    ----------
    function : callable
        Takes a spend and returns a success probability.
    shape : {"monotone", "concave", "lipschitz"}
        What is known of the function; it is checked at the points. Concave curves are solved exactly, the others by search.
    lipschitz : float, optional
        The largest slope, with shape ``"lipschitz"``.
    up_to : float, optional
        The largest spend; by default twice the budget.
    tolerance : float
        Stop when a line between neighbours misses the function by no more than this midway.
    points : int
        The largest number of points.
    ceiling, floor : float, optional
        As for other curves.

    Raises
    ------
    ProblemError
        If an argument is invalid, or the function is not as declared.

    Examples
    --------
    >>> import math
    >>> curve = Custom(lambda x: 1 - math.exp(-x / 90), shape="concave")
    >>> abs(float(curve(90.0, budget=200.0)) - (1 - math.exp(-1))) < 1e-6
    True
    """

    family = "piecewise"

    def __init__(
        self,
        function: Callable[[float], float],
        shape: str = "monotone",
        *,
        lipschitz: float | None = None,
        up_to: float | None = None,
        tolerance: float = 1e-6,
        points: int = 2000,
        ceiling: float | None = None,
        floor: float | None = None,
    ) -> None:
        super().__init__(ceiling=ceiling, floor=floor)
        if shape not in SHAPES:
            raise ProblemError(f"shape: must be concave, lipschitz or monotone, not {shape}")
        if (shape == "lipschitz") != (lipschitz is not None):
            raise ProblemError("lipschitz: give the largest slope with shape lipschitz, and only then")
        if lipschitz is not None and not (lipschitz > 0 and math.isfinite(lipschitz)):
            raise ProblemError(f"lipschitz: must be positive and finite, not {lipschitz}")
        if up_to is not None and not (up_to > 0 and math.isfinite(up_to)):
            raise ProblemError(f"up_to: must be positive and finite, not {up_to}")
        if not tolerance > 0:
            raise ProblemError(f"tolerance: must be positive, not {tolerance}")
        if not points > EVEN + HALVES:
            raise ProblemError(f"points: must be more than {EVEN + HALVES}, not {points}")
        for name, value in {
            "function": function,
            "shape": shape,
            "lipschitz": lipschitz,
            "up_to": up_to,
            "tolerance": tolerance,
            "points": points,
            "_sampled": {},
        }.items():
            object.__setattr__(self, name, value)

    function: Callable[[float], float]
    shape: str
    lipschitz: float | None
    up_to: float | None
    tolerance: float
    points: int
    _sampled: dict[float, tuple[list[float], list[float], float]]

    def to_dict(self, budget: float = 1.0) -> dict[str, Any]:
        """The points with the keys of a problem file.

        Parameters
        ----------
        budget : float
            The budget, up to twice which the function is sampled.

        Returns
        -------
        dict
            A piecewise linear curve.

        Raises
        ------
        ProblemError
            If the function returns no success probability, or is not of its shape.

        Examples
        --------
        >>> Custom(lambda x: min(1.0, x), shape="concave", up_to=2.0).to_dict()["family"]
        'piecewise'
        """
        spend, success, _ = self._samples(budget)
        written: dict[str, Any] = {"family": "piecewise", "spend": spend, "success": success}
        scales = {"ceiling": self.ceiling, "floor": self.floor}
        return written | {key: value for key, value in scales.items() if value is not None}

    def error(self, budget: float = 1.0) -> float:
        """The largest distance of the points from the function midway between neighbours.

        Parameters
        ----------
        budget : float
            As in `to_dict`.

        Returns
        -------
        float
            The distance.

        Raises
        ------
        ProblemError
            As `to_dict`.

        Examples
        --------
        >>> Custom(lambda x: x / (1 + x), shape="concave").error(budget=10.0) <= 1e-6
        True
        """
        return self._samples(budget)[2]

    def __repr__(self) -> str:
        return f"Custom({getattr(self.function, '__name__', 'function')}, shape={self.shape!r})"

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    def _samples(self, budget: float) -> tuple[list[float], list[float], float]:
        end = self.up_to if self.up_to is not None else 2.0 * budget
        if end not in self._sampled:
            # An invalid budget has its own error, from the problem.
            good = end if end > 0 and math.isfinite(end) else 1.0
            known, error = self._refined(good)
            spend = sorted(known)
            success = self._checked(spend, [known[place] for place in spend])
            if self.shape == "concave":
                spend, success = hull(spend, success)
            self._sampled[end] = (spend, success, error)
        return self._sampled[end]

    def _value(self, spend: float) -> float:
        value = float(self.function(spend))
        if not -SLACK <= value <= 1.0 + SLACK:
            raise ProblemError(f"custom curve: must be between 0 and 1, but is {value} at spend {spend}")
        return min(max(value, 0.0), 1.0)

    def _refined(self, end: float) -> tuple[dict[float, float], float]:
        first = {end * step / EVEN for step in range(EVEN + 1)} | {end * 0.5**half for half in range(7, HALVES)}
        known = {spend: self._value(spend) for spend in first}
        gaps: list[tuple[float, float, float, float, float]] = []

        def look(low: float, high: float) -> None:
            middle = 0.5 * (low + high)
            if high - low > NARROW * end:
                value = self._value(middle)
                heapq.heappush(gaps, (-abs(value - 0.5 * (known[low] + known[high])), low, high, middle, value))

        ordered = sorted(first)
        for low, high in zip(ordered, ordered[1:]):
            look(low, high)
        while gaps and len(known) < self.points and -gaps[0][0] > self.tolerance:
            _, low, high, middle, value = heapq.heappop(gaps)
            known[middle] = value
            look(low, middle)
            look(middle, high)
        return known, -gaps[0][0] if gaps else 0.0

    def _checked(self, spend: list[float], success: list[float]) -> list[float]:
        """The values if they have the declared shape, corrected by rounding errors."""
        highest = 0.0
        rising = []
        for place, value in zip(spend, success):
            if value < highest - SLACK:
                raise ProblemError(f"custom curve: falls from {highest} to {value} at spend {place}, but a curve must not decrease")
            highest = max(highest, value)
            rising.append(highest)
        places = list(zip(spend, spend[1:], rising, rising[1:]))
        if self.lipschitz is not None:
            for low, high, start, end in places:
                if end - start > self.lipschitz * (high - low) * (1.0 + SLACK) + SLACK:
                    self._refuse(f"declared Lipschitz with constant {self.lipschitz}", low, high)
        if self.shape == "concave":
            upper = hull(spend, rising)
            for (low, high), value in zip(zip(spend, spend[1:]), rising):
                if between(upper, low) - value > SLACK:
                    self._refuse("declared concave", low, high)
        return rising

    def _refuse(self, declared: str, low: float, high: float) -> None:
        raise ProblemError(f"custom curve: {declared}, but this is violated between spends {low} and {high}")


def hull(spend: list[float], success: list[float]) -> tuple[list[float], list[float]]:
    """The points of the concave envelope."""
    kept: list[tuple[float, float]] = []
    for place, value in zip(spend, success):
        while len(kept) > 1 and _turns_up(kept[-2], kept[-1], (place, value)):
            kept.pop()
        kept.append((place, value))
    return [place for place, _ in kept], [value for _, value in kept]


def _turns_up(one: tuple[float, float], two: tuple[float, float], three: tuple[float, float]) -> bool:
    return (two[1] - one[1]) * (three[0] - two[0]) <= (three[1] - two[1]) * (two[0] - one[0])


def between(points: tuple[list[float], list[float]], place: float) -> float:
    """The value of a piecewise linear function."""
    from bisect import bisect_right

    spend, success = points
    right = min(max(bisect_right(spend, place), 1), len(spend) - 1)
    low, high = spend[right - 1], spend[right]
    return success[right - 1] + (success[right] - success[right - 1]) * (place - low) / (high - low)
