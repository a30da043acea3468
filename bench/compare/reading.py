"""`outlay allocate FILE` with a million tasks, and a JSON problem at the limits of the service,
compared with one plain pass over the bytes."""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

from .engine import COMMAND, program, progress
from .tables import seconds, size, table, times

TITLE = "Reading a million tasks"
COLUMNS = {"power": ("exponent", "scale"), "exponential": ("scale",), "threshold": ("at",), "hill": ("half_at", "steepness")}
# As many tasks as fit into a request to the service, which takes 10,000 tasks and a megabyte.
SERVICE_TASKS, SERVICE_BYTES = 9_500, 1_000_000
RANGES = {"exponent": (0.2, 0.9), "steepness": (1.5, 4.0)}


def measure(quick):
    tasks = 100_000 if quick else 1_000_000
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for family in COLUMNS:
            for form in ("csv", "json"):
                problem, data = make(pathlib.Path(folder), family, form, tasks)
                row = {"family": family, "form": form, "tasks": tasks, "file_bytes": data.stat().st_size}
                runs = [run([str(COMMAND), "allocate", str(problem)]) for _ in range(3)]
                row |= {"seconds": min(run[0] for run in runs), "peak_bytes": max(run[1] for run in runs)}
                row["pass_seconds"] = min(program("reading", data)[0]["seconds"] for _ in range(3))
                row["wc_seconds"] = min(run(["/usr/bin/wc", str(data)])[0] for _ in range(3))
                rows.append(row)
                progress(f"{family}, {form}: {seconds(row['seconds'])}, {size(row['peak_bytes'])}")
            rows.append(at_service_limits(pathlib.Path(folder), family))
    return rows


def at_service_limits(folder, family):
    path, _ = make(folder, family, "json", SERVICE_TASKS, separators=(",", ":"))
    row = {"family": family, "form": "service", "tasks": SERVICE_TASKS, "file_bytes": path.stat().st_size}
    if row["file_bytes"] > SERVICE_BYTES:
        raise SystemExit(f"{row['file_bytes']} bytes are more than a request may have")
    return row | program("reading", "--problem", path)[0]


def make(folder, family, form, tasks, separators=None):
    """The problem file, and the file with the tasks, which may be the same."""
    draw = random.Random(1)
    keys = COLUMNS[family]
    numbers = [[round(draw.uniform(*RANGES.get(key, (1.0, 100.0))), 4) for key in keys] for _ in range(tasks)]
    values = [round(draw.random(), 6) for _ in range(tasks)]
    if form == "json":
        path = folder / f"{family}.json"
        curves = [{"family": family} | dict(zip(keys, row)) for row in numbers]
        listed = [{"name": f"task-{i:07}", "value": value, "curve": curve} for i, (value, curve) in enumerate(zip(values, curves))]
        path.write_text(json.dumps({"budget": 10.0 * tasks, "task": listed}, separators=separators))
        return path, path
    path, data = folder / f"{family}.toml", folder / f"{family}.csv"
    with data.open("w") as file:
        file.write(f"name,family,value,{','.join(keys)}\n")
        for i, (value, row) in enumerate(zip(values, numbers)):
            file.write(f"task-{i:07},{family},{value},{','.join(map(str, row))}\n")
    path.write_text(f'budget = {10.0 * tasks}\ntasks = {{ file = "{data.name}" }}\n')
    return path, data


# A process counts the memory of the one that started it as its own peak, so a small interpreter starts it.
STARTER = """
import os, sys, time
silence = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
begin = time.perf_counter()
process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=silence)
_, status, usage = os.wait4(process, 0)
print(time.perf_counter() - begin, usage.ru_maxrss * 1024)
sys.exit(1 if status else 0)
"""


def run(words):
    """Wall time and peak memory of a process whose output is discarded."""
    started = subprocess.run([sys.executable, "-S", "-c", STARTER, *words], capture_output=True, text=True)
    if started.returncode:
        raise SystemExit(f"{' '.join(words)} failed: {started.stderr}")
    elapsed, peak = started.stdout.split()
    return float(elapsed), int(peak)


def report(rows):
    lines = [
        f"`outlay allocate FILE` with {rows[0]['tasks']:,} tasks from a CSV table or in a JSON problem: the best of three runs from the start of",
        "the process to its end, its peak memory, and the ratio to one pass over the same file: all records by the `csv` crate, or one",
        "`serde_json::Value`, without solving the problem.",
        "",
    ]
    head = ["curves", "file", "size", "time", "peak memory", "one pass", "ratio", "`wc`"]
    cells = [
        [
            row["family"],
            row["form"],
            size(row["file_bytes"]),
            seconds(row["seconds"]),
            size(row["peak_bytes"]),
            seconds(row["pass_seconds"]),
            times(row["seconds"] / row["pass_seconds"]),
            seconds(row["wc_seconds"]),
        ]
        for row in rows
        if row["form"] != "service"
    ]
    return lines + table(head, cells) + service(rows)


def service(rows):
    lines = [
        "",
        f"A JSON problem of {SERVICE_TASKS:,} tasks, about the largest body that the service accepts ({size(SERVICE_BYTES)}): one pass",
        "(`serde_json::Value`), reading and checking the problem in that value, as the service does after the pass, and reading it from its",
        "text. The ratios are to the pass.",
        "",
    ]
    head = ["curves", "size", "one pass", "from the value", "ratio", "from the text", "ratio"]
    cells = [
        [
            row["family"],
            size(row["file_bytes"]),
            seconds(row["pass_seconds"]),
            seconds(row["value_seconds"]),
            times(row["value_seconds"] / row["pass_seconds"]),
            seconds(row["text_seconds"]),
            times(row["text_seconds"] / row["pass_seconds"]),
        ]
        for row in rows
        if row["form"] == "service"
    ]
    return lines + table(head, cells)


def faults(_):
    return []
