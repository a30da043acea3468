"""Compares the Python package with river, mabwiser and the engine, in turn in one run, by
rounds per second of CPU time."""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
# The same machine line, tables and loops of the libraries as in bench/run.
sys.path.insert(0, str(HERE.parent))
from compare import machine, tables  # noqa: E402
from compare.loops import libraries  # noqa: E402
from compare.loops.paper import uniforms  # noqa: E402

import outlay  # noqa: E402
from outlay.adapters import Policy  # noqa: E402

machine.PACKAGES = ("numpy", "outlay", "river", "mabwiser")

ARMED, POWER = "k-armed", "power:tasks=10"
GOAL = 100_000
BATCH = 100


class Outlay:
    """The loop of the libraries, with the two calls of a learner."""

    def __init__(self, problem, learner, horizon):
        self.learner = outlay.Learner(problem, learner, horizon)
        self.tried, self.reward = np.eye(len(problem.names), dtype=bool), np.zeros(len(problem.names))

    def choose(self):
        self.round = self.learner.allocate()
        return int(self.round.spend.argmax())

    def learn(self, arm, reward):
        self.reward[arm] = reward
        self.learner.observe(self.round, self.tried[arm], self.reward)
        self.reward[arm] = 0.0


class Adapter:
    def __init__(self, arms):
        self.policy = Policy(list(range(arms)), "cucb")
        self.choose, self.learn = self.policy.pull, self.policy.update


def armed_loops(rounds):
    problem = outlay.Problem.load(ARMED)
    loops = {f"outlay `{name}`": (lambda arms, name=name: Outlay(problem, name, rounds)) for name in ("cucb", "algorithm-1", "kl-ucb-plus")}
    return {**loops, "outlay `cucb` as a river policy (`outlay.adapters`)": Adapter, **libraries.LOOPS}


def world(problem, rounds):
    """Numbers that determine completions, and rewards, drawn beforehand."""
    tasks = len(problem.names)
    return uniforms(2, 1, rounds, tasks), uniforms(1, 1, rounds, tasks)


def played_one_by_one(learner, rounds):
    problem = outlay.Problem.load(POWER)
    chance, reward = world(problem, rounds)
    playing = outlay.Learner(problem, learner, rounds)
    begin = time.process_time()
    for drawn, brought in zip(chance, reward):
        handed = playing.allocate()
        completed = drawn < handed.success
        playing.observe(handed, completed, brought * completed)
    return rounds / (time.process_time() - begin)


def played_in_batches(learner, rounds):
    """Issues a batch of rounds, then reports it as one. Outcomes are drawn beforehand, so that
    only the loop is measured."""
    problem = outlay.Problem.load(POWER)
    chance, reward = world(problem, rounds)
    completed = chance < 0.5
    reward *= completed
    playing = outlay.Learner(problem, learner, rounds)
    asking = telling = 0.0
    for first in range(0, rounds, BATCH):
        begin = time.process_time()
        handed = [playing.allocate() for _ in range(BATCH)]
        middle = time.process_time()
        playing.observe_many(handed, completed[first : first + BATCH], reward[first : first + BATCH])
        asking, telling = asking + middle - begin, telling + time.process_time() - middle
    return rounds / (asking + telling), rounds / telling


def simulated(instance, learner, rounds, replications):
    begin = time.process_time()
    result = outlay.simulate(instance, [learner], rounds=rounds, replications=replications, threads=1, progress=False)
    return rounds * replications / (time.process_time() - begin), result.arrays[0][0]["regret"].tolist()


