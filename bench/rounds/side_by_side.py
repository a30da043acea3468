"""Plays the same rounds with outlay and with other programs, in one run, and writes what they took."""

import argparse
import json
import math
import os
import pathlib
import platform
import subprocess
import tempfile
import time
from importlib.metadata import version

import loops
import numpy as np

HERE = pathlib.Path(__file__).parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target"))
ENGINE = TARGET / "release/examples/bench_rounds"
PEERS = TARGET / "peers/release/outlay-bench-rounds-peers"
COMMAND = TARGET / "release/outlay"

# The oracle of a Python loop, and for how many rounds it draws random numbers at once.
PYTHON = {"stream": (loops.Newton, 1), "tuned": (loops.Newton, 4096), "slsqp": (loops.Slsqp, 4096), "warm-slsqp": (loops.WarmSlsqp, 4096)}
TITLES = {
    "plain": "plain numpy, Newton on the price",
    "stream": "tuned numpy, outlay's random stream round by round",
    "tuned": "tuned numpy, the same for 4096 rounds at once",
    "slsqp": "numpy, SLSQP as the oracle",
    "warm-slsqp": "numpy, SLSQP from the last split",
}
# Regrets of the same game must agree to this share; the plain loop plays it with other random numbers.
AGREE = {"plain": 0.5, "stream": 1e-6, "tuned": 1e-6, "slsqp": 1e-3, "warm-slsqp": 1e-3, "by-hand": 1e-6}
# instance, Python loop, rounds (full, quick), rounds of the check, the ratio that is the goal.
LOOPS = [
    ("square-roots", "plain", (10_000, 2000), 10_000, None),
    ("power:tasks=10", "plain", (10_000, 2000), 3000, 100.0),
    ("power:tasks=100", "plain", (10_000, 1000), 3000, None),
    ("power:tasks=10", "stream", (10_000, 2000), 300, None),
    ("square-roots", "tuned", (10_000, 2000), 300, None),
    ("power:tasks=10", "tuned", (10_000, 2000), 300, None),
    ("power:tasks=100", "tuned", (10_000, 1000), 300, None),
    ("square-roots", "slsqp", (10_000, 300), 300, None),
    ("power:tasks=10", "slsqp", (10_000, 300), 300, 3000.0),
    ("power:tasks=100", "slsqp", (30, 10), 30, None),
    ("square-roots", "warm-slsqp", (10_000, 300), 300, None),
    ("power:tasks=10", "warm-slsqp", (10_000, 300), 300, None),
    ("power:tasks=100", "warm-slsqp", (30, 10), 30, None),
]
# instance, rounds (full, quick), the most that `sharp` and `tight` may take in times of `paper`.
LEARNERS = [
    ("square-roots", (1_000_000, 50_000), None),
    ("power:tasks=10", (1_000_000, 20_000), 2.5),
    ("power:tasks=100", (100_000, 2000), None),
]
# Short enough that some runs meet nobody else on the processor.
ARMED_ROUNDS = 20_000
# Times the fastest other library.
ARMED_GOAL = 1.0
MEMORY = ("power:tasks=10", "paper", 1_000_000)
MEMORY_REPLICATIONS = (100, 4)
MEMORY_GOAL = 200e6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short horizons, one pass")
    parser.add_argument("--output", type=pathlib.Path, default=HERE, help="folder for RESULTS.md and results.json")
    arguments = parser.parse_args()
    quick = int(arguments.quick)
    passes = 1 if quick else 5
    results = {
        "machine": machine(),
        "checks": checks(),
        "loops": loop_rows(quick, passes),
        "learners": learner_rows(quick, passes),
        "armed": armed_rows(quick, passes),
        "parts": [engine("parts", instance, 0.1 if quick else 0.5) for instance, *_ in LEARNERS],
        "memory": memory_rows(quick),
    }
    text = report(results, "bench/rounds/run --quick" if quick else "bench/rounds/run")
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (arguments.output / "RESULTS.md").write_text(text)
    print(text)
    apart = [check for check in results["checks"] if not check["agrees"]]
    if apart:
        raise SystemExit(f"not the same algorithm: {apart}")


def engine(*words):
    answer = subprocess.run([ENGINE, *map(str, words)], check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)


