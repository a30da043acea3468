"""Random problems of many kinds, as problem files have them."""

import random

# Shares of the tasks that a budget funds.
SHARES = (0.1, 0.3, 0.5, 0.7, 0.9)


class Draw:
    """Uses only `random()`, whose stream is the same in all versions of Python."""

    def __init__(self, *seed):
        self.random = random.Random("/".join(map(str, seed))).random

    def between(self, low, high):
        return low + (high - low) * self.random()

    def whole(self, low, high):
        """From `low` to `high`, both included."""
        return low + int((high - low + 1) * self.random())

    def around(self, middle, spread):
        return middle * self.between(1.0 - spread, 1.0 + spread)


def of_curves(curve):
    """Curves of one kind, random values, and a budget of one per task."""

    def make(draw, tasks, _):
        made = [curve(draw, task, tasks) for task in range(tasks)]
        tasks = [{"curve": curve, "value": draw.between(0.05, 1.0)} for curve in made]
        return {"budget": float(len(tasks)), "task": tasks}

    return make


def exponential(draw, _task, _tasks):
    return {"family": "exponential", "scale": draw.between(0.3, 5.0)}


def power(draw, _task, tasks):
    scale = tasks * draw.between(0.5, 4.0)
    return {"family": "power", "exponent": draw.between(0.2, 0.9), "scale": scale}


def linear(draw, task, _tasks):
    """A saturating curve, or two to five pieces of falling slope."""
    if task % 2 == 0:
        return {"family": "saturating", "full_at": draw.between(0.3, 5.0)}
    pieces = draw.whole(2, 5)
    slopes = sorted((draw.between(0.1, 1.0) for _ in range(pieces)), reverse=True)
    spend, success = [0.0], [0.0]
    for slope in slopes:
        width = draw.between(0.2, 2.0)
        spend.append(spend[-1] + width)
        success.append(success[-1] + slope * width)
    return {"family": "piecewise", "spend": spend, "success": [y / success[-1] for y in success]}


def concave_hill(draw, _task, _tasks):
    steepness = draw.between(0.3, 1.0)
    return {"family": "hill", "half_at": draw.between(0.5, 8.0), "steepness": steepness}


def concave_logistic(draw, _task, _tasks):
    return {"family": "logistic", "mid": 0.0, "width": draw.between(0.3, 3.0)}


CONCAVE = (exponential, power, linear, concave_hill, concave_logistic)


