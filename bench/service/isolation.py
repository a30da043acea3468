#!/usr/bin/env python3
"""The effect of one campaign on another: the latency of a small campaign and of /livez, calm and under attack.

    bench/service/isolation.py [--outlay target/release/outlay] [--seconds 5] [--turns 5] [ATTACK ...]

Three attacks, each on a separate service with a store on disk:

* hard:        four clients continuously read a campaign of 9,000 steep S-curves with values
               proportional to their costs
* large:       one client asks for rounds of a campaign of 3,000 tasks, and four ask and report
* corrections: `explore-then-commit` with 100,000 rounds; one is corrected before every new round

The small campaign has three tasks. A client repeatedly asks for a round and reports it. Calm and
attacked stretches alternate, and the result is the median over all turns of the ratio of the two
p99. Exit code 1 if it is above 3, or if /livez took 50 ms or more in the median turn.

Everything is sent over loopback, and the clients run on the same processors as the service. The
attacking clients stand for other machines, so they have a lower priority (`--attacker-nice`, 0 for
the same as the service). `--control` sends the attack to a second service instead: the ratio then
shows the effect of sharing the processors alone.
"""

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

MOST_RATIO = 3.0
MOST_LIVEZ = 0.05
ATTACKING_CALLS = multiprocessing.Value("L")


class Client:
    """One connection, opened again when it is closed."""

    def __init__(self, port, calls=None):
        self.port = port
        self.calls = calls
        self.connection = None

    def call(self, method, path, body=None, media="application/json", timeout=60):
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        headers = {} if body is None else {"content-type": media}
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body, separators=(",", ":"))
        try:
            self.connection.request(method, path, body, headers)
            answer = self.connection.getresponse()
            body = answer.read()
            if self.calls is not None:
                with self.calls.get_lock():
                    self.calls.value += 1
            return answer.status, body
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            raise


def tasks(count, curve):
    return [{"name": f"t{number}", "curve": curve(number)} for number in range(count)]


def exponential(number):
    return {"family": "exponential", "scale": 1 + number % 7}


def steep(number):
    half_at = round(1 + (number * 0.618034) % 1, 4)
    return {"family": "hill", "half_at": half_at, "steepness": 200, "ceiling": round(half_at / 3, 4)}


def create(client, name, problem, **settings):
    status, body = client.call("PUT", f"/v1/campaigns/{name}", {"problem": problem, **settings}, timeout=120)
    # 503: the problem is too hard to be solved in time, but the campaign is created.
    assert status in (200, 201, 503), (status, body[:300])


def outcomes(names):
    return [{"task": task, "completed": True, "reward": 0.5} for task in names]


def report(client, name, number, names):
    return client.call("PUT", f"/v1/campaigns/{name}/rounds/{number}/feedback", {"results": outcomes(names)})


FIRST_ROUND = re.compile(rb'"rounds":\[(\d+)')


def round_of(answer):
    """The first round of an answer, without parsing all of it."""
    return int(FIRST_ROUND.search(answer)[1])


def ask(client, name, count=1):
    return client.call("POST", f"/v1/campaigns/{name}/rounds", {"count": count})


def for_ever(work):
    def run(port, nice, *arguments):
        os.nice(nice)
        while True:
            try:
                work(Client(port, ATTACKING_CALLS), *arguments)
            except (OSError, http.client.HTTPException, KeyboardInterrupt):
                time.sleep(0.05)

    return run


@for_ever
def get_hard(client):
    while True:
        client.call("GET", "/v1/campaigns/hard")


@for_ever
def ask_large(client):
    while True:
        ask(client, "large")


@for_ever
def report_large(client):
    body = json.dumps({"results": outcomes(f"t{number}" for number in range(3000))}, separators=(",", ":"))
    while True:
        status, answer = ask(client, "large")
        if status == 201:
            client.call("PUT", f"/v1/campaigns/large/rounds/{round_of(answer)}/feedback", body)


@for_ever
def correct(client):
    number = 1
    while True:
        change = {"task": "t0", "completed": True, "reward": (number % 10) / 10, "why": "measured again"}
        client.call("POST", f"/v1/campaigns/corrected/rounds/{number % 50 + 1}/corrections", change)
        ask(client, "corrected")
        number += 1


def prepare_hard(client):
    create(client, "hard", {"budget": 300.37, "task": tasks(9000, steep)})


def prepare_large(client):
    create(client, "large", {"budget": 1000, "task": tasks(3000, exponential)})


def prepare_corrections(client):
    problem = {"budget": 10, "task": tasks(3, exponential)}
    create(client, "corrected", problem, learner="explore-then-commit:rounds=100", horizon=1_000_000)
    for first in range(1, 100_001, 250):
        ask(client, "corrected", 250)
        lines = [{"round": number, "results": outcomes(["t0", "t1", "t2"])} for number in range(first, first + 250)]
        body = "\n".join(json.dumps(line) for line in lines)
        client.call("POST", "/v1/campaigns/corrected/feedback", body, media="application/x-ndjson")


