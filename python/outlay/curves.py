"""Curves: how the chance of success rises with what is spent. The families and words of problem files.

>>> Hill(half_at=120, steepness=2.5, ceiling=0.8)([0, 120, 1e9]).round(6).tolist()
[0.0, 0.4, 0.8]
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Union

from . import _outlay

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = [
    "Curve",
    "Empirical",
    "Exponential",
    "Hill",
    "Logistic",
    "Piecewise",
    "Power",
    "Saturating",
    "Steps",
    "Threshold",
]

Numbers = Union[Sequence[float], "Floats"]


def plain(value: Any) -> Any:
    """The value as JSON has it: numpy's numbers and arrays become Python's."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return value


@dataclass(frozen=True)
class Curve:
    """What every family shares: ``success(x) = floor + (ceiling - floor) * family(x)``.

    Numbers are checked when a problem is made of the curve, all at once.
    """

    family: ClassVar[str] = ""

    ceiling: float | None = field(default=None, kw_only=True)
    floor: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = plain(getattr(self, entry.name))
            # Lists that nobody can change later.
            object.__setattr__(self, entry.name, tuple(value) if isinstance(value, list) else value)

    def to_dict(self, budget: float = 1.0) -> dict[str, Any]:
        """The curve as a problem file has it. ``budget`` matters to functions of your own, which are sampled up to it."""
        written = {entry.name: plain(getattr(self, entry.name)) for entry in fields(self)}
        return {"family": self.family, **{key: value for key, value in written.items() if value is not None}}

    def __call__(self, spend: ArrayLike, budget: float = 1.0) -> Floats:
        """The chance of success at each spend; ``budget`` is the scale of a power curve without one."""
        import numpy as np

        spends = np.asarray(spend, dtype=np.float64)
        found = _outlay.success(json.dumps(self.to_dict(budget)), budget, spends.ravel())
        return found.reshape(spends.shape)


@dataclass(frozen=True)
class Power(Curve):
    """``min(1, (x / scale) ** exponent)``; the scale is the budget if nobody says."""

    family: ClassVar[str] = "power"
    exponent: float
    scale: float | None = None


@dataclass(frozen=True)
class Saturating(Curve):
    """``min(1, x / full_at)``"""

    family: ClassVar[str] = "saturating"
    full_at: float


@dataclass(frozen=True)
class Exponential(Curve):
    """``1 - exp(-x / scale)``"""

    family: ClassVar[str] = "exponential"
    scale: float


@dataclass(frozen=True)
class Hill(Curve):
    """``x**s / (x**s + h**s)`` with h = half_at, s = steepness."""

    family: ClassVar[str] = "hill"
    half_at: float
    steepness: float


@dataclass(frozen=True)
class Logistic(Curve):
    """A logistic curve with middle ``mid`` and width ``width``, shifted and stretched to run from 0 to 1."""

    family: ClassVar[str] = "logistic"
    mid: float
    width: float


@dataclass(frozen=True)
class Threshold(Curve):
    """1 from spend ``at`` on, 0 below."""

    family: ClassVar[str] = "threshold"
    at: float


@dataclass(frozen=True)
class Steps(Curve):
    """``success[i]`` from spend ``at[i]`` on, 0 before the first."""

    family: ClassVar[str] = "steps"
    at: Numbers
    success: Numbers


@dataclass(frozen=True)
class Piecewise(Curve):
    """Linear between the points ``(spend[i], success[i])``, constant after the last; the first is at spend 0."""

    family: ClassVar[str] = "piecewise"
    spend: Numbers
    success: Numbers


@dataclass(frozen=True)
class Empirical(Curve):
    """The share of samples that are at most the spend. Samples are given, or read from a column of a CSV ``file``."""

    family: ClassVar[str] = "empirical"
    samples: Numbers | None = None
    file: str | None = None
    column: str | None = None
    where: Mapping[str, str] | None = None
