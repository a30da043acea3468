"""Hand-written methods: bisection of the price, and a greedy rule on a grid."""

import time

import numpy as np

from .. import instances


def bisection(instance, _):
    """The obvious method: 60 bisections of the log price, all tasks at once in numpy."""
    budget, tasks = instance["budget"], instance["task"]
    value = np.array([task["value"] for task in tasks])
    family = np.array([task["curve"]["family"] for task in tasks])
    power, exponential, ramp = (family == name for name in ("power", "exponential", "saturating"))
    exponent = np.array([task["curve"].get("exponent", 0.5) for task in tasks])[power]
    scale = np.array([task["curve"].get("scale", 1.0) for task in tasks])
    full = np.array([task["curve"].get("full_at", 1.0) for task in tasks])[ramp]
    top, wide = scale[power], scale[exponential]

    def wish(price):
        x = np.empty(len(tasks))
        x[power] = np.minimum(top * (price * top / (value[power] * exponent)) ** (1.0 / (exponent - 1.0)), top)
        x[exponential] = np.maximum(wide * np.log(value[exponential] / (price * wide)), 0.0)
        x[ramp] = np.where(value[ramp] / full > price, full, 0.0)
        return x

    seconds = np.inf
    for _ in range(3):
        begin = time.process_time()
        low, high = np.log(1e-9), np.log(1e9)
        for _ in range(60):
            middle = 0.5 * (low + high)
            if wish(np.exp(middle)).sum() > budget:
                low = middle
            else:
                high = middle
        spend = wish(np.exp(high))
        seconds = min(seconds, time.process_time() - begin)
    return seconds, spend, "no certificate" if spend.sum() > budget * (1 - 1e-9) else "budget left unspent at a jump"


def greedy(instance, _):
    """Meridian's rule, from its description: a grid of spends from zero upwards; each move goes to
    the channel and the grid point with the best average return of the additional spend, until the
    budget is used up. The steps are 1e-4 of the budget."""
    budget, tasks, steps = instance["budget"], instance["task"], 10_000
    grid = np.linspace(0.0, budget, steps + 1)
    worth = np.array([task["value"] * instances.successes(task["curve"], grid) for task in tasks])
    begin = time.process_time()
    at, left = np.zeros(len(tasks), dtype=int), steps
    best, to = np.empty(len(tasks)), np.empty(len(tasks), dtype=int)

    def look(task):
        here, there = at[task], min(at[task] + left, steps)
        returns = (worth[task, here + 1 : there + 1] - worth[task, here]) / np.arange(1, there - here + 1)
        move = int(np.argmax(returns)) if len(returns) else 0
        best[task], to[task] = (returns[move], here + 1 + move) if len(returns) else (0.0, here)

    for task in range(len(tasks)):
        look(task)
    while left > 0:
        task = int(np.argmax(best))
        if best[task] <= 0.0:
            break
        if to[task] - at[task] <= left:
            left -= to[task] - at[task]
            at[task] = to[task]
        # Otherwise it is considered again with the remaining budget.
        look(task)
    return time.process_time() - begin, grid[at], "no certificate"
