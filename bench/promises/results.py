"""The results file: versions, then one line per instance."""

import json
import platform
import subprocess

from . import highs
from .measure import LIMIT_RATIO, LIMIT_SECONDS, ROOT

RESULTS = ROOT / "bench/promises/results.json"
OURS = ("class", "tasks", "seed", "value", "upper_bound", "status")
THEIRS = ("optimal", "value", "bound", "times")


def described(command, records):
    """The records with what they depend on."""
    version = subprocess.run(
        ["cargo", "pkgid", "--quiet", "--package", "outlay"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return {
        "command": command,
        "outlay": version.strip().rpartition("#")[2].rpartition("@")[2],
        "highs": highs.version(),
        "python": platform.python_version(),
        "highs_limit": {"seconds": LIMIT_SECONDS, "times_outlay": LIMIT_RATIO},
        "instances": records,
    }


def text(results):
    """The file: an instance is a list of the values of `columns`."""
    head = {key: value for key, value in results.items() if key != "instances"}
    head["columns"] = [*OURS, *(f"highs_{name}" for name in THEIRS)]
    lines = ",\n".join(json.dumps(row(record)) for record in results["instances"])
    return json.dumps(head, indent=1)[:-2] + f',\n "instances": [\n{lines}\n ]\n}}\n'


def row(record):
    theirs = record["highs"] or dict.fromkeys(THEIRS)
    return [*(record[name] for name in OURS), *(theirs[name] for name in THEIRS)]


def parse(file):
    """The results in a file."""
    results = json.loads(file)
    results["instances"] = [parse_row(row) for row in results["instances"]]
    return results


def parse_row(row):
    record = dict(zip(OURS, row))
    theirs = dict(zip(THEIRS, row[len(OURS) :], strict=True))
    return with_gap(record | {"highs": theirs if theirs["times"] is not None else None})


def with_gap(record):
    gap = (record["upper_bound"] - record["value"]) / record["upper_bound"]
    return record | {"gap": max(gap, 0.0)}


def read():
    """The committed results."""
    return parse(RESULTS.read_text())