ATTACKS = {
    "hard": (prepare_hard, [(get_hard, ())] * 4),
    "large": (prepare_large, [(ask_large, ())] + [(report_large, ())] * 4),
    "corrections": (prepare_corrections, [(correct, ())]),
}


def measure(port, seconds, results):
    """Latencies of a small campaign's asks and reports, and of /livez, in seconds."""
    client, health = Client(port), Client(port)
    names = ["t0", "t1", "t2"]
    latencies, livez, errors = [], [], 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            begun = time.monotonic()
            status, body = ask(client, "small")
            middle = time.monotonic()
            if status != 201:
                errors += 1
                continue
            status, _ = report(client, "small", round_of(body), names)
            latencies += [middle - begun, time.monotonic() - middle]
            errors += status != 200
            begun = time.monotonic()
            health.call("GET", "/livez")
            livez.append(time.monotonic() - begun)
            time.sleep(0.002)
        except (OSError, http.client.HTTPException):
            errors += 1
    results.put((sorted(latencies), sorted(livez), errors))


def percentile(sorted_values, share):
    return sorted_values[min(len(sorted_values) - 1, int(share * len(sorted_values)))] if sorted_values else float("inf")


def measured(port, seconds):
    results = multiprocessing.Queue()
    process = multiprocessing.Process(target=measure, args=(port, seconds, results))
    process.start()
    found = results.get(timeout=seconds + 120)
    process.join()
    return found


def show(what, latencies, livez, errors):
    p50, p99 = (1e3 * percentile(latencies, share) for share in (0.5, 0.99))
    print(
        f"  {what:8} {len(latencies):6} calls, p50 {p50:8.2f} ms, p99 {p99:8.2f} ms; "
        f"/livez p99 {1e3 * percentile(livez, 0.99):8.2f} ms, max {1e3 * (livez or [float('inf')])[-1]:8.2f} ms; {errors} errors",
        flush=True,
    )
    return p99


class Service:
    """A service with a store on disk."""

    def __init__(self, outlay, folder, port):
        command = [outlay, "serve", "--data", os.path.join(folder, f"store-{port}"), "--listen", f"127.0.0.1:{port}"]
        self.process = subprocess.Popen([*command, "--log", "error"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def pause(workers, is_paused):
    for worker in workers:
        os.kill(worker.pid, signal.SIGSTOP if is_paused else signal.SIGCONT)


def turns(options, workers, port):
    """The p99 of each turn, calm and attacked, and the longest time of /livez under attack."""
    for _ in range(options.turns):
        pause(workers, True)
        time.sleep(1)
        calm = show("calm", *measured(port, options.seconds))
        pause(workers, False)
        time.sleep(1)
        before = ATTACKING_CALLS.value
        latencies, livez, errors = measured(port, options.seconds)
        attacked = show("attacked", latencies, livez, errors)
        rate = (ATTACKING_CALLS.value - before) / options.seconds
        print(f"  {'':8} {attacked / calm:6.2f} times as long, by {rate:.0f} calls of the attackers a second", flush=True)
        yield attacked / calm, livez[-1] if livez else float("inf")


def run(name, options):
    prepare, attackers = ATTACKS[name]
    print(name, flush=True)
    target = options.port + 1 if options.control else options.port
    with tempfile.TemporaryDirectory(dir=".") as folder, contextlib.ExitStack() as services:
        for port in {options.port, target}:
            services.enter_context(Service(options.outlay, folder, port))
        create(Client(options.port), "small", {"budget": 10, "task": tasks(3, exponential)})
        prepare(Client(target))
        workers = [multiprocessing.Process(target=work, args=(target, options.attacker_nice, *arguments), daemon=True) for work, arguments in attackers]
        try:
            for worker in workers:
                worker.start()
            ratios, livez = zip(*turns(options, workers, options.port))
        finally:
            for worker in workers:
                worker.kill()
    ratio, longest = statistics.median(ratios), statistics.median(livez)
    is_good = ratio <= MOST_RATIO and longest < MOST_LIVEZ
    verdict = "good" if is_good else "NOT GOOD"
    print(f"  p99 is {ratio:.2f} times as long ({min(ratios):.2f} .. {max(ratios):.2f}), /livez {1e3 * longest:.1f} ms: {verdict}", flush=True)
    return is_good


def wait_for(port):
    for _ in range(100):
        try:
            if Client(port).call("GET", "/readyz")[0] == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the service does not start")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outlay", default="target/release/outlay")
    parser.add_argument("--seconds", type=float, default=5, help="of each calm and each attacked stretch")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--port", type=int, default=7399)
    parser.add_argument("--attacker-nice", type=int, default=10)
    parser.add_argument("--control", action="store_true", help="attack another service")
    parser.add_argument("attacks", nargs="*", default=list(ATTACKS))
    options = parser.parse_args()
    good = [run(name, options) for name in options.attacks]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
