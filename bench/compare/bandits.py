"""The classical bandit (thresholds at the whole budget), compared with bandit libraries."""

from .engine import BANDITS, program, lines, progress
from .loops import libraries
from .tables import seconds, table, times

TITLE = "The classical bandit"
INSTANCE = "k-armed"
# So short that some runs are undisturbed.
ROUNDS = 20_000
# Regrets of the same algorithm must agree to this share.
AGREE = 1e-6


def measure(quick):
    means = program("rounds", "instance", INSTANCE, ROUNDS)[0]["means"]
    best, regrets = {}, {}

    def meet(name, speed, regret):
        best[name], regrets[name] = max(best.get(name, 0.0), speed), regret

    for _ in range(1 if quick else 5):
        for learner in ("cucb", "algorithm-1", "by-hand"):
            row = program("rounds", "rounds", INSTANCE, learner, ROUNDS, 0.5)[0]
            meet(f"whole-{learner}", row["rounds_per_second"], row["regret"])
        for row in lines(BANDITS, ROUNDS, 0.5, *means):
            meet(row["library"], row["rounds_per_second"], row["regret"])
        for name, loop in libraries.LOOPS.items():
            meet(name, *libraries.played(loop, means, ROUNDS // 10 if quick else ROUNDS))
    strongest = max(speed for name, speed in best.items() if is_library(name))
    rows = []
    for name, speed in best.items():
        rows.append({"name": name, "rounds_per_second": speed, "times_the_fastest_library": speed / strongest, "regret": regrets[name]})
        progress(f"{name}: {speed:,.0f} a second")
    return rows


def is_library(name):
    return not name.startswith(("outlay-", "whole-"))


def report(rows):
    text = [
        f"Ten Bernoulli arms (`{INSTANCE}`), {ROUNDS:,} rounds. The libraries choose an arm and learn its reward, and so does outlay in the same",
        "loop, with a split and its certificate in every round. Whole simulated rounds add budgets, regret and trace. `cucb` is the same as UCB1,",
        "whose width grows with log t; the width of `algorithm-1` is fixed by the horizon and changes only with a pull. Regrets differ by the",
        "order of the first pulls. rl-bandit, rill-ml and trashpanda are Rust, river and mabwiser Python (with its call overhead, as their users have it).",
        "",
    ]
    cells = [
        [
            title(row["name"]),
            f"{row['rounds_per_second']:,.0f}",
            seconds(1 / row["rounds_per_second"]),
            times(row["times_the_fastest_library"]),
            f"{row['regret']:.1f}",
        ]
        for row in sorted(rows, key=lambda row: -row["rounds_per_second"])
    ]
    return text + table(["who", "rounds/s", "a round", "speed, of the fastest library", "regret"], cells)


def title(name):
    if name == "whole-by-hand":
        return "UCB1 by hand in Rust"
    if name.startswith("whole-"):
        return f"outlay `{name.removeprefix('whole-')}`, a whole simulated round"
    return f"outlay `{name.removeprefix('outlay-')}`" if name.startswith("outlay-") else name


def faults(rows):
    regret = {row["name"]: row["regret"] for row in rows}
    apart = abs(regret["whole-by-hand"] / regret["whole-cucb"] - 1.0)
    return [f"not the same algorithm: cucb and by hand on {INSTANCE} are {apart:.1e} apart"] if apart > AGREE else []
