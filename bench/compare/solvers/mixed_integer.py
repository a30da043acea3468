"""Mixed-integer programs: exact for steps, piecewise linear for Hill curves."""

import contextlib
import math
import os
import sys
import time

import numpy as np
import scipy.sparse as sparse
from ortools.sat.python import cp_model
from scipy.optimize import Bounds, LinearConstraint, milp

# CP-SAT supports integers only: spends and values are counted in this share of a unit.
WHOLE = 10**9


def highs_exact(instance, limit):
    return highs_steps(instance, limit, 0.0)


def highs_loose(instance, limit):
    return highs_steps(instance, limit, 1e-4)


def highs_steps(instance, limit, gap):
    """HiGHS by scipy.optimize.milp: one binary per jump, at most one per task, one budget row."""
    owner, at, worth = jumps(instance)
    tasks, count = len(instance["task"]), len(at)
    choose = sparse.csr_matrix((np.ones(count), (owner, range(count))), shape=(tasks, count))
    rows = sparse.vstack([choose, sparse.csr_matrix(np.array(at))])
    most = np.append(np.ones(tasks), instance["budget"])
    seconds, result = solved(-np.array(worth), np.ones(count), Bounds(0, 1), LinearConstraint(rows, -np.inf, most), limit, gap)
    taken = [] if result.x is None else np.flatnonzero(result.x > 0.5)
    return seconds, spends(instance, owner, at, taken), note(instance, result, limit, spends(instance, owner, at, taken))


def highs_pieces_12(instance, limit):
    return highs_pieces(instance, limit, 12)


def highs_pieces_20(instance, limit):
    return highs_pieces(instance, limit, 20)


def highs_pieces(instance, limit, points):
    """HiGHS to 1e-4 on Hill curves that are linear between points at even steps of success, with
    one binary per piece."""
    tasks, budget = instance["task"], instance["budget"]
    count, pieces = len(tasks), points - 1
    shares = np.linspace(0.0, 0.98, points)
    spend = np.array([task["curve"]["half_at"] * (shares / (1.0 - shares)) ** (1.0 / task["curve"]["steepness"]) for task in tasks])
    worth = np.array([task["value"] for task in tasks])[:, None] * shares
    # The share of each piece, and a binary for reaching it: piece j needs piece j - 1 to be full.
    width, gain = np.diff(spend, axis=1).ravel(), np.diff(worth, axis=1).ravel()
    every = sparse.identity(count * pieces, format="csr")
    following = [place for place in range(count * pieces) if place % pieces]
    empty = sparse.csr_matrix((1, count * pieces))
    rows = sparse.vstack(
        [
            sparse.hstack([sparse.csr_matrix(width), empty]),
            sparse.hstack([every, -every]),
            sparse.hstack([-every[[place - 1 for place in following]], every[following]]),
        ],
        format="csr",
    )
    most = np.concatenate([[budget], np.zeros(count * pieces), np.zeros(len(following))])
    whole = np.append(np.zeros(count * pieces), np.ones(count * pieces))
    cost = np.append(-gain, np.zeros(count * pieces))
    seconds, result = solved(cost, whole, Bounds(0, 1), LinearConstraint(rows, -np.inf, most), limit, 1e-4)
    split = np.zeros(count) if result.x is None else (result.x[: count * pieces] * width).reshape(count, pieces).sum(axis=1)
    # It meets the budget within its tolerance, and is scaled to it like the other splits.
    split = np.maximum(split, 0.0) * min(1.0, budget / max(split.sum(), 1e-300))
    return seconds, split, note(instance, result, limit, split)


def cp_sat(instance, limit):
    """CP-SAT with two workers on billionths: spends rounded up, so that its split fits."""
    owner, at, worth = jumps(instance)
    model = cp_model.CpModel()
    chosen = [model.new_bool_var("") for _ in at]
    for task in range(len(instance["task"])):
        model.add_at_most_one(variable for variable, own in zip(chosen, owner) if own == task)
    model.add(sum(math.ceil(spend * WHOLE) * variable for spend, variable in zip(at, chosen)) <= math.floor(instance["budget"] * WHOLE))
    model.maximize(sum(round(gain * WHOLE) * variable for gain, variable in zip(worth, chosen)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 2
    solver.parameters.max_time_in_seconds = limit
    begin = time.process_time()
    status = solver.solve(model)
    seconds = time.process_time() - begin
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    taken = [place for place, variable in enumerate(chosen) if found and solver.boolean_value(variable)]
    return seconds, spends(instance, owner, at, taken), "optimal" if status == cp_model.OPTIMAL else f"open after {limit:.0f} s"


def jumps(instance):
    """All jumps: their tasks, spends and values."""
    owner, at, worth = [], [], []
    for position, task in enumerate(instance["task"]):
        for jump, height in zip(task["curve"]["at"], task["curve"]["success"]):
            owner.append(position)
            at.append(jump)
            worth.append(task["value"] * height)
    return owner, at, worth


def solved(cost, whole, bounds, rows, limit, gap):
    with silence():
        begin = time.process_time()
        result = milp(cost, integrality=whole, bounds=bounds, constraints=rows, options={"mip_rel_gap": gap, "time_limit": limit})
        return time.process_time() - begin, result


@contextlib.contextmanager
def silence():
    """Discards messages that HiGHS prints directly to the file descriptor."""
    sys.stdout.flush()
    kept = os.dup(1)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def spends(instance, owner, at, taken):
    spend = np.zeros(len(instance["task"]))
    for jump in taken:
        spend[owner[jump]] += at[jump]
    return spend


def note(instance, result, limit, spend):
    text = "optimal" if result.status == 0 else f"open after {limit:.0f} s"
    over = spend.sum() / instance["budget"] - 1
    return f"{text}, over budget by {over:.0e}" if over > 1e-12 else text
