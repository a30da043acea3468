"""The time of a cold process, `outlay allocate FILE`, compared with a program that does nothing."""

import json
import os
import pathlib
import statistics
import tempfile
import time

from . import instances
from .engine import COMMAND, progress
from .tables import seconds, table, times

TITLE = "A cold process"
NOTHING = "/bin/true"
KINDS = ("concave", "hill", "steps")
TASKS = 10


def measure(quick):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            path = pathlib.Path(folder) / f"{kind}.json"
            path.write_text(json.dumps(instances.make(kind, TASKS, 1)))
            ours, nothing = [], []
            for _ in range(50 if quick else 300):
                ours.append(wall_seconds([str(COMMAND), "allocate", str(path)]))
                nothing.append(wall_seconds([NOTHING]))
            row = {"kind": kind, "tasks": TASKS, "runs": len(ours)}
            row |= {"least_seconds": min(ours), "median_seconds": statistics.median(ours)}
            row |= {"nothing_least_seconds": min(nothing), "nothing_median_seconds": statistics.median(nothing)}
            rows.append(row)
            progress(f"{kind}: {seconds(row['median_seconds'])}, {NOTHING} {seconds(row['nothing_median_seconds'])}")
    return rows


def wall_seconds(words):
    """Wall time from before the process is created until it has ended; its output is discarded."""
    silence = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    begin = time.perf_counter()
    process = os.posix_spawn(words[0], words, os.environ, file_actions=silence)
    _, status = os.waitpid(process, 0)
    elapsed = time.perf_counter() - begin
    if status:
        raise SystemExit(f"{' '.join(words)} failed")
    return elapsed


def report(rows):
    lines = [
        f"`outlay allocate FILE` with {TASKS} tasks: wall time from the creation of the process to its end, including reading the file and printing the",
        f"table; in turn with `{NOTHING}`, which does nothing.",
        "",
    ]
    head = ["curves", "runs", "least", "median", "`/bin/true`, least", "median", "ratio of medians"]
    cells = [
        [
            row["kind"],
            f"{row['runs']}",
            seconds(row["least_seconds"]),
            seconds(row["median_seconds"]),
            seconds(row["nothing_least_seconds"]),
            seconds(row["nothing_median_seconds"]),
            times(row["median_seconds"] / row["nothing_median_seconds"]),
        ]
        for row in rows
    ]
    return lines + table(head, cells)


def faults(_):
    return []