def concave(draw, task, tasks):
    return CONCAVE[task % len(CONCAVE)](draw, task // len(CONCAVE), tasks)


def hill(draw, _task, _tasks):
    steepness = draw.between(1.5, 5.0)
    return {"family": "hill", "half_at": draw.between(0.5, 8.0), "steepness": steepness}


def s_logistic(draw, _task, _tasks):
    width = draw.between(0.1, 1.0)
    return {"family": "logistic", "mid": width * draw.between(1.0, 8.0), "width": width}


def similar(family, is_fixed):
    """Curves alike: the seed selects shape, spread and budget; `is_fixed`: only middles differ."""
    shapes = {"hill": (2, 3, 4, 8, 20), "logistic": (3, 4, 5, 8, 20)}[family]

    def make(draw, tasks, seed):
        spread = (0, 1, 2, 5, 10, 20)[seed % 6] / 100.0
        share = SHARES[(seed + seed // 5) % 5]
        made = []
        for _ in range(tasks):
            middle = draw.around(200.0, spread)
            shape, value = shapes[seed % 5], 0.5
            if not is_fixed:
                shape, value = draw.around(shape, 0.1), draw.around(value, spread)
            curve = {"family": family, "half_at": middle, "steepness": shape}
            if family == "logistic":
                curve = {"family": family, "mid": middle, "width": middle / shape}
            made.append({"curve": curve, "value": value})
        # A funded task takes about 1.3 times its middle.
        return {"budget": 260.0 * tasks * share * draw.around(1.0, 0.1), "task": made}

    return make


def of_steps(jumps, worth):
    """One to `jumps` jumps at whole costs; `worth(draw, cost)` is the value of a jump."""

    def make(draw, tasks, _):
        made, most = [], 0
        for _ in range(tasks):
            at = sorted({draw.whole(10, 1000) for _ in range(draw.whole(1, jumps))})
            values = sorted(worth(draw, cost) for cost in at)
            curve = {"family": "threshold", "at": float(at[0])}
            if jumps > 1:
                success = [value / values[-1] for value in values]
                curve = {"family": "steps", "at": list(map(float, at)), "success": success}
            made.append({"curve": curve, "value": values[-1]})
            most += at[-1]
        return {"budget": float(most * draw.whole(20, 60) // 100), "task": made}

    return make


def any_worth(draw, _cost):
    return draw.between(0.05, 1.0)


def correlated_worth(_draw, cost):
    """The strongly correlated knapsacks of the literature."""
    return (cost + 100) / 1200.0


thresholds = of_steps(1, any_worth)
staircases = of_steps(4, any_worth)
correlated_thresholds = of_steps(1, correlated_worth)
correlated_staircases = of_steps(5, correlated_worth)


def empirical(draw, tasks, _):
    """Twenty samples per task, skewed to the low side as prices and running times are."""
    made = []
    for _ in range(tasks):
        low, width = draw.whole(10, 200), draw.whole(200, 800)
        samples = [low + int(width * draw.random() * draw.random()) for _ in range(20)]
        curve = {"family": "empirical", "samples": sorted(map(float, samples))}
        made.append({"curve": curve, "value": draw.between(0.05, 1.0)})
    return {"budget": 100.0 * tasks, "task": made}


def m_set(draw, tasks, seed):
    """Equal thresholds; one seed in five funds a single task, as in a classical bandit."""
    plays = 1 if seed % 5 == 0 else max(1, int(SHARES[seed % 5] * tasks))
    curve = {"family": "threshold", "at": 100.0}
    made = [{"curve": curve, "value": draw.between(0.05, 1.0)} for _ in range(tasks)]
    return {"budget": 100.0 * plays, "task": made}


def excluded(draw, tasks, seed):
    """One of four kinds of steps, and one exponential that is excluded."""
    kinds = (correlated_thresholds, empirical, correlated_staircases, m_set)
    problem = kinds[seed % len(kinds)](draw, tasks - 1, seed)
    curve = {"family": "exponential", "scale": 500.0}
    problem["task"].append({"curve": curve, "value": 1.0, "exclude": True})
    return problem


def even_costs(draw, tasks, _):
    """Values proportional to even costs, and an odd budget: no split spends all of it."""
    costs = [2 * draw.whole(1, 500) for _ in range(tasks)]
    made = [
        {"curve": {"family": "threshold", "at": float(cost)}, "value": cost / 1000.0}
        for cost in costs
    ]
    return {"budget": float(2 * (sum(costs) // 5) + 1), "task": made}


def real_costs(low, rise):
    """Thresholds at costs that are not multiples of a unit; the values are linear in the costs."""

    def make(draw, tasks, _):
        made = []
        for _ in range(tasks):
            place = draw.random()
            curve = {"family": "threshold", "at": 0.1 + 7.9 * place}
            made.append({"curve": curve, "value": low + rise * place})
        return {"budget": float(tasks), "task": made}

    return make


def of_tiers(tiers, ramp):
    """`tiers(draw, seed)` flat stretches, each before a ramp `ramp(draw, seed)` times as long."""

    def make(draw, tasks, seed):
        made = []
        for _ in range(tasks):
            spend, success = [0.0], [0.0]
            for _ in range(tiers(draw, seed)):
                flat = draw.between(20.0, 100.0)
                spend += [spend[-1] + flat, spend[-1] + flat * (1.0 + ramp(draw, seed))]
                success += [success[-1], success[-1] + draw.between(0.1, 1.0)]
            success = [height / success[-1] for height in success]
            curve = {"family": "piecewise", "spend": spend, "success": success}
            made.append({"curve": curve, "value": draw.between(0.05, 1.0)})
        return {"budget": 68.0 * tasks, "task": made}

    return make


plateaus = of_tiers(lambda draw, _: draw.whole(1, 3), lambda draw, _: draw.between(0.05, 1.0))
pricing_tiers = of_tiers(
    lambda _, seed: (2, 3, 5)[seed % 3],
    lambda draw, seed: draw.around((0.02, 0.1, 0.3)[seed // 3 % 3], 0.5),
)


def correlated_tiers(draw, tasks, _):
    """Two tiers per task; the value is nearly the cost."""
    made, most = [], 0.0
    for _ in range(tasks):
        cost, ramp, second = draw.whole(1, 1000), draw.between(0.05, 0.2), draw.between(0.3, 0.7)
        spend = [cost * part for part in (0.0, 0.5, 0.5 + ramp, 1.0 + ramp, 1.0 + 2.0 * ramp)]
        curve = {"family": "piecewise", "spend": spend, "success": [0.0, 0.0, second, second, 1.0]}
        value = correlated_worth(draw, cost) * draw.around(1.0, 0.05)
        made.append({"curve": curve, "value": value})
        most += spend[-1]
    return {"budget": most * SHARES[draw.whole(1, 3)], "task": made}


def lots(draw, tasks, _):
    made = []
    for _ in range(tasks):
        lot = float(draw.whole(10, 1000))
        curve = {"family": "exponential", "scale": draw.between(100.0, 1000.0)}
        value = draw.between(0.05, 1.0)
        made.append({"curve": curve, "value": value, "at_least": lot, "max": lot})
    return {"budget": float(100 * tasks + draw.whole(0, 99)), "task": made}


def steps_and_one(steps, scale, value):
    """Steps worth their cost and 100, and one exponential."""

    def make(draw, tasks, _):
        problem = steps(draw, tasks - 1, 0)
        curve = {"family": "exponential", "scale": scale}
        problem["task"].append({"curve": curve, "value": value})
        return problem

    return make


def correlated_mixture(draw, tasks, _):
    """Nine thresholds to one exponential, both worth about the same for their cost."""
    problem = correlated_thresholds(draw, tasks, 0)
    for task in problem["task"][::10]:
        scale = draw.whole(10, 1000)
        task["curve"] = {"family": "exponential", "scale": float(scale)}
        task["value"] = correlated_worth(draw, scale)
    return problem


def thresholds_and_exponentials(draw, tasks, _):
    problem = thresholds(draw, tasks, 0)
    for task in problem["task"][::2]:
        task["curve"] = {"family": "exponential", "scale": draw.between(30.0, 1000.0)}
    return problem


def all_families(draw, task, tasks):
    at = sorted(draw.between(0.1, 8.0) for _ in range(3))
    success = sorted(draw.random() for _ in range(3))
    samples = sorted(draw.between(0.1, 6.0) for _ in range(20))
    kinds = (
        lambda: concave(draw, task // 8, tasks),
        lambda: hill(draw, task, tasks),
        lambda: s_logistic(draw, task, tasks),
        lambda: {"family": "steps", "at": at, "success": success},
        lambda: {"family": "threshold", "at": at[1]},
        lambda: {"family": "piecewise", "spend": [0.0, *at], "success": [0.0, *success]},
        lambda: {"family": "empirical", "samples": samples},
        lambda: power(draw, task, tasks),
    )
    return kinds[task % len(kinds)]()
