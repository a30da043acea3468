"""Curves that people have: from pymc-marketing, Robyn and Meridian.

Those models give what a channel brings for a spend, in sales or money. Here a curve is a chance between 0 and 1 and the scale is in the
value, so that each function gives back both: ``value * curve(spend)`` is what the model says the channel brings.

>>> from outlay.interop import problem_of, pymc_marketing, robyn
>>> channels = {
...     "tv": pymc_marketing("logistic", lam=3.2, beta=0.4, channel_scale=900.0, target_scale=5000.0),
...     "search": robyn(alpha=2.1, gamma=0.4, coefficient=1500.0, spend_range=(0.0, 400.0)),
... }
>>> curve, value = channels["tv"]
>>> curve.mid, curve.width, value
(0.0, 281.25, 2000.0)
>>> split = problem_of(channels, budget=600.0).allocate()
>>> split.status
'optimal'
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .curves import Curve, Hill, Logistic, Piecewise, Power
from .custom import Custom
from .errors import ProblemError
from .problem import Problem, Task

__all__ = ["from_function", "meridian", "problem_of", "pymc_marketing", "robyn"]

Channel = tuple[Curve, float]

# A mean over draws may decrease by this much because of rounding.
ROUNDING = 1e-9


def pymc_marketing(
    saturation: str,
    *,
    channel_scale: float = 1.0,
    target_scale: float = 1.0,
    up_to: float | None = None,
    **parameters: float,
) -> Channel:
    """The curve and value of a pymc-marketing saturation, by its name and parameters there.

    All of them are families here, so nothing is approximated. Carry-over is not part of a curve: the spend is that of a steady plan,
    which a normalised adstock leaves unchanged. The formulas:
    https://www.pymc-marketing.io/en/stable/api/generated/pymc_marketing.mmm.transformers.html

    Parameters
    ----------
    saturation : str
        ``logistic`` (lam, beta), ``inverse_scaled_logistic`` (lam, beta), ``tanh`` (b, c), ``tanh_baselined`` (x0, gain, r, beta),
        ``michaelis_menten`` (alpha, lam), ``hill`` (slope, kappa, beta), ``hill_sigmoid`` (sigma, beta, lam) or ``root`` (alpha, beta).
    channel_scale, target_scale : float
        The numbers by which the model divides the spend and the target.
    up_to : float, optional
        The largest spend of a ``root``, which never saturates.
    **parameters : float
        The parameters of the saturation.

    Returns
    -------
    curve, value : Curve, float
        ``value * curve(spend)`` is the model's response.

    Raises
    ------
    ProblemError
        If the saturation or a parameter is unknown, missing or out of range.

    Examples
    --------
    >>> curve, value = pymc_marketing("michaelis_menten", alpha=0.6, lam=0.5, channel_scale=900.0, target_scale=5000.0)
    >>> curve.half_at, value
    (450.0, 3000.0)
    """
    if saturation not in SATURATIONS:
        raise ProblemError(f"saturation: `{saturation}` is not known: there are {', '.join(SATURATIONS)}; or use `from_function`")
    needed, make = SATURATIONS[saturation]
    if set(parameters) != set(needed):
        raise ProblemError(f"saturation: {saturation} has the parameters {', '.join(needed)}, not {', '.join(parameters) or 'none'}")
    for name, number in {**parameters, "channel_scale": channel_scale, "target_scale": target_scale}.items():
        positive(name, number)
    if saturation == "root":
        if up_to is None:
            raise ProblemError("up_to: is missing: a root curve never ends, so say up to which spend it is meant")
        parameters["up_to"] = positive("up_to", up_to) / channel_scale
    curve, value = make(channel_scale, **{name: float(number) for name, number in parameters.items()})
    return curve, value * target_scale


def logistic(scale: float, lam: float, beta: float) -> Channel:
    return Logistic(mid=0.0, width=scale / lam), beta


def inverse_scaled_logistic(scale: float, lam: float, beta: float) -> Channel:
    return logistic(scale, math.log(3.0) / lam, beta)


def tanh(scale: float, b: float, c: float) -> Channel:
    # tanh(z) is the logistic curve around 0 at twice the rate.
    return logistic(scale, 2.0 / (b * c), b)


def tanh_baselined(scale: float, x0: float, gain: float, r: float, beta: float) -> Channel:
    if r >= 1.0:
        raise ProblemError(f"r: must be below 1, not {r}")
    return logistic(scale, 2.0 * math.atanh(r) / x0, beta * gain * x0 / r)


def michaelis_menten(scale: float, alpha: float, lam: float) -> Channel:
    return Hill(half_at=lam * scale, steepness=1.0), alpha


def hill(scale: float, slope: float, kappa: float, beta: float) -> Channel:
    return Hill(half_at=kappa * scale, steepness=slope), beta


def hill_sigmoid(scale: float, sigma: float, beta: float, lam: float) -> Channel:
    # The model subtracts the sigmoid's value at 0, and so does the curve; the remaining maximum is
    # the value.
    return Logistic(mid=lam * scale, width=scale / beta), sigma / (1.0 + math.exp(-beta * lam))


def root(scale: float, alpha: float, beta: float, up_to: float) -> Channel:
    if alpha > 1.0:
        raise ProblemError(f"alpha: must be at most 1, not {alpha}")
    return Power(exponent=alpha, scale=up_to * scale), beta * up_to**alpha


SATURATIONS: dict[str, tuple[tuple[str, ...], Callable[..., Channel]]] = {
    "logistic": (("lam", "beta"), logistic),
    "inverse_scaled_logistic": (("lam", "beta"), inverse_scaled_logistic),
    "tanh": (("b", "c"), tanh),
    "tanh_baselined": (("x0", "gain", "r", "beta"), tanh_baselined),
    "michaelis_menten": (("alpha", "lam"), michaelis_menten),
    "hill": (("slope", "kappa", "beta"), hill),
    "hill_sigmoid": (("sigma", "beta", "lam"), hill_sigmoid),
    "root": (("alpha", "beta"), root),
}


def robyn(
    *,
    alpha: float,
    coefficient: float,
    gamma: float | None = None,
    spend_range: tuple[float, float] | None = None,
    inflexion: float | None = None,
    carryover: float = 1.0,
) -> Channel:
    """The curve and value of a Robyn channel: its Hill saturation, which is the family ``hill`` exactly.

    The formula: https://rdrr.io/cran/Robyn/man/saturation_hill.html

    Parameters
    ----------
    alpha, coefficient : float
        The shape of the saturation and the coefficient of the channel.
    gamma : float, optional
        With ``spend_range``, in place of ``inflexion``.
    spend_range : (float, float), optional
        The smallest and the largest adstocked spend of the model's window, between which Robyn interpolates.
    inflexion : float, optional
        The inflexion as Robyn reports it.
    carryover : float
        The adstocked amount of a steady spend of 1: 1 / (1 - theta) for a geometric adstock. With it the curve is in the spend of a period.

    Returns
    -------
    curve, value : Curve, float
        ``value * curve(spend)`` is the model's response.

    Raises
    ------
    ProblemError
        If a parameter is missing or out of range.

    Examples
    --------
    >>> curve, value = robyn(alpha=2.1, gamma=0.4, coefficient=1500.0, spend_range=(0.0, 400.0))
    >>> curve.half_at, curve.steepness, value
    (160.0, 2.1, 1500.0)
    """
    positive("alpha", alpha)
    positive("carryover", carryover)
    if inflexion is None:
        if gamma is None or spend_range is None:
            raise ProblemError("inflexion: is missing: give it, or gamma and spend_range")
        if not 0.0 <= gamma <= 1.0:
            raise ProblemError(f"gamma: must be between 0 and 1, not {gamma}")
        least, most = spend_range
        if not 0.0 <= least <= most:
            raise ProblemError(f"spend_range: must be two spends that rise, not {least} and {most}")
        inflexion = least * (1.0 - gamma) + most * gamma
    elif gamma is not None or spend_range is not None:
        raise ProblemError("inflexion: either it or gamma and spend_range, not both")
    return Hill(half_at=positive("inflexion", inflexion) / carryover, steepness=alpha), positive("coefficient", coefficient)


def meridian(table: Any, *, periods: float = 1.0, metric: str = "mean") -> dict[str, Channel]:
    """The curve and value of every channel of a Meridian response-curve table.

    Between the points the curve is a straight line, after the last one it is flat. For points a step h apart the line is at most
    h² / 8 times the curve's second derivative below it: use fine ``spend_multipliers`` that reach as far as you would spend. The table:
    https://developers.google.com/meridian/reference/api/meridian/analysis/analyzer/Analyzer#response_curves

    Parameters
    ----------
    table : xarray.Dataset, DataFrame or mapping
        The result of ``Analyzer.response_curves()``, or its columns ``channel``, ``spend`` and ``incremental_outcome``.
    periods : float
        The number of rounds of the model's time window, whose totals the spends are; the curves are per round.
    metric : str
        The rows to use, if there is a column ``metric``.

    Returns
    -------
    dict
        From channels to pairs of a curve and a value.

    Raises
    ------
    ProblemError
        If a column is missing, or the outcome of a channel decreases.

    Examples
    --------
    >>> table = {"channel": ["tv"] * 3, "spend": [0.0, 50.0, 100.0], "incremental_outcome": [0.0, 30.0, 40.0]}
    >>> curve, value = meridian(table)["tv"]
    >>> value, curve(50.0).item()
    (40.0, 0.75)
    """
    positive("periods", periods)
    columns = table.to_dataframe().reset_index() if hasattr(table, "to_dataframe") else table
    for name in ("channel", "spend", "incremental_outcome"):
        if name not in columns:
            raise ProblemError(f"table: the column `{name}` is missing")
    channel = np.asarray(columns["channel"])
    spend, outcome = (np.asarray(columns[name], dtype=float) for name in ("spend", "incremental_outcome"))
    wanted = np.asarray(columns["metric"]) == metric if "metric" in columns else np.ones(len(channel), dtype=bool)
    if not wanted.any():
        raise ProblemError(f"table: has no rows of metric `{metric}`")
    names = list(dict.fromkeys(channel[wanted].tolist()))
    return {str(name): points(str(name), *rows(spend, outcome, wanted & (channel == name), periods)) for name in names}


def rows(spend: Any, outcome: Any, chosen: Any, periods: float) -> tuple[Any, Any]:
    order = np.argsort(spend[chosen], kind="stable")
    return spend[chosen][order] / periods, outcome[chosen][order] / periods


def points(name: str, spend: Any, outcome: Any) -> Channel:
    """A curve through increasing points, from zero at zero spend."""
    if not (np.isfinite(spend).all() and np.isfinite(outcome).all()):
        raise ProblemError(f"table: channel `{name}` has a number that is none")
    if len(spend) == 0 or spend[0] > 0.0:
        spend, outcome = np.concatenate([[0.0], spend]), np.concatenate([[0.0], outcome])
    value = float(outcome.max())
    if not (spend[0] == 0.0 and value > 0.0):
        raise ProblemError(f"table: channel `{name}` brings nothing at any spend: leave it out")
    if abs(outcome[0]) > ROUNDING * value:
        raise ProblemError(f"table: channel `{name}` brings {outcome[0]} at no spend: an incremental outcome begins at 0")
    if (np.diff(outcome) < -ROUNDING * value).any() or (np.diff(spend) <= 0.0).any():
        raise ProblemError(f"table: channel `{name}` must have one row a spend, and bring more for more")
    success = np.clip(np.maximum.accumulate(outcome), 0.0, value) / value
    success[0] = 0.0
    return Piecewise(spend=spend.tolist(), success=success.tolist()), value


def from_function(response: Callable[[float], float], up_to: float, *, shape: str = "monotone", tolerance: float = 1e-6) -> Channel:
    """The curve and value of any response that does not decrease, as a function of the spend.

    It becomes points, as `outlay.Custom` chooses them.

    Parameters
    ----------
    response : callable
        Takes a spend and returns the outcome.
    up_to : float
        The largest spend; the curve is flat after it.
    shape : {"monotone", "concave", "lipschitz"}
        As in `outlay.Custom`.
    tolerance : float
        The largest error midway between points, relative to the largest outcome.

    Returns
    -------
    curve, value : Curve, float
        ``value * curve(spend)`` is the response.

    Raises
    ------
    ProblemError
        If the response is not positive at ``up_to``, or not of the declared shape.

    Examples
    --------
    >>> curve, value = from_function(lambda spend: 80 * spend / (spend + 50), up_to=150.0, shape="concave")
    >>> value, round(value * float(curve(50.0)), 3)
    (60.0, 40.0)
    """
    value = positive("response(up_to)", float(response(positive("up_to", up_to))))
    return Custom(lambda spend: response(spend) / value, shape=shape, up_to=up_to, tolerance=tolerance), value


def problem_of(channels: Mapping[str, Channel], *, budget: float, **options: Any) -> Problem:
    """A problem of these channels. The largest reward is the largest value, so values are the channels' outcomes.

    Parameters
    ----------
    channels : mapping
        From names to pairs of a curve and a value.
    budget : float
        The budget of a round.
    **options
        Further arguments of `outlay.Problem`.

    Returns
    -------
    Problem
        The problem.

    Raises
    ------
    ProblemError
        If the problem is invalid.

    Examples
    --------
    >>> channels = {"search": robyn(alpha=2.1, gamma=0.4, coefficient=1500.0, spend_range=(0.0, 400.0))}
    >>> problem_of(channels, budget=600.0).reward_max
    1500.0
    """
    tasks: Sequence[Task] = [Task(name, curve=curve, value=value) for name, (curve, value) in channels.items()]
    largest = max((value for _, value in channels.values()), default=1.0)
    return Problem(tasks=tasks, budget=budget, reward_max=largest, **options)


def positive(name: str, number: float) -> float:
    if not (math.isfinite(number) and number > 0.0):
        raise ProblemError(f"{name}: must be positive and finite, not {number}")
    return float(number)
