"""The other solvers, each called as its users call it. Every function returns (CPU seconds, spend, note); building the model is not timed."""

import time

import clarabel
import numpy as np
import scipy.sparse as sparse
from scipy.optimize import Bounds, LinearConstraint, milp, minimize


def slsqp(instance, **_):
    """pymc-marketing's BudgetOptimizer: uniform start, bounds 0..budget, one equality, exact gradient, ftol 1e-9, 1000 iterations."""
    budget, tasks = instance["budget"], instance["task"]
    half = np.array([task["curve"]["half_at"] for task in tasks])
    steep = np.array([task["curve"]["steepness"] for task in tasks])
    value = np.array([task["value"] for task in tasks])

    def loss(x):
        power = (np.maximum(x, 0.0) / half) ** steep
        share = power / (1.0 + power)
        slope = np.where(x > 0.0, steep * share * (1.0 - share) / np.maximum(x, 1e-300), 0.0)
        return -(value @ share), -(value * slope)

    ones = np.ones(len(tasks))
    constraint = {"type": "eq", "fun": lambda x: x.sum() - budget, "jac": lambda _: ones}
    begin = time.process_time()
    result = minimize(
        loss,
        budget / len(tasks) * ones,
        jac=True,
        method="SLSQP",
        bounds=[(0.0, budget)] * len(tasks),
        constraints=constraint,
        options={"ftol": 1e-9, "maxiter": 1000},
    )
    seconds = time.process_time() - begin
    return seconds, scaled(result.x, budget), "success" if result.success else result.message


def highs(instance, limit):
    """HiGHS through scipy.optimize.milp at gap 0: a binary for each jump, at most one a task, one budget row."""
    budget, tasks = instance["budget"], instance["task"]
    owner, at, worth = [], [], []
    for position, task in enumerate(tasks):
        for jump, height in zip(task["curve"]["at"], task["curve"]["success"]):
            owner.append(position)
            at.append(jump)
            worth.append(task["value"] * height)
    count = len(at)
    choose = sparse.csr_matrix((np.ones(count), (owner, range(count))), shape=(len(tasks), count))
    rows = sparse.vstack([choose, sparse.csr_matrix(np.array(at))])
    most = np.append(np.ones(len(tasks)), budget)
    begin = time.process_time()
    result = milp(
        -np.array(worth),
        integrality=np.ones(count),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows, -np.inf, most),
        options={"mip_rel_gap": 0.0, "time_limit": limit},
    )
    seconds = time.process_time() - begin
    spend = np.zeros(len(tasks))
    if result.x is not None:
        for jump in np.flatnonzero(result.x > 0.5):
            spend[owner[jump]] += at[jump]
    note = "optimal" if result.status == 0 else f"open after {limit:.0f} s"
    if spend.sum() > budget * (1 + 1e-12):
        note += f", over budget by {spend.sum() / budget - 1:.0e}"
    return seconds, spend, note


def conic(instance, **_):
    """The faster of two solves by Clarabel: money in fair shares, and in shares of the budget. Neither is better at every size."""
    return min((conic_in(instance, unit) for unit in (1.0, instance["budget"])), key=lambda solved: solved[0])


def conic_in(instance, unit):
    """Clarabel with power and exponential cones, money counted in `unit`; `solve` only."""
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


def bisection(instance, **_):
    """What one writes in an afternoon: 60 halvings of the price's logarithm, all tasks at once in numpy."""
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


def scaled(spend, budget):
    """A split that adds up: solvers stop within their tolerance of it."""
    spend = np.maximum(spend, 0.0)
    return spend * (budget / spend.sum())
