"""The shadow price of concave curves by scipy's brentq over the demand of all tasks in numpy, as a user would write it by hand."""

import time

import numpy as np
from scipy.optimize import brentq

# A relative error of the price of this size is below the gap that the engine certifies.
PRICE_TOLERANCE = 1e-12
NEWTON_STEPS, LAST_STEP = 60, 1e-7


def hill(tasks, random):
    """Steepness below one: the logarithm of the odds is the root of an equation, found by Newton's method for all tasks at once."""
    half_at, steepness, value = draw(tasks, random, 0.3, 5.0), random.uniform(0.3, 0.95, tasks), random.uniform(0.05, 1.0, tasks)
    shape, level = 1 / steepness - 1, np.log(value * steepness / half_at)
    odds = np.zeros(tasks)

    def demand(log_price):
        nonlocal odds
        for _ in range(NEWTON_STEPS):
            ratio = np.exp(odds)
            error = level - log_price - shape * odds - 2 * np.log1p(ratio)
            step = error / (shape + 2 * ratio / (1 + ratio))
            odds = odds + step
            # The next step would be about the square of this one.
            if np.abs(step).max() < LAST_STEP:
                break
        return half_at * np.exp(odds / steepness)

    return demand


def hyperbolic(tasks, random):
    half_at, value = draw(tasks, random, 0.3, 5.0), random.uniform(0.05, 1.0, tasks)
    return lambda log_price: np.maximum(np.sqrt(value * half_at * np.exp(-log_price)) - half_at, 0)


def logistic(tasks, random):
    width, value = draw(tasks, random, 0.3, 5.0), random.uniform(0.05, 1.0, tasks)
    slope = value / (2 * width)
    return lambda log_price: 2 * width * np.arctanh(np.sqrt(np.maximum(1 - np.exp(log_price) / slope, 0)))


def draw(tasks, random, low, high):
    """Sizes in fair shares of a budget of one."""
    return random.uniform(low, high, tasks) / tasks


CURVES = {"hill, steepness below 1": hill, "hill, steepness 1": hyperbolic, "logistic, mid 0": logistic}


def measure(curves, tasks, stretches):
    """Seconds of a search per stretch; None for unsupported curves. The bracket reaches from a
    quarter of the price to four times the price."""
    if curves not in CURVES:
        return None
    demand = CURVES[curves](tasks, np.random.default_rng(1))

    def excess(log_price):
        return demand(log_price).sum() - 1.0

    def search(low, high):
        return brentq(excess, low, high, xtol=PRICE_TOLERANCE)

    # Finding the bracket is not part of the time.
    middle = search(np.log(tasks) - 12, np.log(tasks) + 3)
    times = []
    for _ in range(stretches):
        begin = time.perf_counter()
        search(middle - np.log(4), middle + np.log(4))
        times.append(time.perf_counter() - begin)
    return times