def python_loop(kind, instance, horizon, seconds):
    """CPU seconds of the fastest run within so many seconds, at least one; and the regret."""
    given = engine("instance", instance, horizon)
    exponents, means = np.array(given["exponents"]), np.array(given["means"])
    least, start = math.inf, time.perf_counter()
    while least == math.inf or time.perf_counter() - start < seconds:
        begin = time.process_time()
        if kind == "plain":
            regret = float(loops.plain(exponents, means, horizon))
        else:
            regret = loops.paper(PYTHON[kind][0], exponents, means, horizon, PYTHON[kind][1])
        least = min(least, time.process_time() - begin)
    return least, regret


def checks():
    """Whether everybody plays the same game: regrets with the same seed and the same random stream."""
    rows = []

    def compare(instance, learner, peer, horizon, theirs):
        ours = engine("rounds", instance, learner, horizon, 0)["regret"]
        apart = abs(theirs / ours - 1.0)
        row = {"instance": instance, "learner": learner, "peer": peer, "horizon": horizon, "regret": ours, "peer_regret": theirs}
        rows.append(row | {"apart": apart, "agrees": apart <= AGREE[peer]})
        print(f"check: {instance} {learner}, {horizon} rounds: regret {ours:.9g}, {peer} {theirs:.9g}, {apart:.1e} apart", flush=True)

    for instance, kind, _, horizon, _ in LOOPS:
        compare(instance, "paper", kind, horizon, python_loop(kind, instance, horizon, 0.0)[1])
    for instance, *_ in LEARNERS:
        compare(instance, "paper", "by-hand", 2000, engine("rounds", instance, "by-hand", 2000, 0)["regret"])
    compare("k-armed", "cucb", "by-hand", ARMED_ROUNDS, engine("rounds", "k-armed", "by-hand", ARMED_ROUNDS, 0)["regret"])
    return rows


def loop_rows(quick, passes):
    """`paper` next to the Python loops, both over the same horizon. Turns are taken, the fastest run of each counts."""
    rows = []
    for instance, kind, rounds, _, goal in LOOPS:
        horizon = rounds[quick]
        ours, theirs = [], []
        for _ in range(passes):
            ours.append(engine("rounds", instance, "paper", horizon, 0.5))
            theirs.append(python_loop(kind, instance, horizon, 1.0))
        best, seconds = max(row["rounds_per_second"] for row in ours), min(theirs)[0]
        row = {"instance": instance, "peer": kind, "horizon": horizon, "rounds_per_second": best, "goal": goal}
        row |= {"peer_rounds_per_second": horizon / seconds, "ratio": best * seconds / horizon, "oracle_gap": ours[0]["oracle_gap"]}
        rows.append(row)
        print(f"{instance}, {horizon} rounds: outlay {best:,.0f} a second, {kind} {horizon / seconds:,.0f} = {row['ratio']:,.0f}x", flush=True)
    return rows


def learner_rows(quick, passes):
    """`paper`, `sharp`, `tight` and `paper` by hand over long horizons, in turn."""
    rows = []
    for instance, rounds, goal in LEARNERS:
        horizon = rounds[quick]
        best = fastest(instance, ["paper", "sharp", "tight", "by-hand"], horizon, passes)
        for learner, speed in best.items():
            row = {"instance": instance, "learner": learner, "horizon": horizon, "rounds_per_second": speed}
            row |= {"times_of_paper": best["paper"] / speed, "times_of_by_hand": best["by-hand"] / speed}
            rows.append(row | {"goal": goal if learner in ("sharp", "tight") else None})
            print(f"{instance} {learner}, {horizon} rounds: {speed:,.0f} a second", flush=True)
    return rows


def fastest(instance, learners, horizon, passes):
    best = dict.fromkeys(learners, 0.0)
    for _ in range(passes):
        for learner in learners:
            best[learner] = max(best[learner], engine("rounds", instance, learner, horizon, 0.5)["rounds_per_second"])
    return best


