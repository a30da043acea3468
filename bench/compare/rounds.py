"""Whole simulated rounds by outlay and by other programs, in one run."""

import math
import time

import numpy as np

from .engine import program, progress
from .loops import paper as loops
from .tables import seconds, span, table, three, times, verdict

TITLE = "Whole simulated rounds"

# The oracle of a Python loop, and the number of rounds for which it draws random numbers at once.
PYTHON = {"stream": (loops.Newton, 1), "tuned": (loops.Newton, 4096), "slsqp": (loops.Slsqp, 4096), "warm-slsqp": (loops.WarmSlsqp, 4096)}
TITLES = {
    "plain": "plain numpy, Newton on the price",
    "stream": "tuned numpy, outlay's random stream round by round",
    "tuned": "tuned numpy, the same for 4096 rounds at once",
    "slsqp": "numpy, SLSQP as the oracle",
    "warm-slsqp": "numpy, SLSQP from the last split",
}
# Regrets of the same algorithm must agree to this share; the plain loop uses other random numbers.
AGREE = {"plain": 0.5, "stream": 1e-6, "tuned": 1e-6, "slsqp": 1e-3, "warm-slsqp": 1e-3, "by-hand": 1e-6}
# instance, Python loop, rounds (full, quick), rounds of the check, the ratio that is the goal.
LOOPS = [
    ("square-roots", "plain", (10_000, 2000), 10_000, None),
    ("power:tasks=10", "plain", (10_000, 2000), 3000, 150.0),
    ("power:tasks=100", "plain", (10_000, 1000), 3000, None),
    ("power:tasks=10", "stream", (10_000, 2000), 300, None),
    ("square-roots", "tuned", (10_000, 2000), 300, None),
    ("power:tasks=10", "tuned", (10_000, 2000), 300, None),
    ("power:tasks=100", "tuned", (10_000, 1000), 300, None),
    ("square-roots", "slsqp", (3000, 300), 300, None),
    ("power:tasks=10", "slsqp", (3000, 300), 300, 5000.0),
    ("power:tasks=100", "slsqp", (30, 10), 30, None),
    ("square-roots", "warm-slsqp", (3000, 300), 300, None),
    ("power:tasks=10", "warm-slsqp", (3000, 300), 300, None),
    ("power:tasks=100", "warm-slsqp", (30, 10), 30, None),
]
# instance, rounds (full, quick), the most that `kl-ucb-plus` and `kl-ucb-mixture` may take in times of `algorithm-1`.
LEARNERS = [
    ("square-roots", (1_000_000, 50_000), None),
    ("power:tasks=10", (1_000_000, 20_000), 2.5),
    ("power:tasks=100", (100_000, 2000), None),
]


def measure(quick):
    quick = int(quick)
    passes = 1 if quick else 5
    return {
        "checks": checks(),
        "loops": loop_rows(quick, passes),
        "learners": learner_rows(quick, passes),
        "parts": [engine("parts", instance, 0.1 if quick else 0.5) for instance, *_ in LEARNERS],
    }


def engine(*words):
    return program("rounds", *words)[0]


def python_loop(kind, instance, horizon, patience):
    """CPU seconds of the fastest run within `seconds`, at least one, and the regret."""
    given = engine("instance", instance, horizon)
    exponents, means = np.array(given["exponents"]), np.array(given["means"])
    least, start = math.inf, time.perf_counter()
    while least == math.inf or time.perf_counter() - start < patience:
        begin = time.process_time()
        if kind == "plain":
            regret = float(loops.plain(exponents, means, horizon))
        else:
            regret = loops.paper(PYTHON[kind][0], exponents, means, horizon, PYTHON[kind][1])
        least = min(least, time.process_time() - begin)
    return least, regret


def checks():
    """Checks that all programs run the same algorithm, by regrets with the same seed and random
    stream."""
    rows = []

    def compare(instance, learner, peer, horizon, theirs):
        ours = engine("rounds", instance, learner, horizon, 0)["regret"]
        apart = abs(theirs / ours - 1.0)
        row = {"instance": instance, "learner": learner, "peer": peer, "horizon": horizon, "regret": ours, "peer_regret": theirs}
        rows.append(row | {"apart": apart, "agrees": apart <= AGREE[peer]})
        progress(f"check: {instance} {learner}, {horizon} rounds: regret {ours:.9g}, {peer} {theirs:.9g}, {apart:.1e} apart")

    for instance, kind, _, horizon, _ in LOOPS:
        compare(instance, "algorithm-1", kind, horizon, python_loop(kind, instance, horizon, 0.0)[1])
    for instance, *_ in LEARNERS:
        compare(instance, "algorithm-1", "by-hand", 2000, engine("rounds", instance, "by-hand", 2000, 0)["regret"])
    return rows


