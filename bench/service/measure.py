"""Measures the service, judges the goals, writes results.json and RESULTS.md beside this file."""

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
PROGRAM = ROOT / "target" / "release" / "examples" / "bench_service"
SHIM = ROOT / "target" / "slow_sync.so"
REPLICAS = [ROOT / "crates/outlay-server/tests/with-postgres", ROOT / "target" / "release" / "examples" / "bench_replicas"]
NAMES = {
    "bare": "bare axum handler, the same body back",
    "durable-tell": "report of 4 tasks, on disk",
    "durable-ask": "ask, on disk",
    "ask-from-memory": "ask, store in memory",
}
# what, connections, the least share of the bare handler's rate.
SHARES = [("durable-tell", 64, 0.40), ("durable-tell", 256, 0.60), ("ask-from-memory", 64, 0.70)]
ONE_CLIENT = "one client, ask and report, on disk"
OPTUNA_GOAL, RESTART_GOAL, ROW_LOCK_GOAL = 200.0, 2.0, 4.0
# Milliseconds by which every sync is made slower: the disk as it is, and one like those that the goals were thought of for.
SYNC_DELAYS = [0, 4]


def main():
    parser = argparse.ArgumentParser(prog="bench/service/run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short stretches: shows that everything runs, decides nothing")
    parser.add_argument("--optuna", type=int, metavar="TRIALS", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.optuna:
        return print(json.dumps(optuna(arguments.optuna)))
    quick = arguments.quick
    results = {"command": "bench/service/run" + (" --quick" if quick else ""), "machine": machine()}
    results |= engine("rates", 0.3 if quick else 4)
    results["restart"] = engine("restart", 100_000 if quick else 2_000_000)
    results |= engine("rounds")
    results["one_client"] = [one_client(delay, 1 if quick else 10, 20 if quick else 200) for delay in SYNC_DELAYS]
    results["replicas"] = replicas(1 if quick else 4)
    results["goals"] = goals(results)
    output = ROOT / "target" / "bench-service" if quick else HERE
    output.mkdir(parents=True, exist_ok=True)
    (output / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (output / "RESULTS.md").write_text("\n".join(report(results)) + "\n")
    print(output / "RESULTS.md")


def engine(what, *words, **environment):
    """On the disk of the repository: a temporary folder may be in memory, where nothing is ever synced."""
    folder = tempfile.mkdtemp(dir=ROOT / "target")
    try:
        print(f"== {what}", flush=True)
        command = [PROGRAM, what, f"{folder}/store", *map(str, words)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | environment)
        return json.loads(done.stdout)
    finally:
        shutil.rmtree(folder)


def one_client(delay, seconds, trials):
    """Ours and Optuna, one after the other, with syncs that take so many milliseconds longer."""
    count = ROOT / "target" / "syncs"
    environment = {"LD_PRELOAD": str(SHIM), "SYNC_DELAY_MS": str(delay), "SYNC_COUNT_FILE": str(count)}
    trials = trials if delay == 0 else max(trials // 5, 10)
    ours = engine("client", seconds, **environment)["ask_and_tell_per_second"]
    ours_syncs = int(count.read_text()) / (ours * seconds)
    print("== optuna", flush=True)
    done = subprocess.run([sys.executable, __file__, "--optuna", str(trials)], stdout=subprocess.PIPE, text=True, check=True, env=os.environ | environment)
    theirs = json.loads(done.stdout)
    theirs |= {"syncs": int(count.read_text()) / trials}
    return {"delay_ms": delay, "outlay": {"ask_and_tell_per_second": ours, "syncs": ours_syncs}, "optuna": theirs}


def replicas(seconds):
    """On a PostgreSQL of its own."""
    print("== replicas", flush=True)
    done = subprocess.run([*REPLICAS, str(seconds), "3", "16"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def optuna(trials):
    """Asks and tells of one client, eight numbers each, in a SQLite file on the same disk."""
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


def best(results, what, connections):
    return max(row["per_second"] for row in results["rates"] if (row["what"], row["connections"]) == (what, connections))


def shares(results, what, connections):
    """Of each turn: the same moment of the machine for both."""
    turns = {}
    for row in results["rates"]:
        if row["connections"] == connections:
            turns.setdefault(row["turn"], {})[row["what"]] = row["per_second"]
    return [turn[what] / turn["bare"] for turn in turns.values()]


def times_optuna(row):
    return row["outlay"]["ask_and_tell_per_second"] / row["optuna"]["ask_and_tell_per_second"]


def optuna_limit(results):
    """Why no store, however fast, would meet the goal over HTTP on this machine."""
    fast, slow = results["one_client"]
    bare = best(results, "bare", 1) / 2
    theirs = fast["optuna"]["ask_and_tell_per_second"]
    return (
        f"Two requests, one after the other, to a handler that does nothing: {bare:,.0f} pairs a second, {bare / theirs:,.0f} times Optuna. That is what a store "
        f"without any cost would reach. Ours syncs {fast['outlay']['syncs']:.1f} times a pair, Optuna {fast['optuna']['syncs']:.0f} times a trial: where syncs are all "
        f"that counts the ratio is {fast['optuna']['syncs'] / fast['outlay']['syncs']:.0f}, and with syncs {slow['delay_ms']} ms slower it is {times_optuna(slow):.0f}."
    )


def goals(results):
    rows = []
    for what, connections, least in SHARES:
        found = shares(results, what, connections)
        share = best(results, what, connections) / best(results, "bare", connections)
        text = f"{share:.0%} ({min(found):.0%} .. {max(found):.0%})"
        rows.append([f"{NAMES[what]}, {connections} connections", f">= {least:.0%} of the bare handler", text, share >= least])
    ratio = times_optuna(results["one_client"][0])
    rows.append([ONE_CLIENT, f">= {OPTUNA_GOAL:g} times Optuna with SQLite", f"{ratio:,.0f} times", ratio >= OPTUNA_GOAL])
    ready = results["restart"]["first_answer_seconds"]
    rows.append([f"first answer after a start with {results['restart']['items']:,} outcomes", f"< {RESTART_GOAL:g} s", f"{ready:.2f} s", ready < RESTART_GOAL])
    asks = results["asks"]
    slowest = max(row["ask_seconds"] for row in asks) / asks[0]["ask_seconds"]
    rows.append(["an ask after 10^3 .. 10^7 rounds", "no slower: < 2 times, noise of the disk", f"at most {slowest:.2f} times", slowest < 2.0])
    ours, theirs = results["replicas"]["outlay"], results["replicas"]["row_lock"]
    alone, grouped, as_they_run = ours["alone"] / theirs["alone"], ours["group_commit"] / theirs["group_commit"], ours["group_commit"] / theirs["alone"]
    text = f"{as_they_run:.1f} times ({alone:.1f} with a transaction a report, {grouped:.1f} if the lock had our group commit)"
    rows.append(["two replicas on PostgreSQL, one hot campaign", f">= {ROW_LOCK_GOAL:g} times a lock on the campaign's row", text, as_they_run >= ROW_LOCK_GOAL])
    return rows


def report(results):
    lines = ["# The service: what it takes", ""]
    at = results["machine"]
    lines += [f"Written by `{results['command']}`. {at['processor']}, {at['cores']} cores, load {at['load']:.1f} at the start; Python {at['python']}.", ""]
    lines += ["Clients and service share the cores. Rates are those of the fastest of three turns; in brackets the least and the most.", ""]
    lines += table(["what", "goal", "measured", ""], [[what, goal, text, "met" if met else "NOT met"] for what, goal, text, met in results["goals"]])
    if any(what == ONE_CLIENT and not met for what, *_, met in results["goals"]):
        lines += ["", f"What keeps the one client from its goal: {optuna_limit(results)}"]
    lines += ["", "## Requests a second", ""]
    rows = []
    for connections in sorted({row["connections"] for row in results["rates"]}):
        for what, name in NAMES.items():
            mine = [row for row in results["rates"] if (row["what"], row["connections"]) == (what, connections)]
            top = max(mine, key=lambda row: row["per_second"])
            share = best(results, what, connections) / best(results, "bare", connections)
            rows.append([f"{connections}", name, f"{top['per_second']:,.0f}", f"{share:.0%}", milli(top["median_seconds"]), milli(top["p99_seconds"])])
    lines += table(["connections", "request", "a second", "of the bare handler", "median", "99th percentile"], rows)
    lines += ["", "## One client", ""]
    lines += [
        f"Ask and report over one connection, both on disk, next to Optuna {results['one_client'][0]['optuna']['version']} with SQLite storage, random sampler, eight numbers a trial, on the",
        "same disk; Optuna commits every number by itself, and does other work. Pairs a second; syncs a pair.",
        "",
    ]
    row = lambda at: [
        "as it is" if at["delay_ms"] == 0 else f"{at['delay_ms']} ms slower",
        *(f"{at[name]['ask_and_tell_per_second']:,.1f} ({at[name]['syncs']:.1f} syncs)" for name in ("outlay", "optuna")),
        f"{times_optuna(at):.0f}",
    ]
    lines += table(["a sync", "outlay", "Optuna", "times"], [row(at) for at in results["one_client"]])
    lines += ["", "## Starts and long histories", ""]
    again = results["restart"]
    lines += [
        f"A store with {again['items']:,} outcomes ({again['file_bytes'] / 1e6:,.0f} MB) is open, every count folded again and compared, after {again['opened_seconds']:.2f} s;",
        f"the first split is answered after {again['first_answer_seconds']:.2f} s.",
        "",
    ]
    lines += table(["rounds before", "an ask takes"], [[f"{row['rounds']:,}", milli(row["ask_seconds"])] for row in results["asks"]])
    at = results["replicas"]
    lines += [
        "",
        "## Two replicas on PostgreSQL",
        "",
        f"One hot campaign, {at['clients']} clients a replica, reports of {at['tasks']} tasks, {at['seconds']} s a cell, medians of {at['repeats']}; reports a second. The other design",
        "locks the campaign's row first and keeps one row of counts a task. Group commit: reports that wait share a transaction, as the service does it.",
        "",
    ]
    cells = lambda name: [f"{at[name][kind]:,.0f}" for kind in ("alone", "group_commit")]
    lines += table(["", "a transaction a report", "group commit"], [["the row locked first", *cells("row_lock")], ["outlay", *cells("outlay")]])
    return lines


def milli(seconds):
    return f"{1000 * seconds:.2f} ms"


def table(head, rows):
    return [f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows]]


if __name__ == "__main__":
    sys.exit(main())