def armed_rows(quick, passes):
    """The classical bandit: thresholds at the whole budget, next to libraries that do nothing else."""
    means = engine("instance", "k-armed", ARMED_ROUNDS)["means"]
    best, regrets = {}, {}
    for _ in range(passes):
        for learner, speed in fastest("k-armed", ["cucb", "paper", "by-hand"], ARMED_ROUNDS, 1).items():
            best[learner] = max(best.get(learner, 0.0), speed)
        words = [PEERS, str(ARMED_ROUNDS), "0.5", *map(str, means)]
        for line in subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines():
            peer = json.loads(line)
            best[peer["library"]] = max(best.get(peer["library"], 0.0), peer["rounds_per_second"])
            regrets[peer["library"]] = peer["regret"]
    strongest = max(best[library] for library in regrets if not library.startswith("outlay"))
    rows = []
    for name, speed in best.items():
        regret = regrets[name] if name in regrets else engine("rounds", "k-armed", name, ARMED_ROUNDS, 0)["regret"]
        row = {"name": name, "library": name in regrets, "horizon": ARMED_ROUNDS, "rounds_per_second": speed, "regret": regret}
        rows.append(row | {"times_the_fastest_library": speed / strongest, "goal": ARMED_GOAL if name.startswith("outlay-") else None})
        print(f"k-armed {name}: {speed:,.0f} a second", flush=True)
    return rows


def memory_rows(quick):
    """The largest resident size of many long replications: through the library, and through the command where there is one."""
    instance, learner, horizon = MEMORY
    replications = MEMORY_REPLICATIONS[quick]
    library = engine("memory", *MEMORY, replications)
    rows = [{"through": "the library", "peak_bytes": library["peak_bytes"], "seconds": library["seconds"]}]
    listed = subprocess.run([COMMAND, "simulate", "--list"], capture_output=True)
    if listed.returncode == 0:
        with tempfile.TemporaryDirectory() as folder:
            words = [COMMAND, "simulate", instance, "--learner", learner, "--horizon", horizon, "--replications", replications]
            words += ["--out", f"{folder}/run", "--format", "json"]
            begin = time.perf_counter()
            peak = peak_bytes([str(word) for word in words])
            rows.append({"through": "`outlay simulate`", "peak_bytes": peak, "seconds": time.perf_counter() - begin})
    for row in rows:
        row |= {"instance": instance, "learner": learner, "horizon": horizon, "replications": replications, "goal": MEMORY_GOAL}
        print(f"memory, {replications} x {horizon} rounds through {row['through']}: {row['peak_bytes'] / 1e6:.1f} MB", flush=True)
    return rows


