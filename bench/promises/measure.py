"""One instance: solved by outlay and by HiGHS, and checked."""

import json
import math
import os
import pathlib
import subprocess
import tempfile

from . import curves, highs
from .classes import BY_NAME, HIGHS_TASKS

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
PROGRAM = TARGET / "release/bench_promises"
# HiGHS may take this long, or this many times as long as outlay.
LIMIT_SECONDS, LIMIT_RATIO = 2.0, 2.0
# Relative errors: of a sum over curves, and of a bound by HiGHS (its feasibility tolerance).
ROUNDING, HIGHS_TOLERANCE = 1e-13, 1e-6


def measure(name, tasks, seed):
    """The figures of an instance, and the contradictions found."""
    problem = BY_NAME[name].problem(tasks, seed)
    ours = outlay(problem)
    spend = ours.pop("spend")
    faults = check_answer(problem, ours, spend)
    seconds = ours.pop("seconds")
    record = {"class": name, "tasks": tasks, "seed": seed, "highs": None, **ours}
    if highs.highspy and tasks <= HIGHS_TASKS:
        theirs = highs.solve(problem, max(LIMIT_SECONDS, LIMIT_RATIO * seconds))
        record["highs"] = compared(problem, theirs, seconds)
        faults += check_bounds(ours, record["highs"])
    return record, [f"{name} K={tasks} seed {seed}: {fault}" for fault in faults]


def build():
    """Compiles the program that solves with outlay."""
    command = "cargo build --quiet --release --locked --package outlay-bench-engine"
    words = [*command.split(), "--bin", PROGRAM.name]
    subprocess.run(words, cwd=ROOT, env=os.environ | {"CARGO_TARGET_DIR": str(TARGET)}, check=True)


def outlay(problem):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "problem.json"
        path.write_text(json.dumps(problem))
        done = subprocess.run([PROGRAM, path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"outlay failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def compared(problem, theirs, seconds):
    """The result of HiGHS. Its bound holds only if its model is exact."""
    value = curves.worth(problem, theirs.spend) if theirs.spend else None
    return {
        "optimal": theirs.is_optimal,
        "value": value,
        "bound": theirs.bound if curves.is_exact(problem) else None,
        "times": float(f"{theirs.seconds / seconds:.3g}"),
    }


def check_answer(problem, ours, spend):
    """Checks by independent curves that the split is feasible and has the value that outlay
    reports."""
    faults, value, total = [], curves.worth(problem, spend), math.fsum(spend)
    if total > problem["budget"] * (1.0 + highs.BUDGET_TOLERANCE):
        faults.append(f"spends {total!r} of {problem['budget']!r}")
    for task, amount in zip(problem["task"], spend, strict=True):
        allowed = 0.0 if task.get("exclude") else task.get("max", math.inf)
        if amount > allowed or 0.0 < amount < task.get("at_least", 0.0) or amount < 0.0:
            faults.append(f"a spend of {amount!r} is out of bounds")
    if abs(value - ours["value"]) > ROUNDING * value:
        faults.append(f"value {ours['value']!r}, but the curves say {value!r}")
    if value > ours["upper_bound"] * (1.0 + ROUNDING):
        faults.append(f"the value is above the upper bound {ours['upper_bound']!r}")
    return faults


def check_bounds(ours, theirs):
    """Checks that neither solution exceeds the bound of the other."""
    faults = []
    if theirs["value"] is not None and theirs["value"] > ours["upper_bound"] * (1.0 + ROUNDING):
        faults.append(f"HiGHS finds {theirs['value']!r} above the bound {ours['upper_bound']!r}")
    if theirs["bound"] is not None and ours["value"] > theirs["bound"] * (1.0 + HIGHS_TOLERANCE):
        faults.append(f"value {ours['value']!r} above the bound of HiGHS, {theirs['bound']!r}")
    return faults
