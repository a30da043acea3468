"""Curves as problem files have them: success at a spend, and pieces for a linear solver.

Written independently of the engine, whose values are checked against this.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import partial

# Pieces of a smooth curve: chords of its convex part, of its concave part up to ten fair shares of
# the budget, and beyond.
CONVEX_PIECES, CONCAVE_PIECES, FAR_PIECES = 4, 16, 4
FAIR_SHARES = 10.0


def success(curve, spend):
    return SUCCESS[curve["family"]](curve, spend)


def worth(problem, spends):
    """The value of a split."""
    rewards = (
        task["value"] * success(task["curve"], spend)
        for task, spend in zip(problem["task"], spends, strict=True)
    )
    return math.fsum(rewards)


def logistic(x):
    return 1.0 / (1.0 + math.exp(-x)) if x >= 0.0 else math.exp(x) / (1.0 + math.exp(x))


def logistic_success(curve, spend):
    # (s(a) - s(b)) / (1 - s(b)) without cancellation, where a - b is spend / width.
    return logistic((spend - curve["mid"]) / curve["width"]) * -math.expm1(-spend / curve["width"])


def hill_success(curve, spend):
    power = (spend / curve["half_at"]) ** curve["steepness"]
    return power / (1.0 + power)


def piecewise_success(curve, spend):
    spends, heights = curve["spend"], curve["success"]
    after = bisect_right(spends, spend)
    if after == len(spends):
        return heights[-1]
    share = (spend - spends[after - 1]) / (spends[after] - spends[after - 1])
    return heights[after - 1] + share * (heights[after] - heights[after - 1])


def step_success(curve, spend):
    reached = bisect_right(curve["at"], spend)
    return curve["success"][reached - 1] if reached else 0.0


SUCCESS = {
    "power": lambda curve, x: min(1.0, (x / curve["scale"]) ** curve["exponent"]),
    "exponential": lambda curve, x: -math.expm1(-x / curve["scale"]),
    "saturating": lambda curve, x: min(1.0, x / curve["full_at"]),
    "hill": hill_success,
    "logistic": logistic_success,
    "threshold": lambda curve, x: float(x >= curve["at"]),
    "steps": step_success,
    "empirical": lambda curve, x: bisect_right(curve["samples"], x) / len(curve["samples"]),
    "piecewise": piecewise_success,
}
STEPS = ("threshold", "steps", "empirical")
LINEAR = ("saturating", "piecewise")


def is_exact(problem):
    """True if the pieces of every task are its curve, so that a bound on them is a bound."""
    return all(
        task.get("exclude") or "at_least" in task or task["curve"]["family"] in STEPS + LINEAR
        for task in problem["task"]
    )


@dataclass
class Run:
    """A point of a curve, and concave pieces that follow it: pairs of width and gain."""

    spend: float
    value: float
    pieces: list = field(default_factory=list)


def runs(task, budget, fair_share):
    """The curve of a task, times its value, as runs of which a split uses at most one."""
    curve, value = task["curve"], task["value"]
    if task.get("exclude"):
        return []
    if "at_least" in task:
        assert task["at_least"] == task["max"], "only whole lots have a model"
        return [Run(task["max"], value * success(curve, task["max"]))]
    if curve["family"] in STEPS:
        return [Run(at, value * success(curve, at)) for at in jumps(curve)]
    return concave_runs([(x, value * success(curve, x)) for x in knots(curve, budget, fair_share)])


def jumps(curve):
    if curve["family"] == "threshold":
        return [curve["at"]]
    return curve["at"] if curve["family"] == "steps" else sorted(set(curve["samples"]))


def concave_runs(points):
    """Joins pieces as long as their slopes fall; flat pieces gain nothing and are left out."""
    found, slope = [], 0.0
    for (left, low), (right, high) in zip(points, points[1:]):
        if high <= low or right <= left:
            slope = 0.0
            continue
        steeper = (high - low) / (right - left)
        if steeper > slope:
            found.append(Run(left, low))
        found[-1].pieces.append((right - left, high - low))
        slope = steeper
    return found


def knots(curve, budget, fair_share):
    """Spends between which the curve is taken as linear."""
    if curve["family"] == "saturating":
        return [0.0, curve["full_at"]]
    if curve["family"] == "piecewise":
        return curve["spend"]
    bend_at = inflection(curve)
    near = min(budget, max(FAIR_SHARES * fair_share, 3.0 * bend_at))
    bend, middle, top = (success(curve, x) for x in (min(bend_at, near), near, budget))
    levels = [
        *between(0.0, bend, CONVEX_PIECES, 1.0),
        # Closer together towards the top, where many good splits lie.
        *between(bend, middle, CONCAVE_PIECES, 1.5),
        *between(middle, top, FAR_PIECES, 1.5),
    ]
    last = min(budget, curve["scale"]) if curve["family"] == "power" else budget
    inner = map(partial(spend_at, curve), levels)
    return sorted({x for x in inner if x < last} | {last})


def between(low, high, pieces, exponent):
    """The lower ends of pieces that become shorter if the exponent is above 1."""
    if high <= low:
        return []
    parts = (1.0 - (1.0 - step / pieces) ** exponent for step in range(pieces))
    return [low + (high - low) * part for part in parts]


def inflection(curve):
    """Where an S-curve turns from convex to concave; 0 for a concave one."""
    if curve["family"] == "hill" and curve["steepness"] > 1.0:
        steepness = curve["steepness"]
        return curve["half_at"] * ((steepness - 1.0) / (steepness + 1.0)) ** (1.0 / steepness)
    return max(curve["mid"], 0.0) if curve["family"] == "logistic" else 0.0


def spend_at(curve, level):
    """The inverse of a smooth curve, for levels in [0, 1)."""
    family = curve["family"]
    if level <= 0.0:
        return 0.0
    if level >= 1.0:
        return math.inf
    if family == "power":
        return curve["scale"] * level ** (1.0 / curve["exponent"])
    if family == "exponential":
        return -curve["scale"] * math.log1p(-level)
    if family == "hill":
        return curve["half_at"] * (level / (1.0 - level)) ** (1.0 / curve["steepness"])
    low = logistic(-curve["mid"] / curve["width"])
    odds = (low + (1.0 - low) * level) / ((1.0 - low) * (1.0 - level))
    return max(0.0, curve["mid"] + curve["width"] * math.log(odds))
