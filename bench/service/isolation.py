#!/usr/bin/env python3
"""What one campaign can do to another: the latency of a small campaign and of /livez, calm and under attack.

    bench/service/isolation.py [--outlay target/release/outlay] [--seconds 10]

Three attacks, one after the other, each on a service of its own with a store on disk:

* hard:        four clients get a campaign of 9,000 steep S-curves that are worth what they cost, again and again
* large:       one client asks for rounds of a campaign of 3,000 tasks and four report all of them
* corrections: `explore-then-commit` with 100,000 rounds, of which one is corrected before every round that is asked for

The small campaign has three tasks; a client asks for a round and reports it, again and again. Exit code 1 if its p99 is
more than 3 times as long as without the attack, or if /livez ever takes 50 ms. Everything is sent to loopback. The clients
run on the same processors as the service: on few of them, and beside other work, the latencies are also those of their turns.
"""

import argparse
import http.client
import json
import multiprocessing
import os
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
    # A problem that is too hard to be solved in time is kept all the same.
    assert status in (200, 201, 503), (status, body[:300])


def told(names):
    return [{"task": task, "completed": True, "reward": 0.5} for task in names]


def report(client, name, number, names):
    return client.call("PUT", f"/v1/campaigns/{name}/rounds/{number}/feedback", {"results": told(names)})


def ask(client, name, count=1):
    return client.call("POST", f"/v1/campaigns/{name}/rounds", {"count": count})


def for_ever(work):
    def run(port, *arguments):
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
    names = [f"t{number}" for number in range(3000)]
    while True:
        status, body = ask(client, "large")
        if status == 201:
            report(client, "large", json.loads(body)["rounds"][0], names)


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
        lines = [{"round": number, "results": told(["t0", "t1", "t2"])} for number in range(first, first + 250)]
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
            status, _ = report(client, "small", json.loads(body)["rounds"][0], names)
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


def run(name, outlay, seconds, port):
    prepare, attackers = ATTACKS[name]
    print(name, flush=True)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        service = subprocess.Popen(
            [outlay, "serve", "--data", os.path.join(folder, "store"), "--listen", f"127.0.0.1:{port}", "--log", "error"],
            stdout=subprocess.DEVNULL,
        )
        workers = []
        try:
            wait_for(port)
            client = Client(port)
            create(client, "small", {"budget": 10, "task": tasks(3, exponential)})
            prepare(client)
            calm = show("calm", *measured(port, seconds))
            workers = [multiprocessing.Process(target=work, args=(port, *arguments), daemon=True) for work, arguments in attackers]
            for worker in workers:
                worker.start()
            time.sleep(2)
            before = ATTACKING_CALLS.value
            latencies, livez, errors = measured(port, seconds)
            attacked = show("attacked", latencies, livez, errors)
            print(f"  by {ATTACKING_CALLS.value - before} calls of the attackers")
        finally:
            for worker in workers:
                worker.kill()
            service.kill()
            service.wait()
    is_good = attacked <= MOST_RATIO * calm and livez and livez[-1] < MOST_LIVEZ
    print(f"  p99 is {attacked / calm:.2f} times as long: {'good' if is_good else 'NOT GOOD'}", flush=True)
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
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--port", type=int, default=7399)
    parser.add_argument("attacks", nargs="*", default=list(ATTACKS))
    options = parser.parse_args()
    good = [run(name, options.outlay, options.seconds, options.port) for name in options.attacks]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
