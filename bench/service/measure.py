"""Measures the service, compares the results with the goals, and writes results.json and RESULTS.md
beside this file."""

import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
PROGRAM = ROOT / "target" / "dist" / "bench_service"
SHIM = ROOT / "target" / "slow_sync.so"
REPLICAS = [ROOT / "crates/outlay-server/tests/with-postgres", ROOT / "target" / "dist" / "bench_replicas"]
NAMES = {
    "bare": "bare axum handler, the same body back",
    "durable-tell": "report of 4 tasks, on disk",
    "durable-ask": "ask, on disk",
    "ask-from-memory": "ask, store in memory",
}
# Request, connections, and the smallest allowed share of the rate of the bare handler.
SHARES = [("durable-tell", 64, 0.45), ("durable-tell", 256, 0.50), ("ask-from-memory", 64, 0.55)]
ONE_CLIENT = "one client, ask and report, on disk"
OPTUNA_GOAL, RESTART_GOAL, ROW_LOCK_GOAL = 200.0, 2.0, 4.0
# Rounds per request of the single client; Optuna supports only one.
ROUNDS_A_REQUEST = [1, 8, 64]
# Milliseconds added to every sync: the disk unchanged, and a slower one as assumed by the goals.
SYNC_DELAYS = [0, 4]


