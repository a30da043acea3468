"""Conic solvers on concave curves: Clarabel called directly, and through cvxpy."""

import time

import clarabel
import cvxpy
import numpy as np
import scipy.sparse as sparse

from .feasible import scaled


def cones(instance, _):
    """The faster of two solves by Clarabel: amounts in fair shares, and in shares of the budget.
    Neither is better at every size."""
    return min((cones_in(instance, unit) for unit in (1.0, instance["budget"])), key=lambda solved: solved[0])


def cones_in(instance, unit):
    """Clarabel with power and exponential cones and amounts in `unit`; times `solve` only."""
    budget, tasks = instance["budget"] / unit, instance["task"]
    count = len(tasks)
    entries, bounds, cones = [], [], []

    def row(bound, *row_entries):
        entries.extend((len(bounds), column, entry) for column, entry in row_entries)
        bounds.append(bound)

    row(budget, *((task, 1.0) for task in range(count)))
    cones.append(clarabel.ZeroConeT(1))
    for position, task in enumerate(tasks):
        curve = task["curve"]
        if curve["family"] == "power" and curve["scale"] < instance["budget"]:
            row(curve["scale"] / unit, (position, 1.0))
        elif curve["family"] == "exponential":
            row(0.0, (position, -1.0))
        elif curve["family"] == "saturating":
            row(0.0, (position, -1.0))
            row(1.0, (count + position, 1.0))
            row(0.0, (position, -unit / curve["full_at"]), (count + position, 1.0))
    cones.append(clarabel.NonnegativeConeT(len(bounds) - 1))
    for position, task in enumerate(tasks):
        curve = task["curve"]
        if curve["family"] == "power":
            row(0.0, (position, -unit / curve["scale"]))
            row(1.0)
            row(0.0, (count + position, -1.0))
            cones.append(clarabel.PowerConeT(curve["exponent"]))
        elif curve["family"] == "exponential":
            row(0.0, (position, unit / curve["scale"]))
            row(1.0)
            row(1.0, (count + position, 1.0))
            cones.append(clarabel.ExponentialConeT())
    rows, columns, numbers = zip(*entries)
    matrix = sparse.csc_matrix((numbers, (rows, columns)), shape=(len(bounds), 2 * count))
    objective = np.append(np.zeros(count), [-task["value"] for task in tasks])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    solver = clarabel.DefaultSolver(sparse.csc_matrix((2 * count, 2 * count)), objective, matrix, np.array(bounds), cones, settings)
    seconds, solution = np.inf, None
    for _ in range(50 if count < 1000 else 2):
        begin = time.process_time()
        solution = solver.solve()
        seconds = min(seconds, time.process_time() - begin)
    return seconds, scaled(np.array(solution.x[:count]), instance["budget"]), str(solution.status)


def modelled(instance, _):
    """cvxpy with Clarabel. The values are a parameter, so that the model is compiled once; the second solve counts."""
    budget, tasks = instance["budget"], instance["task"]
    spend, value = cvxpy.Variable(len(tasks), nonneg=True), cvxpy.Parameter(len(tasks), nonneg=True)
    successes = []
    for position, task in enumerate(tasks):
        curve, x = task["curve"], spend[position]
        if curve["family"] == "power":
            successes.append(cvxpy.minimum(1.0, cvxpy.power(x / curve["scale"], curve["exponent"], approx=False)))
        elif curve["family"] == "exponential":
            successes.append(1.0 - cvxpy.exp(-x / curve["scale"]))
        else:
            successes.append(cvxpy.minimum(1.0, x / curve["full_at"]))
    success = cvxpy.Variable(len(tasks))
    model = cvxpy.Problem(cvxpy.Maximize(value @ success), [success <= cvxpy.hstack(successes), cvxpy.sum(spend) == budget])
    value.value = np.array([task["value"] for task in tasks])
    model.solve(solver=cvxpy.CLARABEL)
    begin = time.process_time()
    model.solve(solver=cvxpy.CLARABEL)
    seconds = time.process_time() - begin
    return seconds, scaled(spend.value, budget), model.status