def loop_rows(quick, passes):
    """`algorithm-1` and the Python loops over the same horizon, in turn; the fastest run of each
    counts."""
    rows = []
    for instance, kind, rounds, _, goal in LOOPS:
        horizon = rounds[quick]
        ours, theirs = [], []
        for _ in range(passes):
            ours.append(engine("rounds", instance, "algorithm-1", horizon, 0.5)["rounds_per_second"])
            theirs.append(python_loop(kind, instance, horizon, 1.0))
        best, least = max(ours), min(theirs)[0]
        turns = [speed * slow / horizon for speed, (slow, _) in zip(ours, theirs)]
        row = {"instance": instance, "peer": kind, "horizon": horizon, "rounds_per_second": best}
        row |= {"peer_rounds_per_second": horizon / least, "ratio": best * least / horizon}
        row |= {"ratio_turns": turns, "goal": goal}
        rows.append(row)
        progress(f"{instance}, {horizon} rounds: outlay {best:,.0f} a second, {kind} {horizon / least:,.0f} = {times(row['ratio'])}")
    return rows


def learner_rows(quick, passes):
    """`algorithm-1`, `kl-ucb-plus`, `kl-ucb-mixture` and `algorithm-1` by hand over long horizons, in turn."""
    rows = []
    for instance, rounds, goal in LEARNERS:
        horizon = rounds[quick]
        best = fastest(instance, ["algorithm-1", "kl-ucb-plus", "kl-ucb-mixture", "by-hand"], horizon, passes)
        for learner, speed in best.items():
            row = {"instance": instance, "learner": learner, "horizon": horizon, "rounds_per_second": speed}
            row |= {"times_of_paper": best["algorithm-1"] / speed, "times_of_by_hand": best["by-hand"] / speed}
            rows.append(row | {"goal": goal if learner in ("kl-ucb-plus", "kl-ucb-mixture") else None})
            progress(f"{instance} {learner}, {horizon} rounds: {speed:,.0f} a second")
    return rows


def fastest(instance, learners, horizon, passes):
    best = dict.fromkeys(learners, 0.0)
    for _ in range(passes):
        for learner in learners:
            best[learner] = max(best[learner], engine("rounds", instance, learner, horizon, 0.5)["rounds_per_second"])
    return best


def report(figures):
    parts = [format_loops(figures["loops"]), format_learners(figures["learners"])]
    parts += [format_parts(figures["parts"]), format_checks(figures["checks"])]
    return [line for part in parts for line in [*part, ""]][:-1]


def format_loops(rows):
    lines = [
        "### The paper's algorithm on power curves",
        "",
        "Rounds per second over the same rounds on one core; outlay with its certificate, trace and all other records of a simulation,",
        "as `outlay simulate` runs it. The goals are about the plain loop and SLSQP as its users call it; the tuned ones and SLSQP from the last split are stricter comparisons.",
        "In brackets the smallest and the largest over the turns.",
        "",
    ]
    head = ["instance", "K", "rounds", "rounds/s", "other loop", "its rounds/s", "outlay is faster"]
    cells = [
        [
            f"`{row['instance']}`",
            tasks(row["instance"]),
            f"{row['horizon']:,}",
            f"{row['rounds_per_second']:,.0f}",
            TITLES[row["peer"]],
            three(row["peer_rounds_per_second"]),
            f"{times(row['ratio'])} ({span(row['ratio_turns'], times)})",
        ]
        for row in rows
    ]
    return lines + table(head, cells)


def format_learners(rows):
    lines = [
        "### Learners, and hand-written versions",
        "",
        "By hand: `algorithm-1` for power curves only, one task after the other, without certificate or trace. Times of a round, as multiples.",
        "",
    ]
    head = ["instance", "K", "rounds", "learner", "rounds/s", "a round", "times `algorithm-1`", "goal", "times by hand"]
    cells = [
        [
            f"`{row['instance']}`",
            tasks(row["instance"]),
            f"{row['horizon']:,}",
            row["learner"],
            f"{row['rounds_per_second']:,.0f}",
            seconds(1 / row["rounds_per_second"]),
            times(row["times_of_paper"]),
            "" if row["goal"] is None else f"<= {row['goal']:g}x: {verdict(row['times_of_paper'] <= row['goal'])}",
            times(row["times_of_by_hand"]),
        ]
        for row in rows
    ]
    return lines + table(head, cells)


def format_parts(rows):
    lines = ["Times of the hand-written parts of a round over all tasks; a round needs draws, a few indices and two or three passes.", ""]
    head = ["instance", "K", "draws", "indices", "one pass of the price", "success by powf"]
    keys = ["draws_seconds", "indices_seconds", "pass_seconds", "success_seconds"]
    return lines + table(head, [[f"`{row['instance']}`", f"{row['tasks']}", *(seconds(row[key]) for key in keys)] for row in rows])


def format_checks(rows):
    lines = ["### The same algorithm", "", "Regrets with the same seed and random stream (the plain loop has its own numbers).", ""]
    head = ["instance", "rounds", "regret of `algorithm-1`", "other loop", "its regret", "apart", "agree"]
    cells = [
        [
            f"`{row['instance']}`",
            f"{row['horizon']:,}",
            f"{row['regret']:.9g}",
            TITLES.get(row["peer"], row["peer"].replace("-", " ")),
            f"{row['peer_regret']:.9g}",
            f"{row['apart']:.0e}",
            f"<= {AGREE[row['peer']]:.0e}: {'yes' if row['agrees'] else 'NO'}",
        ]
        for row in rows
    ]
    return lines + table(head, cells)


def tasks(instance):
    return instance.partition("tasks=")[2] or "2"


def faults(figures):
    return [f"not the same algorithm: {row}" for row in figures["checks"] if not row["agrees"]]