def simulated_without_python(instance, learner, rounds, replications):
    command = [os.environ["OUTLAY"], "simulate", instance, "--learner", learner, "--horizon", rounds, "--replications", replications]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [str(word) for word in [*command, "--threads", 1, "--format", "json"]]
    answer = subprocess.run(words, check=True, capture_output=True, text=True, cwd=HERE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    regrets = [replication["regret"] for replication in json.loads(answer.stdout)["learners"][0]["replications"]]
    return rounds * replications / used, regrets


def measure(quick):
    turns, rounds, replications = (2, 2_000, 16) if quick else (5, 20_000, 64)
    means = np.array(outlay.Problem.load(ARMED).values)
    armed, regrets, power, simulation, apart = {}, {}, {}, {}, []
    for turn in range(turns):
        for name, loop in armed_loops(rounds).items():
            speed, regrets[name] = libraries.played(loop, means, rounds)
            armed.setdefault(name, []).append(speed)
        for learner in ("algorithm-1", "kl-ucb-plus"):
            power.setdefault(f"`{learner}`, `allocate` and `observe`", []).append(played_one_by_one(learner, rounds))
            whole, loop_only = played_in_batches(learner, rounds)
            power.setdefault(f"`{learner}`, {BATCH} × `allocate`, then `observe_many`", []).append(whole)
            power.setdefault(f"`{learner}`, `observe_many` alone", []).append(loop_only)
        for instance in (ARMED, POWER):
            for learner in ("algorithm-1", "kl-ucb-plus"):
                ours, one = simulated(instance, learner, rounds, replications)
                bare, other = simulated_without_python(instance, learner, rounds, replications)
                entry = simulation.setdefault(f"{instance}, `{learner}`", {"python": [], "command": []})
                entry["python"].append(ours), entry["command"].append(bare)
                if one != other:
                    apart.append(f"{instance}, {learner}: Python and the command line simulate different games")
        print(f"turn {turn + 1} of {turns}", flush=True)
    uniform = rounds * (means.max() - means.mean())
    apart += [f"{name} learns nothing: regret {regret:.0f}" for name, regret in regrets.items() if regret > 0.5 * uniform]
    return {"rounds": rounds, "turns": turns, "armed": armed, "regret": regrets, "power": power, "simulation": simulation, "faults": apart}


def rate(speeds):
    """The fastest turn, and the range of the others."""
    return f"{max(speeds):,.0f}", tables.span(speeds, lambda speed: f"{speed:,.0f}")


def report(results):
    figures = results["figures"]
    text = [
        "# The Python package compared with river, mabwiser and the engine",
        "",
        f"Written by `bench/python/run{' --quick' if results['quick'] else ''}`. Rounds per second of CPU time on one thread; the fastest of "
        f"{figures['turns']} turns counts, each of which runs all programs one after the other. Rewards are drawn beforehand.",
        "",
        machine.sentence(results["machine"]),
        "",
        f"Goal: a loop of `allocate` and `observe` at K = 10 with at least {GOAL:,} rounds per second on one core.",
        "",
        "## The classical bandit, K = 10",
        "",
        f"Ten Bernoulli arms (`{ARMED}`), {figures['rounds']:,} rounds: choose an arm, report its reward. `cucb` computes the same as UCB1 of the "
        "libraries.",
        "",
    ]
    fastest = max(max(speeds) for name, speeds in figures["armed"].items() if name in libraries.LOOPS)
    rows = [
        [name, *rate(speeds), tables.times(max(speeds) / fastest), f"{figures['regret'][name]:.1f}"]
        for name, speeds in sorted(figures["armed"].items(), key=lambda item: -max(item[1]))
    ]
    text += tables.table(["program", "rounds/s", "turns", "of the fastest library", "regret"], rows)
    text += ["", "## Splits, K = 10 power curves", ""]
    text += [f"The rounds of a batch of {BATCH} have the same split, because there is no feedback between them.", ""]
    rows = [[name, *rate(speeds), tables.times(max(speeds) / GOAL)] for name, speeds in figures["power"].items()]
    text += tables.table(["what", "rounds/s", "turns", "of the goal"], rows)
    text += ["", "## `simulate` compared with `outlay simulate`", "", "The same replications, with bit-identical regrets.", ""]
    rows = [
        [name, rate(speeds["python"])[0], rate(speeds["command"])[0], tables.times(max(speeds["python"]) / max(speeds["command"]))]
        for name, speeds in figures["simulation"].items()
    ]
    return text + tables.table(["what", "Python, rounds/s", "command line, rounds/s", "ratio"], rows)


def main():
    parser = argparse.ArgumentParser(prog="bench/python/run")
    parser.add_argument("--quick", action="store_true", help="short run of half a minute, only to show that it works")
    parser.add_argument("--output", type=pathlib.Path, help="folder for the results; here for a whole run, else target/bench-python")
    arguments = parser.parse_args()
    output = arguments.output or (HERE.parents[1] / "target/bench-python" if arguments.quick else HERE)
    output.mkdir(parents=True, exist_ok=True)
    results = {"quick": arguments.quick, "machine": machine.describe(), "figures": measure(arguments.quick)}
    (output / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (output / "RESULTS.md").write_text("\n".join(report(results)) + "\n")
    print(output / "RESULTS.md")
    if results["figures"]["faults"]:
        raise SystemExit("\n".join(["error: the comparison does not hold:", *sorted(set(results["figures"]["faults"]))]))


if __name__ == "__main__":
    main()
