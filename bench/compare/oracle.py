"""One split: the same problem files solved by outlay and by other solvers, in turn."""

import json
import pathlib
import tempfile
from dataclasses import dataclass

from . import instances
from .engine import program, progress
from .solvers import by_hand, conic, local, mixed_integer
from .tables import seconds, span, table, times

TITLE = "One split, compared with other solvers"
SOLVERS = {
    "clarabel": ("Clarabel, power and exponential cones", conic.cones),
    "cvxpy": ("cvxpy with Clarabel", conic.modelled),
    "slsqp": ("SLSQP as pymc-marketing calls it", local.slsqp),
    "trust-constr": ("scipy's trust-constr", local.trust_constr),
    "highs-0": ("HiGHS by scipy.optimize.milp, gap 0", mixed_integer.highs_exact),
    "highs-1e-4": ("HiGHS by scipy.optimize.milp, gap 1e-4", mixed_integer.highs_loose),
    "pieces-20": ("HiGHS, 20 points a curve, gap 1e-4", mixed_integer.highs_pieces_20),
    "pieces-12": ("HiGHS, 12 points a curve, gap 1e-4", mixed_integer.highs_pieces_12),
    "cp-sat": ("CP-SAT, billionths, 2 workers", mixed_integer.cp_sat),
    "bisection": ("numpy, 60 bisections of the price", by_hand.bisection),
    "greedy": ("Meridian's greedy rule, grid of 10,000", by_hand.greedy),
}


@dataclass(frozen=True)
class Case:
    kind: str
    tasks: int
    seeds: int
    solvers: tuple
    # The relative gap at which outlay's search may stop.
    tolerance: float = 1e-9


CASES = [
    Case("concave", 10, 5, ("clarabel", "cvxpy", "slsqp", "trust-constr", "bisection", "greedy")),
    Case("concave", 100, 5, ("clarabel", "cvxpy", "slsqp", "trust-constr", "bisection", "greedy")),
    Case("concave", 10_000, 3, ("clarabel", "bisection")),
    Case("hill", 10, 5, ("slsqp", "trust-constr", "pieces-20", "greedy")),
    Case("hill", 100, 5, ("slsqp", "trust-constr", "pieces-20", "greedy")),
    Case("hill", 1000, 3, ("pieces-12", "greedy")),
    Case("steps", 10, 5, ("highs-0", "highs-1e-4", "cp-sat", "greedy")),
    Case("steps", 100, 5, ("highs-0", "highs-1e-4", "cp-sat", "greedy")),
    Case("steps", 1000, 4, ("highs-0", "highs-1e-4", "cp-sat", "greedy")),
    Case("correlated", 100, 3, ("highs-1e-4", "cp-sat"), 1e-6),
    Case("correlated", 1000, 3, (), 1e-6),
]
# Shorter solves are measured in this many turns, alternating between the solvers.
TURNS, SHORT_SECONDS = 5, 0.05
# No more instances for a solver that has taken this long on a case.
PATIENCE_SECONDS = 20.0
LIMIT_SECONDS = {"highs-0": 60.0, "highs-1e-4": 60.0, "pieces-20": 30.0, "pieces-12": 60.0, "cp-sat": 10.0}
ENGINE_SECONDS = 0.1


def measure(quick):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            spent = dict.fromkeys(case.solvers, 0.0)
            for seed in range(1, 1 + (1 if quick else case.seeds)):
                instance = instances.make(case.kind, case.tasks, seed)
                path = pathlib.Path(folder) / "problem.json"
                path.write_text(json.dumps(instance))
                willing = [name for name in case.solvers if spent[name] <= PATIENCE_SECONDS]
                ours, theirs = in_turns(path, instance, willing, case.tolerance, 2 if quick else TURNS)
                for name, answer in theirs.items():
                    spent[name] += answer[0]
                rows.append(judged(case, seed, instance, ours, theirs))
                print_result(rows[-1])
    return rows


def in_turns(path, instance, names, tolerance, turns):
    """The fastest of several turns. Each turn runs every solver, so that a slow phase of the
    machine affects all alike. Long solves have one turn."""

    def engine():
        return program("oracle", ENGINE_SECONDS, tolerance, path)[0]

    ours, theirs = engine(), {name: SOLVERS[name][1](instance, LIMIT_SECONDS.get(name)) for name in names}
    short = [name for name in names if theirs[name][0] < SHORT_SECONDS]
    cold = [ours["cold_seconds"]]
    for _ in range(turns - 1):
        again = engine()
        cold.append(again["cold_seconds"])
        ours["cold_seconds"], ours["warm_seconds"] = (min(ours[key], again[key]) for key in ("cold_seconds", "warm_seconds"))
        for name in short:
            theirs[name] = min(theirs[name], SOLVERS[name][1](instance, LIMIT_SECONDS.get(name)), key=lambda answer: answer[0])
    return ours | {"cold_turns": cold}, theirs


