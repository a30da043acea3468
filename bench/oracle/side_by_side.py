"""Solves the same problem files with outlay and with other solvers, in one run, and writes what it took."""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version

import instances
import peers

HERE = pathlib.Path(__file__).parent
ENGINE = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target")) / "release/examples/bench_oracle"

# kind, peer, K, seeds, the ratio that is the goal.
CASES = [
    ("concave", "conic", 100, 5, 1000.0),
    ("concave", "conic", 10_000, 2, 1000.0),
    ("concave", "bisection", 10_000, 3, 50.0),
    ("hill", "slsqp", 10, 5, 1.0),
    ("hill", "slsqp", 100, 5, 1.0),
    ("steps", "highs", 100, 5, 1000.0),
    ("steps", "highs", 1000, 4, 1000.0),
]
# Short solves are measured in so many turns.
TURNS, SHORT_SECONDS = 5, 0.05
TITLES = {
    "conic": "Clarabel, power and exponential cones",
    "bisection": "numpy, 60 bisections of the price",
    "slsqp": "SLSQP as pymc-marketing calls it",
    "highs": "HiGHS by scipy.optimize.milp, gap 0",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one seed a case")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that HiGHS may take for an instance")
    parser.add_argument("--output", type=pathlib.Path, default=HERE, help="folder for RESULTS.md and results.json")
    arguments = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, peer, tasks, seeds, goal in CASES:
            for seed in range(1, 1 + (1 if arguments.quick else seeds)):
                result = compare(kind, peer, tasks, seed, goal, arguments.limit, pathlib.Path(folder))
                results.append(result)
                print(
                    f"{kind} K={tasks} seed {seed}: outlay {show(result['cold_seconds'])}, {peer} {show(result['peer_seconds'])}"
                    f" = {result['ratio']:.0f}x, reaches {result['share']:.9f} ({result['note']})",
                    flush=True,
                )
    command = "bench/oracle/run" + "".join(f" {argument}" for argument in sys.argv[1:] if not argument.startswith("/"))
    text = report(results, command)
    (arguments.output / "results.json").write_text(json.dumps({"machine": machine(), "results": results}, indent=1) + "\n")
    (arguments.output / "RESULTS.md").write_text(text)
    print(text)
    below = [result for result in results if not result["never_below"]]
    if below:
        raise SystemExit(f"a peer's split within the budget is worth more than ours: {below}")


def compare(kind, peer, tasks, seed, goal, limit, folder):
    instance = getattr(instances, kind)(tasks, seed)
    path = folder / f"{kind}-{tasks}-{seed}.json"
    path.write_text(json.dumps(instance))
    ours, (seconds, spend, note) = in_turns(path, getattr(peers, peer), instance, limit)
    value, mine = instances.worth(instance, spend), instances.worth(instance, ours["spend"])
    budget = instance["budget"]
    assert sum(ours["spend"]) <= budget * (1 + 1e-14) * (1 + 1e-12), "our split exceeds the budget"
    assert abs(mine - ours["value"]) <= 1e-11 * mine, "the value is not what the curves say"
    within = sum(spend) <= budget * (1 + 1e-12)
    return {
        "kind": kind,
        "peer": peer,
        "tasks": tasks,
        "seed": seed,
        "goal": goal,
        "cold_seconds": ours["cold_seconds"],
        "warm_seconds": ours["warm_seconds"],
        "value": ours["value"],
        "gap": ours["gap"],
        "status": ours["status"],
        "nodes": ours["nodes"],
        "states": ours["states"],
        "peer_seconds": seconds,
        "peer_value": value,
        "peer_within_budget": bool(within),
        "note": note,
        "ratio": seconds / ours["cold_seconds"],
        "share": value / ours["value"],
        # Rounding of a sum of K terms, no more.
        "never_below": bool(not within or value <= ours["value"] * (1 + 1e-13 * tasks**0.5)),
    }


def in_turns(path, peer, instance, limit):
    """The fastest of several turns, each side's in a process or call of its own: a slow spell of the machine hits both alike."""

    def engine():
        return json.loads(subprocess.run([ENGINE, path], check=True, capture_output=True, text=True).stdout)

    ours, theirs = engine(), peer(instance, limit=limit)
    for _ in range(TURNS - 1 if theirs[0] < SHORT_SECONDS else 0):
        ours = min(ours, engine(), key=lambda answer: answer["cold_seconds"])
        theirs = min(theirs, peer(instance, limit=limit), key=lambda solved: solved[0])
    return ours, theirs


def report(results, command):
    lines = [
        "# The oracle next to other solvers",
        "",
        f"Written by `{command}`; what is measured and how fair it is: [bench/README.md](../README.md).",
        "",
        machine(),
        "",
        "A cell is the smallest and the largest over the instances. Times are for one solve, without building the model.",
        "",
        "| curves | K | seeds | outlay cold | warm | worst gap | other solver | its time | faster (cold) | goal | its value / ours | it says |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for kind, peer, tasks, _, goal in CASES:
        rows = [row for row in results if (row["kind"], row["peer"], row["tasks"]) == (kind, peer, tasks)]
        met = "met" if min(row["ratio"] for row in rows) >= goal else "NOT met"
        notes = sorted({row["note"] for row in rows})
        cells = [
            kind,
            f"{tasks}",
            f"{len(rows)}",
            span(rows, "cold_seconds", show),
            span(rows, "warm_seconds", show),
            f"{max(row['gap'] for row in rows):.0e}",
            TITLES[peer],
            span(rows, "peer_seconds", show),
            span(rows, "ratio", lambda ratio: f"{ratio:,.0f}x"),
            f">= {goal:.0f}x: {met}",
            span(rows, "share", lambda share: f"{share:.9f}" if abs(share - 1) < 1e-3 else f"{share:.3f}"),
            "; ".join(notes),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    below = sum(not row["never_below"] for row in results)
    lines += ["", f"Splits of other solvers, within the budget, that are worth more than ours: {below} of {len(results)}.", ""]
    return "\n".join(lines)


def span(rows, key, form):
    least, most = form(min(row[key] for row in rows)), form(max(row[key] for row in rows))
    return least if least == most else f"{least} .. {most}"


def show(seconds):
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def machine():
    """The processor, not the host."""
    model, flags = platform.machine(), set()
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            key, _, text = line.partition(":")
            if key.strip() == "model name":
                model = text.strip()
            elif key.strip() == "flags":
                flags = set(text.split())
    except OSError:
        pass
    vectors = " ".join(flag for flag in ("sse4_2", "avx", "avx2", "fma", "avx512f") if flag in flags)
    versions = ", ".join(f"{name} {version(name)}" for name in ("scipy", "numpy", "clarabel"))
    return f"Machine: {model}, {os.cpu_count()} cores ({vectors}); Python {platform.python_version()}, {versions}; one thread each."


if __name__ == "__main__":
    main()