def peak_bytes(words):
    """By GNU time: its own memory is small, while a child of this process would count what Python had before it started."""
    timed = ["/usr/bin/time", "--format", "%M", *words]
    answer = subprocess.run(timed, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return int(answer.stderr.split()[-1]) * 1024


def report(results, command):
    lines = [
        "# Whole simulated rounds next to other programs",
        "",
        f"Written by `{command}`; what is measured and how fair it is: [bench/README.md](../README.md).",
        "",
        results["machine"],
        "",
        "## The paper's algorithm on power curves",
        "",
        "Rounds a second over the same rounds; outlay with its certificate, trace and everything else that a simulation keeps. The",
        "goals are about the plain loop and SLSQP as its users call it; the tuned ones and SLSQP from the last split are stricter comparisons.",
        "",
    ]
    head = ["instance", "K", "rounds", "outlay", "worst gap", "other loop", "its rounds/s", "faster", "goal"]
    rows = [
        [
            f"`{row['instance']}`",
            tasks(row["instance"]),
            f"{row['horizon']:,}",
            f"{row['rounds_per_second']:,.0f}",
            f"{row['oracle_gap']:.0e}",
            TITLES[row["peer"]],
            figure(row["peer_rounds_per_second"]),
            f"{row['ratio']:,.0f}x",
            goal(row["goal"], row["goal"] and row["ratio"] >= row["goal"], ">= {:,.0f}x"),
        ]
        for row in results["loops"]
    ]
    lines += table(head, rows)
    lines += [
        "",
        "## Learners, and the same by hand",
        "",
        "By hand: `paper` for power curves only, task after task, no certificate, no trace. Times are those of a round, as multiples.",
        "",
    ]
    head = ["instance", "K", "rounds", "learner", "rounds/s", "a round", "times `paper`", "goal", "times by hand"]
    rows = [
        [
            f"`{row['instance']}`",
            tasks(row["instance"]),
            f"{row['horizon']:,}",
            row["learner"].replace("-", " "),
            f"{row['rounds_per_second']:,.0f}",
            show(1 / row["rounds_per_second"]),
            f"{row['times_of_paper']:.2f}x",
            goal(row["goal"], row["goal"] and row["times_of_paper"] <= row["goal"], "<= {:g}x"),
            f"{row['times_of_by_hand']:.2f}x",
        ]
        for row in results["learners"]
    ]
    lines += table(head, rows)
    lines += ["", "What the parts of a round take by hand, every task in each; a round needs draws, a few indices and two or three passes.", ""]
    head = ["instance", "K", "draws", "indices", "one pass of the price", "success by powf"]
    keys = ["draws_seconds", "indices_seconds", "pass_seconds", "success_seconds"]
    lines += table(head, [[f"`{row['instance']}`", f"{row['tasks']}", *(show(row[key]) for key in keys)] for row in results["parts"]])
    lines += [
        "",
        "## The classical bandit",
        "",
        f"Thresholds at the whole budget, ten Bernoulli arms (`k-armed`), {results['armed'][0]['horizon']:,} rounds. The libraries choose an",
        "arm and learn its reward, and so does outlay in the same loop, with a split and its certificate in every round. Below it are whole",
        "simulated rounds: budgets, regret and trace too. `cucb` computes what UCB1 does, a width that grows with log t; the width of `paper`",
        "is fixed by the horizon and changes only with a pull. Regrets differ by the order of the first pulls.",
        "",
    ]
    rows = [
        [
            armed_title(row),
            f"{row['rounds_per_second']:,.0f}",
            show(1 / row["rounds_per_second"]),
            f"{row['times_the_fastest_library']:.2f}x",
            goal(row["goal"], row["goal"] and row["times_the_fastest_library"] >= row["goal"], ">= {:g}x"),
            f"{row['regret']:.1f}",
        ]
        for row in results["armed"]
    ]
    lines += table(["who", "rounds/s", "a round", "speed, of the fastest library", "goal", "regret"], rows)
    lines += ["", "## Memory", ""]
    rows = [
        [
            f"`{row['instance']}`",
            row["through"],
            f"{row['replications']} x {row['horizon']:,}",
            f"{row['peak_bytes'] / 1e6:.1f} MB",
            goal(row["goal"] / 1e6, row["peak_bytes"] <= row["goal"], "<= {:g} MB"),
            show(row["seconds"]),
        ]
        for row in results["memory"]
    ]
    lines += table(["instance", "through", "rounds", "largest resident size", "goal", "time, all cores"], rows)
    lines += ["", "## The same algorithm", "", "Regrets of the same seed and random stream.", ""]
    rows = [
        [
            f"`{row['instance']}`",
            f"`{row['learner']}`",
            f"{row['horizon']:,}",
            f"{row['regret']:.9g}",
            TITLES.get(row["peer"], row["peer"].replace("-", " ")),
            f"{row['peer_regret']:.9g}",
            f"{row['apart']:.0e}",
            f"<= {AGREE[row['peer']]:.0e}: {'yes' if row['agrees'] else 'NO'}",
        ]
        for row in results["checks"]
    ]
    lines += table(["instance", "learner", "rounds", "regret", "other loop", "its regret", "apart", "agree"], rows)
    return "\n".join([*lines, ""])


def armed_title(row):
    name = row["name"]
    if name.startswith("outlay-"):
        return f"outlay `{name.removeprefix('outlay-')}`"
    if row["library"] or name == "by-hand":
        return name.replace("by-hand", "by hand")
    return f"outlay `{name}`, a whole simulated round"


def table(head, rows):
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]


def goal(number, met, form):
    return "" if number is None else f"{form.format(number)}: {'met' if met else 'NOT met'}"


def tasks(instance):
    return instance.partition("tasks=")[2] or "2"


def figure(number):
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


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
    versions = ", ".join(f"{name} {version(name)}" for name in ("scipy", "numpy"))
    return f"Machine: {model}, {os.cpu_count()} cores ({vectors}); Python {platform.python_version()}, {versions}; one thread each."


if __name__ == "__main__":
    main()