def judged(case, seed, instance, ours, theirs):
    """Recomputes the values of all splits from the curves, independently of the engine."""
    budget, mine = instance["budget"], instances.worth(instance, ours["spend"])
    assert sum(ours["spend"]) <= budget * (1 + 1e-14) * (1 + 1e-12), "our split exceeds the budget"
    assert abs(mine - ours["value"]) <= 1e-11 * mine, "the value is not what the curves say"
    keys = ("cold_seconds", "warm_seconds", "cold_turns", "value", "gap", "status", "nodes", "states")
    row = {"kind": case.kind, "tasks": case.tasks, "seed": seed, **{key: ours[key] for key in keys}, "solvers": {}}
    for name, (time, spend, note) in theirs.items():
        value, within = instances.worth(instance, spend), bool(sum(spend) <= budget * (1 + 1e-12))
        # The tolerance is rounding plus the certified gap.
        most = ours["value"] * (1 + rounding(case.tasks) + ours["gap"])
        row["solvers"][name] = {
            "seconds": time,
            "value": value,
            "within_budget": within,
            "note": note,
            "ratio": time / ours["cold_seconds"],
            "share": value / ours["value"],
            "never_above": bool(not within or value <= most),
        }
    return row


def print_result(row):
    others = ", ".join(f"{name} {times(answer['ratio'])} reaches {answer['share']:.6f}" for name, answer in row["solvers"].items())
    progress(f"{row['kind']} K={row['tasks']:,} seed {row['seed']}: {seconds(row['cold_seconds'])}; {others}")


def answers(rows, kind, tasks, name):
    """The results of a solver on the instances of a case."""
    return [row["solvers"][name] for row in rows if (row["kind"], row["tasks"]) == (kind, tasks) and name in row["solvers"]]


def report(rows):
    lines = ["Times are CPU times of one solve, without building the model. A cell is the smallest and the largest over the instances.", ""]
    ours = [[row for row in rows if (row["kind"], row["tasks"]) == (case.kind, case.tasks)] for case in CASES]
    head = ["curves", "K", "instances", "outlay, cold", "warm", "worst gap", "slowest turn / fastest"]
    cells = [
        [
            case.kind,
            f"{case.tasks:,}",
            f"{len(mine)}",
            span([row["cold_seconds"] for row in mine], seconds),
            span([row["warm_seconds"] for row in mine], seconds),
            f"{max(row['gap'] for row in mine):.0e}",
            times(max(max(row["cold_turns"]) / min(row["cold_turns"]) for row in mine)),
        ]
        for case, mine in zip(CASES, ours)
    ]
    lines += [*table(head, cells), ""]
    head = ["curves", "K", "other solver", "instances", "its time", "outlay is faster (cold)", "its value / ours", "it says"]
    cells = []
    for case in CASES:
        for name in case.solvers:
            found = answers(rows, case.kind, case.tasks, name)
            cells.append(
                [
                    case.kind,
                    f"{case.tasks:,}",
                    SOLVERS[name][0],
                    f"{len(found)}",
                    span([answer["seconds"] for answer in found], seconds),
                    span([answer["ratio"] for answer in found], times),
                    span([answer["share"] for answer in found], lambda share: f"{share:.9f}" if abs(share - 1) < 1e-3 else f"{share:.3f}"),
                    "; ".join(sorted({answer["note"] for answer in found})),
                ]
            )
    lines += table(head, cells)
    every = [(row, answer) for row in rows for answer in row["solvers"].values()]
    above = [answer for row, answer in every if answer["within_budget"] and answer["share"] > 1 + rounding(row["tasks"])]
    beyond = sum(not answer["never_above"] for answer in above)
    text = f"Splits of other solvers, within the budget, with a larger value than ours: {len(above)} of {len(every)}"
    return [*lines, "", f"{text}; by more than the certified gap: {beyond}."]


def rounding(tasks):
    """The relative rounding error of a sum of K terms."""
    return 1e-13 * tasks**0.5


def faults(rows):
    return [
        f"{name} on {row['kind']} K={row['tasks']} seed {row['seed']}: a split within the budget is worth {answer['share']} of ours"
        for row in rows
        for name, answer in row["solvers"].items()
        if not answer["never_above"]
    ]
