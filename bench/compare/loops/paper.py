"""Algorithm 1 of the paper on power curves in plain Python: numpy over the tasks, a loop over the
rounds.

`plain` is the loop as one writes it first, with numpy's own random numbers. `paper` is tuned, and uses outlay's random stream
(docs/explanation/model.md), so that its regret must agree with outlay's.
"""

import math

import numpy as np
from scipy.optimize import minimize

GOLDEN, TASK_STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1342543DE82EF95)
SEED = 1


def mix(bits):
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def uniforms(stream, first, count, tasks):
    """The numbers of `count` rounds from `first` on, one row per round."""
    with np.errstate(over="ignore"):
        base = mix(np.uint64(SEED) + GOLDEN * np.uint64(stream + 1))
        rounds = mix(base + GOLDEN * (np.arange(first, first + count, dtype=np.uint64) + np.uint64(1)))
        bits = mix(rounds[:, None] + TASK_STEP * (np.arange(tasks, dtype=np.uint64) + np.uint64(1)))
    return (bits >> np.uint64(11)) * 2.0**-53


class Newton:
    """Maximises sum v x^a over the simplex: Newton's method for the log price, from the last
    price."""

    def __init__(self, exponents):
        self.exponents = exponents
        self.elasticities = 1.0 / (1.0 - exponents)
        self.ones = np.ones(len(exponents))
        self.price = 0.0

    def success(self, values):
        slopes = self.exponents * values
        logarithms = np.log(slopes)
        while True:
            spend = np.exp(self.elasticities * (logarithms - self.price))
            spent = float(spend @ self.ones)
            excess = math.log(spent)
            if abs(excess) <= 1e-10:
                # v a x^(a-1) is the price, so x^a needs no power.
                return spend * (math.exp(self.price) / slopes)
            self.price += excess * spent / float(spend @ self.elasticities)


class Slsqp:
    """The same by scipy's SLSQP as pymc-marketing calls it: even split at the start, exact gradient, one equality, bounds."""

    IS_WARM = False

    # The slope at zero is infinite.
    LEAST = 1e-12

    def __init__(self, exponents):
        tasks = len(exponents)
        self.exponents = exponents
        self.split = np.full(tasks, 1.0 / tasks)
        self.bounds = [(self.LEAST, 1.0)] * tasks
        ones = np.ones(tasks)
        self.constraint = {"type": "eq", "fun": lambda x: x.sum() - 1.0, "jac": lambda _: ones}

    def success(self, values):
        exponents = self.exponents

        def loss(x):
            terms = values * x**exponents
            return -terms.sum(), -(exponents * terms / x)

        result = minimize(
            loss,
            self.split,
            jac=True,
            method="SLSQP",
            bounds=self.bounds,
            constraints=self.constraint,
            options={"ftol": 1e-9, "maxiter": 1000},
        )
        split = np.clip(result.x, self.LEAST, 1.0)
        split /= split.sum()
        if self.IS_WARM:
            self.split = split
        return split**exponents


class WarmSlsqp(Slsqp):
    """Starts from the last split, which takes fewer iterations than its usual start."""

    IS_WARM = True


def paper(oracle, exponents, means, horizon, block):
    """The regret after `horizon` rounds; random numbers are drawn for `block` rounds at once."""
    tasks = len(means)
    optimum = float(means @ Newton(exponents).success(means))
    log_term = math.log(2.0) + 2.0 * math.log(tasks) + 2.0 * math.log(horizon)
    completions, gained = np.zeros(tasks), np.zeros(tasks)
    indices = np.full(tasks, math.sqrt(log_term))
    regret = 0.0
    solver = oracle(exponents)
    for first in range(1, horizon + 1, block):
        count = min(block, horizon + 1 - first)
        luck = uniforms(0, first, count, tasks)
        rewards = uniforms(1, first, count, tasks) < means
        for drawn, reward in zip(luck, rewards):
            success = solver.success(indices)
            regret += optimum - float(means @ success)
            done = drawn < success
            completions += done
            gained += done & reward
            indices = gained / np.maximum(completions, 1.0) + np.sqrt(log_term / (1.0 + completions))
    return regret


def plain(exponents, means, horizon):
    """The regret after `horizon` rounds, with no optimisation except the oracle's warm start."""
    tasks = len(means)
    generator = np.random.default_rng(SEED)
    elasticities = 1.0 / (1.0 - exponents)
    log_price = 0.0

    def split(values, log_price):
        while True:
            spend = np.exp(elasticities * (np.log(exponents * values) - log_price))
            spent = spend.sum()
            if abs(spent - 1.0) <= 1e-10:
                return spend, log_price
            log_price += np.log(spent) * spent / (elasticities * spend).sum()

    best, _ = split(means, 0.0)
    optimum = (means * best**exponents).sum()
    log_term = np.log(2.0) + 2.0 * np.log(tasks) + 2.0 * np.log(horizon)
    completions, gained = np.zeros(tasks), np.zeros(tasks)
    regret = 0.0
    for _ in range(horizon):
        seen = gained / np.maximum(completions, 1.0)
        spend, log_price = split(seen + np.sqrt(log_term / (1.0 + completions)), log_price)
        success = spend**exponents
        regret += optimum - (means * success).sum()
        done = generator.random(tasks) < success
        reward = generator.random(tasks) < means
        completions += done
        gained += done * reward
    return regret