def main():
    parser = argparse.ArgumentParser(prog="bench/service/run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short stretches, only to show that everything runs")
    parser.add_argument("--optuna", type=int, metavar="TRIALS", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.optuna:
        return print(json.dumps(optuna(arguments.optuna)))
    quick = arguments.quick
    results = {"command": "bench/service/run" + (" --quick" if quick else ""), "machine": machine()}
    results |= engine("rates", 0.1 if quick else 1.5)
    results["restart"] = engine("restart", 100_000 if quick else 2_000_000)
    results |= engine("rounds")
    results["one_client"] = [one_client(delay, 1 if quick else 10, 20 if quick else 200) for delay in SYNC_DELAYS]
    results["replicas"] = [replicas(delay, 1 if quick else 4) for delay in SYNC_DELAYS]
    results["goals"] = goals(results)
    output = ROOT / "target" / "bench-service" if quick else HERE
    output.mkdir(parents=True, exist_ok=True)
    (output / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (output / "RESULTS.md").write_text("\n".join(report(results)) + "\n")
    print(output / "RESULTS.md")


def engine(what, *words, **environment):
    """Runs the program on the disk of the repository: a temporary folder may be in memory, without
    syncs."""
    folder = tempfile.mkdtemp(dir=ROOT / "target")
    try:
        print(f"== {what}", flush=True)
        command = [PROGRAM, what, f"{folder}/store", *map(str, words)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | environment)
        return json.loads(done.stdout)
    finally:
        shutil.rmtree(folder)


def one_client(delay, seconds, trials):
    """Measures outlay and then Optuna, with syncs that take `delay` ms longer."""
    count = ROOT / "target" / "syncs"
    environment = {"LD_PRELOAD": str(SHIM), "SYNC_DELAY_MS": str(delay), "SYNC_COUNT_FILE": str(count)}
    trials = trials if delay == 0 else max(trials // 5, 10)
    ours = []
    for rounds in ROUNDS_A_REQUEST:
        row = engine("client", seconds, rounds, **environment)
        ours.append(row | {"syncs": int(count.read_text()) / (row["ask_and_tell_per_second"] * seconds)})
    print("== optuna", flush=True)
    done = subprocess.run([sys.executable, __file__, "--optuna", str(trials)], stdout=subprocess.PIPE, text=True, check=True, env=os.environ | environment)
    theirs = json.loads(done.stdout)
    theirs |= {"syncs": int(count.read_text()) / trials}
    return {"delay_ms": delay, "outlay": ours, "optuna": theirs}


def replicas(delay, seconds):
    """Measures replicas on a separate PostgreSQL, with syncs that take `delay` ms longer."""
    print("== replicas", flush=True)
    environment = os.environ | {"LD_PRELOAD": str(SHIM), "SYNC_DELAY_MS": str(delay)}
    done = subprocess.run([*REPLICAS, str(seconds), "3", "16"], stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return {"delay_ms": delay} | json.loads(done.stdout)


def optuna(trials):
    """Optuna's `ask` and `tell` by one client, with eight numbers per trial, in a SQLite file on
    the same disk."""
    import optuna as library

    library.logging.set_verbosity(library.logging.ERROR)
    folder = tempfile.mkdtemp(dir=ROOT / "target")
    try:
        study = library.create_study(storage=f"sqlite:///{folder}/optuna.db", sampler=library.samplers.RandomSampler(seed=1))
        begin = time.perf_counter()
        for _ in range(trials):
            trial = study.ask({f"x{place}": library.distributions.FloatDistribution(0.0, 1.0) for place in range(8)})
            study.tell(trial, 0.5)
        took = time.perf_counter() - begin
    finally:
        shutil.rmtree(folder)
    return {"version": library.__version__, "trials": trials, "ask_and_tell_per_second": trials / took}


def machine():
    with open("/proc/cpuinfo") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return {"processor": model, "cores": os.cpu_count(), "load": os.getloadavg()[0], "python": platform.python_version()}


def middle(results, what, connections):
    """The turn whose rate is the median."""
    rows = [row for row in results["rates"] if (row["what"], row["connections"]) == (what, connections)]
    return sorted(rows, key=lambda row: row["per_second"])[len(rows) // 2]


def shares(results, what, connections):
    """The share of each turn, in which both run at about the same time."""
    turns = {}
    for row in results["rates"]:
        if row["connections"] == connections:
            turns.setdefault(row["turn"], {})[row["what"]] = row["per_second"]
    return sorted(turn[what] / turn["bare"] for turn in turns.values())


def times_optuna(at, ours):
    return ours["ask_and_tell_per_second"] / at["optuna"]["ask_and_tell_per_second"]


def times_row_lock(row):
    """The ratio of the usual designs: outlay with group commit, the other with one transaction per
    report."""
    return row["outlay"]["group_commit"] / row["row_lock"]["alone"]


def row_lock_text(row):
    """Adds the ratios of equal designs: both without group commit, and both with it."""
    ours, theirs = row["outlay"], row["row_lock"]
    slow = "" if row["delay_ms"] == 0 else f"syncs {row['delay_ms']} ms slower "
    like = f"{ours['alone'] / theirs['alone']:.1f} with one transaction per report in both, {ours['group_commit'] / theirs['group_commit']:.1f} with group commit in both"
    return f"{slow}{times_row_lock(row):.1f} times ({like})"


def sync(row):
    return "unchanged" if row["delay_ms"] == 0 else f"{row['delay_ms']} ms slower"


def optuna_limit(results):
    """Explains why no store could meet the goal over HTTP on this machine, and what would."""
    fast, slow = results["one_client"]
    bare = middle(results, "bare", 1)["per_second"] / 2
    theirs = fast["optuna"]["ask_and_tell_per_second"]
    one, *more = fast["outlay"]
    enough = next((row for row in more if times_optuna(fast, row) >= OPTUNA_GOAL), None)
    text = (
        f"A handler that does nothing answers {bare:,.0f} pairs of requests per second, {bare / theirs:,.0f} times Optuna; a store "
        f"without any cost would reach the same. outlay syncs {one['syncs']:.1f} times per pair, Optuna {fast['optuna']['syncs']:.0f} times per trial: if only "
        f"syncs took time, the ratio would be {fast['optuna']['syncs'] / one['syncs']:.0f}, and with syncs {slow['delay_ms']} ms slower it is {times_optuna(slow, slow['outlay'][0]):.0f}."
    )
    if enough:
        text += f" A client that asks for {enough['rounds_a_request']} rounds at once and reports them together (`count`, NDJSON) achieves {times_optuna(fast, enough):,.0f} times as many rounds."
    return text


def goals(results):
    rows = []
    for what, connections, least in SHARES:
        found = shares(results, what, connections)
        share = statistics.median(found)
        text = f"{share:.1%} ({found[1]:.0%} .. {found[-2]:.0%})"
        rows.append([f"{NAMES[what]}, {connections} connections", f">= {least:.0%} of the bare handler", text, share >= least])
    at = results["one_client"][0]
    ratio = times_optuna(at, at["outlay"][0])
    rows.append([ONE_CLIENT, f">= {OPTUNA_GOAL:g} times Optuna with SQLite", f"{ratio:,.0f} times", ratio >= OPTUNA_GOAL])
    ready = results["restart"]["first_answer_seconds"]
    rows.append([f"first answer after a start with {results['restart']['items']:,} outcomes", f"< {RESTART_GOAL:g} s", f"{ready:.2f} s", ready < RESTART_GOAL])
    asks = results["asks"]
    slowest = max(row["ask_seconds"] for row in asks) / asks[0]["ask_seconds"]
    rows.append(["an ask after 10^3 .. 10^7 rounds", "no slower: < 2 times, noise of the disk", f"at most {slowest:.2f} times", slowest < 2.0])
    as_it_is = times_row_lock(results["replicas"][0])
    text = "; with ".join(row_lock_text(row) for row in results["replicas"])
    rows.append(["two replicas on PostgreSQL, one hot campaign", f">= {ROW_LOCK_GOAL:g} times a lock on the campaign's row", text, as_it_is >= ROW_LOCK_GOAL])
    return rows


def report(results):
    lines = ["# Service benchmarks", ""]
    at = results["machine"]
    lines += [f"Written by `{results['command']}`. {at['processor']}, {at['cores']} cores, load {at['load']:.1f} at the start; Python {at['python']}.", ""]
    lines += [
        "Clients and service share the cores. Every turn measures all requests one after the other and takes shares of the bare handler in the same turn. Medians of nine",
        "turns; in brackets the range without the smallest and the largest (a 96 % interval of the median). Turns in which the host gave more than",
        f"{results['most_stolen']:.0%} of the processors' time to other guests were repeated: {results['turns_again']}.",
        "",
    ]
    lines += table(["what", "goal", "measured", ""], [[what, goal, text, "met" if met else "NOT met"] for what, goal, text, met in results["goals"]])
    if any(what == ONE_CLIENT and not met for what, *_, met in results["goals"]):
        lines += ["", f"Why the single client misses its goal: {optuna_limit(results)}"]
    lines += ["", "## Requests per second", ""]
    rows = []
    for connections in sorted({row["connections"] for row in results["rates"]}):
        for what, name in NAMES.items():
            row, share = middle(results, what, connections), statistics.median(shares(results, what, connections))
            rows.append([f"{connections}", name, f"{row['per_second']:,.0f}", f"{share:.0%}", milli(row["median_seconds"]), milli(row["p99_seconds"])])
    lines += table(["connections", "request", "per second", "of the bare handler", "median", "99th percentile"], rows)
    lines += ["", "## One client", ""]
    lines += [
        f"Ask and report over one connection, both on disk, compared with Optuna {results['one_client'][0]['optuna']['version']} with SQLite storage, random sampler and eight numbers per trial, on the",
        "same disk. Optuna commits every number separately, does other work, and returns one trial at a time. Rounds asked for and reported per second, and syncs per",
        "round.",
        "",
    ]
    rows = []
    for at in results["one_client"]:
        show = lambda row: f"{row['ask_and_tell_per_second']:,.1f} ({row['syncs']:.1f} syncs)"
        for ours in at["outlay"]:
            rows.append([sync(at), f"{ours['rounds_a_request']}", show(ours), show(at["optuna"]), f"{times_optuna(at, ours):,.0f}"])
    lines += table(["sync time", "rounds per request", "outlay", "Optuna", "times"], rows)
    lines += ["", "## Starts and long histories", ""]
    again = results["restart"]
    lines += [
        f"A store with {again['items']:,} outcomes ({again['file_bytes'] / 1e6:,.0f} MB) is open, with every count recomputed and compared, after {again['opened_seconds']:.2f} s;",
        f"the first split is answered after {again['first_answer_seconds']:.2f} s.",
        "",
    ]
    lines += table(["earlier rounds", "time of an ask"], [[f"{row['rounds']:,}", milli(row["ask_seconds"])] for row in results["asks"]])
    at = results["replicas"][0]
    lines += [
        "",
        "## Two replicas on PostgreSQL",
        "",
        f"One busy campaign, {at['clients']} clients per replica, reports of {at['tasks']} tasks, {at['seconds']} s per cell, medians of {at['repeats']}, in reports per second. The other design",
        "locks the campaign's row first and keeps one row of counts per task. With group commit, waiting reports share a transaction, as in the service.",
        "",
    ]
    cells = lambda at, name: [f"{at[name][kind]:,.0f}" for kind in ("alone", "group_commit")]
    designs = [("row_lock", "row lock first"), ("outlay", "outlay")]
    rows = [[sync(at), words, *cells(at, name)] for at in results["replicas"] for name, words in designs]
    lines += table(["sync time", "", "one transaction per report", "group commit"], rows)
    return lines


def milli(seconds):
    return f"{1000 * seconds:.2f} ms"


def table(head, rows):
    return [f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows]]


if __name__ == "__main__":
    sys.exit(main())
