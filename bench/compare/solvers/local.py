"""scipy's local solvers with exact gradients."""

import time

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, minimize

from .feasible import scaled


def slsqp(instance, _):
    """pymc-marketing's BudgetOptimizer: uniform start, bounds 0..budget, one equality, exact gradient, ftol 1e-9, 1000 iterations."""
    budget, count = instance["budget"], len(instance["task"])
    loss, ones, least = losses(instance), np.ones(count), floor(instance)
    constraint = {"type": "eq", "fun": lambda x: x.sum() - budget, "jac": lambda _: ones}
    options = {"ftol": 1e-9, "maxiter": 1000}
    begin = time.process_time()
    found = minimize(loss, budget / count * ones, jac=True, method="SLSQP", bounds=[(least, budget)] * count, constraints=constraint, options=options)
    return time.process_time() - begin, scaled(found.x, budget), "success" if found.success else found.message


def trust_constr(instance, _):
    """The same start, bounds and gradient; the curvature is learnt (BFGS, the default); 300 iterations at most."""
    budget, count = instance["budget"], len(instance["task"])
    loss, ones, least = losses(instance), np.ones(count), floor(instance)
    constraint = LinearConstraint(ones[None, :], budget, budget)
    bounds = Bounds(np.full(count, least), np.full(count, budget), keep_feasible=True)
    begin = time.process_time()
    found = minimize(loss, budget / count * ones, jac=True, method="trust-constr", bounds=bounds, constraints=constraint, options={"maxiter": 300})
    return time.process_time() - begin, scaled(found.x, budget), "success" if found.success else f"{found.nit} iterations"


def floor(instance):
    """Avoids zero, where the slope of a power is infinite."""
    return 1e-12 * instance["budget"] if any(task["curve"]["family"] == "power" for task in instance["task"]) else 0.0


def losses(instance):
    """The negated value of a split and its gradient, for all families at once."""
    tasks = instance["task"]
    value = np.array([task["value"] for task in tasks])
    family = np.array([task["curve"]["family"] for task in tasks])
    parts = [(np.flatnonzero(family == name), form) for name, form in FORMS.items()]
    parts = [(places, form([tasks[place]["curve"] for place in places])) for places, form in parts if len(places)]

    def loss(x):
        x = np.maximum(x, 0.0)
        success, slope = np.empty(len(tasks)), np.empty(len(tasks))
        for places, form in parts:
            success[places], slope[places] = form(x[places])
        return -(value @ success), -(value * slope)

    return loss


def numbers(curves, name):
    return np.array([curve[name] for curve in curves])


def power(curves):
    exponent, scale = numbers(curves, "exponent"), numbers(curves, "scale")

    def form(x):
        share = np.maximum(x / scale, 1e-300)
        success = np.minimum(share**exponent, 1.0)
        return success, np.where(share < 1.0, exponent * success / (share * scale), 0.0)

    return form


def exponential(curves):
    scale = numbers(curves, "scale")
    return lambda x: (-np.expm1(-x / scale), np.exp(-x / scale) / scale)


def saturating(curves):
    full = numbers(curves, "full_at")
    return lambda x: (np.minimum(x / full, 1.0), np.where(x < full, 1.0 / full, 0.0))


def hill(curves):
    half, steep = numbers(curves, "half_at"), numbers(curves, "steepness")

    def form(x):
        power = (x / half) ** steep
        share = power / (1.0 + power)
        return share, np.where(x > 0.0, steep * share * (1.0 - share) / np.maximum(x, 1e-300), 0.0)

    return form


FORMS = {"power": power, "exponential": exponential, "saturating": saturating, "hill": hill}
