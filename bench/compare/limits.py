"""The engine compared with a pass over the data, call by call in one process."""

from .engine import program, progress
from .solvers import brentq
from .tables import seconds, span, table, times

TITLE = "Compared with the machine's limits"
NAMES = {
    "triad": "memory triad, 24 B a task",
    "exponentials": "pass of vector exponentials",
    "sort": "sort of the hulls' slopes",
    "pass": "pass over all jumps, 16 B each",
    "brentq": "scipy's brentq over demand in numpy",
}
OURS = ("cold", "warm")


def measure(quick):
    cases = program("limits", 0.5 if quick else 6)
    for case in cases:
        add_brentq(case)
        least = {name: min(stretches) for name, stretches in case["seconds"].items()}
        progress(f"{case['curves']} K={case['tasks']:,}: " + ", ".join(f"{name} {seconds(time)}" for name, time in least.items()))
    return cases


def add_brentq(case):
    """The same kind of curves, drawn in numpy, with as many stretches as the engine's."""
    if case["family"] == "dense":
        times = brentq.measure(case["curves"], case["tasks"], len(case["seconds"]["cold"]))
        case["seconds"] |= {"brentq": times} if times else {}


def ratio(case, ours, limit):
    """The ratio of the fastest, and the smallest and largest over the stretches of the run."""
    mine, theirs = case["seconds"][ours], case["seconds"][limit]
    stretches = [a / b for a, b in zip(mine, theirs)]
    return min(mine) / min(theirs), min(stretches), max(stretches)


def shown(case, ours, limit):
    whole, least, most = ratio(case, ours, limit)
    return f"{times(whole)} ({span([least, most], times)})"


def report(cases):
    lines = [
        "Calls of the engine and passes over as many numbers, in turn in one process. Cold: no price from an earlier call. Warm: every value",
        "has moved by up to 0.5 %. A ratio compares the fastest runs; in brackets the smallest and largest over the stretches of the run.",
        "The brentq rows are not limits but another method for the price, in another process: below 1x the engine is faster.",
        "",
    ]
    head = ["curves", "K", "gap", "cold", "warm", "limit", "its time", "cold / limit", "warm / limit"]
    rows = []
    for case in (case for case in cases if "cold" in case["seconds"]):
        for limit in (name for name in case["seconds"] if name not in OURS):
            rows.append(
                [
                    case["curves"],
                    f"{case['tasks']:,}",
                    f"{case['gap']:.0e}",
                    seconds(min(case["seconds"]["cold"])),
                    seconds(min(case["seconds"]["warm"])),
                    NAMES[limit],
                    seconds(min(case["seconds"][limit])),
                    shown(case, "cold", limit),
                    shown(case, "warm", limit),
                ]
            )
    return lines + table(head, rows) + threads(cases)


def threads(cases):
    head = ["curves", "K", "one thread", "threads", "all of them", "times as fast"]
    rows = [
        [
            case["curves"],
            f"{case['tasks']:,}",
            seconds(min(case["seconds"]["one"])),
            str(case["threads"]),
            seconds(min(case["seconds"]["all"])),
            shown(case, "one", "all"),
        ]
        for case in cases
        if case["family"] == "threads"
    ]
    return ["", "One allocation on one thread and on several: warm, with success.", ""] + table(head, rows)


def faults(_):
    return []
