"""Calls of the programs that measure outlay."""

import json
import os
import pathlib
import subprocess

BENCH = pathlib.Path(__file__).resolve().parents[1]
ROOT = BENCH.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
COMMAND = TARGET / "release/outlay"
BANDITS = TARGET / "bandits/release/outlay-bench-bandits"


def lines(path, *words):
    """The output of a program, with one line of JSON per result."""
    answer = subprocess.run([path, *map(str, words)], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in answer.stdout.splitlines()]


def program(name, *words):
    """The output of a program of `bench/engine`."""
    return lines(TARGET / "release" / f"bench_{name}", *words)


def progress(text):
    print(f"  {text}", flush=True)
