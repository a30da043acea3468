"""Curves: the success probability by spend, with the families and keys of problem files.

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
    """Converts numpy's numbers and arrays to Python's, for JSON."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    return value


@dataclass(frozen=True)
class Curve:
    """The base of all families: ``success(x) = floor + (ceiling - floor) * family(x)``.

    Numbers are checked when a problem is made of the curve, all at once.

    Parameters
    ----------
    ceiling, floor : float, optional
        The largest success probability, and the one at zero spend; by default 1 and 0.

    Examples
    --------
    >>> isinstance(Power(0.5, ceiling=0.8), Curve), Power(0.5, ceiling=0.8)(1.0).item()
    (True, 0.8)
    """

    family: ClassVar[str] = ""

    ceiling: float | None = field(default=None, kw_only=True)
    floor: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = plain(getattr(self, entry.name))
            # Tuples are immutable.
            object.__setattr__(self, entry.name, tuple(value) if isinstance(value, list) else value)

    def to_dict(self, budget: float = 1.0) -> dict[str, Any]:
        """The curve with the keys of a problem file.

        Parameters
        ----------
        budget : float
            The budget, up to twice which functions of your own are sampled.

        Returns
        -------
        dict
            The keys that are set.

        Examples
        --------
        >>> Power(0.5, ceiling=0.8).to_dict()
        {'family': 'power', 'ceiling': 0.8, 'exponent': 0.5}
        """
        written = {entry.name: plain(getattr(self, entry.name)) for entry in fields(self)}
        return {"family": self.family, **{key: value for key, value in written.items() if value is not None}}

    def __call__(self, spend: ArrayLike, budget: float = 1.0) -> Floats:
        """The success probability at each spend.

        Parameters
        ----------
        spend : array_like of float
            Spends.
        budget : float
            The scale of a power curve that has none.

        Returns
        -------
        numpy.ndarray
            Probabilities, in the shape of the spends.

        Raises
        ------
        ProblemError
            If a parameter of the curve is out of range.

        Examples
        --------
        >>> Hill(half_at=120, steepness=2)([0, 120]).tolist()
        [0.0, 0.5]
        """
        import numpy as np

        spends = np.asarray(spend, dtype=np.float64)
        found = _outlay.success(json.dumps(self.to_dict(budget)), budget, spends.ravel())
        return found.reshape(spends.shape)


@dataclass(frozen=True)
class Power(Curve):
    """``min(1, (x / scale) ** exponent)``

    Parameters
    ----------
    exponent : float
        Between 0 and 1 for diminishing returns.
    scale : float, optional
        The spend of certain success; by default the budget.
    ceiling, floor : float, optional
        The largest success probability, and the one at zero spend.

    Examples
    --------
    >>> from outlay import Power
    >>> Power(0.5, scale=100)([25]).round(6).tolist()
    [0.5]
    """

    family: ClassVar[str] = "power"
    exponent: float
    scale: float | None = None


@dataclass(frozen=True)
class Saturating(Curve):
    """``min(1, x / full_at)``

    Parameters
    ----------
    full_at : float
        The spend of certain success.
    ceiling, floor : float, optional
        The largest success probability, and the one at zero spend.

    Examples
    --------
    >>> from outlay import Saturating
    >>> Saturating(80)([20]).round(6).tolist()
    [0.25]
    """

    family: ClassVar[str] = "saturating"
    full_at: float


@dataclass(frozen=True)
class Exponential(Curve):
    """``1 - exp(-x / scale)``

    Parameters
    ----------
    scale : float
        The spend at which success is 63 %.
    ceiling, floor : float, optional
        The largest success probability, and the one at zero spend.

    Examples
    --------
    >>> from outlay import Exponential
    >>> Exponential(90)([90]).round(6).tolist()
    [0.632121]
    """

    family: ClassVar[str] = "exponential"
    scale: float


@dataclass(frozen=True)
class Hill(Curve):
    """``x**s / (x**s + h**s)`` with h = half_at and s = steepness

    Parameters
    ----------
    half_at : float
        The spend at which success is half the ceiling.
    steepness : float
        Above 1 the curve is S-shaped.
    ceiling, floor : float, optional
        The largest success probability, and the one at zero spend.

    Examples
    --------
    >>> from outlay import Hill
    >>> Hill(half_at=120, steepness=2.5, ceiling=0.8)([120]).round(6).tolist()
    [0.4]
    """

    family: ClassVar[str] = "hill"
    half_at: float
    steepness: float


@dataclass(frozen=True)
class Logistic(Curve):
    """A logistic curve, shifted and scaled to run from 0 to 1

    Parameters
    ----------
    mid : float
        The spend in the middle.
    width : float
        The width of the rise.
    ceiling, floor : float, optional
        The largest success probability, and the one at zero spend.

    Examples
    --------
    >>> from outlay import Logistic
    >>> Logistic(mid=320, width=40)([1000000.0]).round(6).tolist()
    [1.0]
    """

    family: ClassVar[str] = "logistic"
    mid: float
    width: float


@dataclass(frozen=True)
class Threshold(Curve):
    """Success 1 from a spend on, 0 below

    Parameters
    ----------
    at : float
        The spend.
    ceiling, floor : float, optional
        The largest success probability, and the one at zero spend.

    Examples
    --------
    >>> from outlay import Threshold
    >>> Threshold(70)([69, 70]).round(6).tolist()
    [0.0, 1.0]
    """

    family: ClassVar[str] = "threshold"
    at: float


@dataclass(frozen=True)
class Steps(Curve):
    """``success[i]`` from spend ``at[i]`` on, 0 before the first

    Parameters
    ----------
    at : sequence of float
        Increasing spends.
    success : sequence of float
        The success probability from each spend on.
    ceiling, floor : float, optional
        The largest success probability, and the one at zero spend.

    Examples
    --------
    >>> from outlay import Steps
    >>> Steps(at=[10, 20], success=[0.4, 0.9])([5, 15, 25]).round(6).tolist()
    [0.0, 0.4, 0.9]
    """

    family: ClassVar[str] = "steps"
    at: Numbers
    success: Numbers


@dataclass(frozen=True)
class Piecewise(Curve):
    """Linear between the points ``(spend[i], success[i])``, constant after the last

    Parameters
    ----------
    spend : sequence of float
        Increasing spends; the first is 0.
    success : sequence of float
        The success probability at each spend.
    ceiling, floor : float, optional
        The largest success probability, and the one at zero spend.

    Examples
    --------
    >>> from outlay import Piecewise
    >>> Piecewise(spend=[0, 10, 20], success=[0, 0.5, 0.8])([5, 15]).round(6).tolist()
    [0.25, 0.65]
    """

    family: ClassVar[str] = "piecewise"
    spend: Numbers
    success: Numbers


@dataclass(frozen=True)
class Empirical(Curve):
    """The share of samples that are at most the spend

    Parameters
    ----------
    samples : sequence of float, optional
        The spends that success required.
    file, column : str, optional
        A CSV file and its column, in place of samples.
    where : mapping, optional
        Use only rows with these values in other columns.
    ceiling, floor : float, optional
        The largest success probability, and the one at zero spend.

    Examples
    --------
    >>> from outlay import Empirical
    >>> Empirical(samples=[10, 20, 30, 40])([25]).round(6).tolist()
    [0.5]
    """

    family: ClassVar[str] = "empirical"
    samples: Numbers | None = None
    file: str | None = None
    column: str | None = None
    where: Mapping[str, str] | None = None
