"""Growth of time and memory with tasks, jumps, rounds and replications. One process per point."""

import subprocess
import tempfile
import time

from .engine import COMMAND, program, progress
from .tables import seconds, size, table, times, verdict

TITLE = "Growth"
TASKS = [10**power for power in range(1, 7)]
FAMILIES = {"power": "power", "mixed": "power, exponential, saturating", "hill": "Hill", "steps": "steps, 1-4 jumps"}
JUMPS = [1, 10, 100, 1000, 10_000]
INSTANCE, LEARNER = "power:tasks=10", "algorithm-1"
HORIZONS = [1000, 10_000, 100_000, 1_000_000]
REPLICATIONS, REPLICATED_HORIZON = [1, 10, 100, 1000], 10_000
# Long replications: their number (full, quick), their rounds, and the limit of memory.
LONG_REPLICATIONS, LONG_HORIZON, LONG_BYTES = (100, 4), 1_000_000, 200e6
# A curve ends if the next point, ten times as large, is predicted to take longer than this.
PATIENCE_SECONDS = 20.0


def measure(quick):
    effort = 0.1 if quick else 0.5
    sizes, jumps = (TASKS[:4], JUMPS[:3]) if quick else (TASKS, JUMPS)
    return {
        "tasks": {family: climb(lambda tasks, f=family: program("growth", "tasks", f, tasks, effort)[0], sizes, family) for family in FAMILIES},
        "jumps": climb(lambda count: program("growth", "jumps", count, effort)[0] | {"jumps": count}, jumps, "jumps"),
        "horizons": [played(horizon, 1, 1) for horizon in (HORIZONS[:3] if quick else HORIZONS)],
        "replications": [played(REPLICATED_HORIZON, count, threads) for count in (REPLICATIONS[:3] if quick else REPLICATIONS) for threads in (1, 2)],
        "long": long(LONG_REPLICATIONS[quick]),
    }


def climb(point, sizes, name):
    points = []
    for count in sizes:
        if len(points) > 1 and points[-1]["cold_seconds"] ** 2 / points[-2]["cold_seconds"] > PATIENCE_SECONDS:
            progress(f"{name} {count:,}: left out, it would take too long")
            break
        points.append(point(count))
        progress(f"{name} {count:,}: cold {seconds(points[-1]['cold_seconds'])}, warm {seconds(points[-1]['warm_seconds'])}")
    return points


def played(horizon, replications, threads):
    """The fastest of three runs."""
    runs = [program("growth", "rounds", INSTANCE, LEARNER, horizon, replications, threads)[0] for _ in range(3)]
    row = min(runs, key=lambda run: run["seconds"])
    progress(f"{replications} x {horizon:,} rounds, threads {threads}: {seconds(row['seconds'])}")
    return row


def long(replications):
    """Many long replications by the library, and by the command, which also saves them."""
    rows = [program("growth", "rounds", INSTANCE, LEARNER, LONG_HORIZON, replications, 2)[0] | {"through": "the library"}]
    with tempfile.TemporaryDirectory() as folder:
        words = [COMMAND, "simulate", INSTANCE, "--learner", LEARNER, "--horizon", LONG_HORIZON, "--replications", replications]
        begin = time.perf_counter()
        peak = peak_bytes([str(word) for word in [*words, "--out", f"{folder}/run", "--format", "json"]])
        rows.append({"through": "`outlay simulate`", "peak_bytes": peak, "seconds": time.perf_counter() - begin})
    for row in rows:
        row |= {"replications": replications, "horizon": LONG_HORIZON}
        progress(f"{replications} x {LONG_HORIZON:,} rounds through {row['through']}: {size(row['peak_bytes'])}")
    return rows


def peak_bytes(words):
    """Measured by GNU time, whose own memory is small; a child of this process would include
    Python's."""
    timed = ["/usr/bin/time", "--format", "%M", *words]
    answer = subprocess.run(timed, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return int(answer.stderr.split()[-1]) * 1024


def report(figures):
    lines = ["![Time and memory against tasks, jumps, rounds and replications](growth.svg)", ""]
    lines += ["Time of one split, cold / warm, and the memory of the oracle (without the problem itself; small sizes are coarse):", ""]
    sizes = [point["tasks"] for point in max(figures["tasks"].values(), key=len)]
    rows = []
    for family, points in figures["tasks"].items():
        by_size = {point["tasks"]: point for point in points}
        rows.append([FAMILIES[family], *(split(by_size.get(tasks)) for tasks in sizes)])
    lines += table(["curves", *(f"K = {tasks:,}" for tasks in sizes)], rows)
    lines += ["", "A hundred tasks with this many jumps each:", ""]
    lines += table([f"{point['jumps']:,} jump{'s' * (point['jumps'] > 1)}" for point in figures["jumps"]], [[split(point) for point in figures["jumps"]]])
    lines += ["", f"Simulated rounds, `{LEARNER}` on `{INSTANCE}`, wall time of the whole experiment and the largest resident size of its process:", ""]
    rows = [
        [
            f"{row['horizon']:,}",
            f"{row['replications']:,}",
            f"{row['threads']}",
            seconds(row["seconds"]),
            f"{row['rounds_per_second']:,.0f}",
            size(row["peak_bytes"]),
        ]
        for row in [*figures["horizons"], *figures["replications"]]
    ]
    lines += table(["T", "replications", "threads", "time", "rounds/s", "memory"], rows)
    pairs = list(zip(figures["replications"][::2], figures["replications"][1::2]))
    gain = ", ".join(f"{one['replications']:,}: {times(one['seconds'] / two['seconds'])}" for one, two in pairs)
    lines += ["", f"Two threads instead of one, by the number of replications: {gain}.", ""]
    rows = [
        [
            row["through"],
            f"{row['replications']} x {row['horizon']:,}",
            seconds(row["seconds"]),
            size(row["peak_bytes"]),
            f"<= {size(LONG_BYTES)}: {verdict(row['peak_bytes'] <= LONG_BYTES)}",
        ]
        for row in figures["long"]
    ]
    return lines + table(["many long replications through", "rounds", "time, two threads", "memory", "goal"], rows)


def split(point):
    if point is None:
        return ""
    return f"{seconds(point['cold_seconds'])} / {seconds(point['warm_seconds'])}, {size(point['oracle_bytes'])}"


def faults(_):
    return []
