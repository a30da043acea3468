"""outlay's side: the programs that measure it, and how they are called."""

import json
import os
import pathlib
import subprocess

BENCH = pathlib.Path(__file__).resolve().parents[1]
ROOT = BENCH.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
COMMAND = TARGET / "release/outlay"
BANDITS = TARGET / "bandits/release/outlay-bench-bandits"


def lines(program, *words):
    """What a program prints, a line of JSON each."""
    answer = subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True)
    return [json.loads(line) for line in answer.stdout.splitlines()]


def example(name, *words):
    return lines(TARGET / "release/examples" / f"bench_{name}", *words)


def progress(text):
    print(f"  {text}", flush=True)
