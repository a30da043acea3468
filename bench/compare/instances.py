"""The instances, as problem files. Amounts are in fair shares (budget = K), which suits the
tolerances of the other solvers."""

import numpy as np


def make(kind, tasks, seed):
    return KINDS[kind](tasks, seed)


def concave(tasks, seed):
    """Power, exponential and saturating curves, a third each."""
    random = np.random.default_rng(seed)
    curves = []
    for task in range(tasks):
        if task % 3 == 0:
            curves.append({"family": "power", "exponent": random.uniform(0.2, 0.9), "scale": tasks * random.uniform(0.5, 4.0)})
        elif task % 3 == 1:
            curves.append({"family": "exponential", "scale": random.uniform(0.3, 5.0)})
        else:
            curves.append({"family": "saturating", "full_at": random.uniform(0.3, 5.0)})
    return problem(curves, random)


def hill(tasks, seed):
    """S-shaped curves; the optimum funds about a fifth of the tasks."""
    random = np.random.default_rng(seed)
    curves = [{"family": "hill", "half_at": random.uniform(0.5, 8.0), "steepness": random.uniform(1.5, 5.0)} for _ in range(tasks)]
    return problem(curves, random)


def steps(tasks, seed):
    """One to four jumps per task."""
    random = np.random.default_rng(seed)
    curves = []
    for _ in range(tasks):
        jumps = int(random.integers(1, 5))
        at = np.sort(random.uniform(0.1, 8.0, jumps)).tolist()
        curves.append({"family": "steps", "at": at, "success": np.sort(random.uniform(0.0, 1.0, jumps)).tolist()})
    return problem(curves, random)


def correlated(tasks, seed):
    """One jump per task, higher if it costs more, and equal values: a hard knapsack."""
    random = np.random.default_rng(seed)
    curves = []
    for place in random.uniform(0.0, 1.0, tasks):
        curves.append({"family": "steps", "at": [0.1 + 7.9 * place], "success": [0.2 + 0.8 * place]})
    return {"budget": float(tasks), "task": [{"curve": curve, "value": 1.0} for curve in curves]}


def problem(curves, random):
    tasks = [{"curve": curve, "value": random.uniform(0.05, 1.0)} for curve in curves]
    return {"budget": float(len(curves)), "task": tasks}


def successes(curve, spend):
    """Success of one curve at many spends, written independently of the engine."""
    family = curve["family"]
    if family == "power":
        return np.minimum(1.0, (spend / curve["scale"]) ** curve["exponent"])
    if family == "exponential":
        return -np.expm1(-spend / curve["scale"])
    if family == "saturating":
        return np.minimum(1.0, spend / curve["full_at"])
    if family == "hill":
        power = (spend / curve["half_at"]) ** curve["steepness"]
        return power / (1.0 + power)
    reached = np.searchsorted(np.array(curve["at"]) * (1 - 1e-12), spend, side="right")
    return np.array([0.0, *curve["success"]])[reached]


def worth(instance, spend):
    """The value of a split."""
    return float(sum(task["value"] * float(successes(task["curve"], x)) for task, x in zip(instance["task"], spend)))


KINDS = {"concave": concave, "hill": hill, "steps": steps, "correlated": correlated}
