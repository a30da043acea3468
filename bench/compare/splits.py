"""Values of splits on the real data of the examples: certified, even, and by scipy's SLSQP.

Every split is judged by the same command, `outlay evaluate`, on the same problem file. SLSQP gets the curve in two forms: as it is (a
staircase, whose gradient is zero wherever it exists), and smoothed (linear between the middles of the steps, which is what people do who
need a gradient), from the even split and from random splits, of which the best by its own account counts.
"""

import csv
import io
import json
import pathlib
import subprocess
import tempfile

import numpy as np
from scipy.optimize import minimize

from .engine import COMMAND, ROOT, progress
from .tables import table

TITLE = "Values of splits on real data"
DATA = ROOT / "examples/data"
STARTS = 20
SEED = 1

# name, the rows, the columns that name a task, what success needs, what it brings (a column, or values by task), the budget
CASES = [
    ("auctions", "ebay_closing_prices.csv", "item,days", "closing_price", None, 1200.0),
    ("model-selection, letter", "model_runs_letter.csv", "learner", "train_seconds", "accuracy", 30.0),
    ("model-selection, pool", "model_runs_pool.csv", "learner", "train_seconds", "accuracy", 30.0),
]
# The values of wins in examples/auctions/auctions.toml, in the order of the rows' tasks.
STATED = ROOT / "examples/auctions/auctions.toml"


def measure(_):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, file, tasks, threshold, reward, budget in CASES:
            problem = pathlib.Path(folder) / "problem.toml"
            words = ["fit", DATA / file, "--task", tasks, "--threshold", threshold, "--budget", budget, "-o", problem, "--overwrite"]
            outlay(*words, *(["--reward", reward, "--reward-max", 1] if reward else []))
            problem = problem if reward else STATED
            rows.append(case(name, problem, thresholds(file, tasks, threshold), budget, folder))
            progress(f"{name}: certified {rows[-1]['certified']:.4g}, even split {rows[-1]['even']:.4g}")
    return rows


def outlay(*words):
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return done.stdout


def thresholds(file, tasks, column):
    """The sorted requirements of success of each task, with the tasks in the order of the rows."""
    needed = {}
    for row in csv.DictReader(io.StringIO((DATA / file).read_text())):
        needed.setdefault(" ".join(row[name] for name in tasks.split(",")), []).append(float(row[column]))
    return [np.sort(np.array(amounts)) for amounts in needed.values()]


def case(name, problem, needed, budget, folder):
    answer = json.loads(outlay("allocate", problem, "--budget", budget, "--format", "json"))
    names = [task["task"] for task in answer["tasks"]]
    successes = np.array([task["success"] for task in answer["tasks"]])
    spends = np.array([task["spend"] for task in answer["tasks"]])
    # The curves must be those of the example, or the comparison is meaningless.
    assert np.allclose([share_up_to(amounts, spend) for amounts, spend in zip(needed, spends)], successes, atol=1e-9), name
    values = stated_values(problem, names, folder)

    def earned(split):
        split = np.maximum(split, 0.0)
        split = split * min(1.0, budget / split.sum())
        judged = outlay("evaluate", problem, "--plan", plan(folder, names, split), "--budget", budget, "--format", "json")
        return json.loads(judged)["plan"]["value"]

    even = np.full(len(names), budget / len(names))
    stairs = slsqp(lambda x: -sum(v * share_up_to(a, s) for v, a, s in zip(values, needed, x)), budget, [even])
    random = np.random.default_rng(SEED).dirichlet(np.ones(len(names)), STARTS) * budget
    knots = [middles(amounts) for amounts in needed]
    smooth = slsqp(lambda x: -sum(v * np.interp(s, *k) for v, k, s in zip(values, knots, x)), budget, [even, *random])
    return {
        "name": name, "tasks": len(names), "budget": budget,
        "certified": answer["value"], "gap": answer["gap"], "even": earned(even),
        "slsqp_stairs": earned(stairs[0]), "slsqp_stairs_says": stairs[1],
        "slsqp_smoothed": earned(smooth[0]), "slsqp_smoothed_says": smooth[1],
    }


def stated_values(problem, names, folder):
    """The values of the tasks: reward / success of a plan that gives each task all that it can
    use."""
    plenty = plan(folder, names, np.full(len(names), 1e9))
    judged = json.loads(outlay("evaluate", problem, "--plan", plenty, "--budget", 2e9 * len(names), "--format", "json"))
    return [task["plan_reward"] / task["plan_success"] for task in judged["tasks"]]


def plan(folder, names, split):
    path = pathlib.Path(folder) / "plan.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["task", "spend"])
        writer.writerows(zip(names, (repr(float(spend)) for spend in split)))
    return path


def share_up_to(amounts, spend):
    return np.searchsorted(amounts, spend, side="right") / len(amounts)


def middles(amounts):
    """The smoothed curve: from zero through the middle of each step."""
    places, counts = np.unique(amounts, return_counts=True)
    ends = np.cumsum(counts) / len(amounts)
    return np.concatenate([[0.0], places]), np.concatenate([[0.0], ends - 0.5 * counts / len(amounts)])


def slsqp(loss, budget, starts):
    """The best split of SLSQP over the starts by its own objective, and its status message."""
    best = None
    for start in starts:
        found = minimize(loss, start, method="SLSQP", bounds=[(0.0, budget)] * len(start),
                         constraints=[{"type": "eq", "fun": lambda x: x.sum() - budget}], options={"maxiter": 1000})
        if best is None or found.fun < best.fun:
            best = found
    return best.x, "success" if best.success else best.message


def report(rows):
    lines = [
        "Expected reward per round by `outlay evaluate` on the same problem; in brackets the share of the value of the certified",
        "split. SLSQP gets the true steps and starts from the even split, or a smoothed curve (linear between the middles of the steps) and starts from",
        f"the even split and {STARTS} random ones; the best by its own objective.",
        "",
    ]

    def share(row, key):
        return f"{row[key]:.4g} ({100 * row[key] / row['certified']:.1f}%)"

    cells = [
        [
            row["name"],
            f"{row['tasks']}",
            f"{row['budget']:g}",
            f"{row['certified']:.4g} ({'below 1e-12' if row['gap'] < 1e-12 else format(row['gap'], '.0e')})",
            share(row, "even"),
            f"{share(row, 'slsqp_stairs')}, says \"{row['slsqp_stairs_says']}\"",
            f"{share(row, 'slsqp_smoothed')}, says \"{row['slsqp_smoothed_says']}\"",
        ]
        for row in rows
    ]
    return lines + table(["example", "tasks", "budget", "certified (gap)", "even split", "SLSQP, true curve", "SLSQP, smoothed curve"], cells)


def faults(rows):
    splits = ("even", "slsqp_stairs", "slsqp_smoothed")
    return [f"{row['name']}: {key} earns more than the certified split" for row in rows for key in splits if row[key] > row["certified"] * (1 + 1e-12)]
