"""Shared by the tests: the folder of the project, and the program to compare with."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def program() -> str:
    """The command-line program: $OUTLAY, or the one built by cargo."""
    built = [ROOT / "target" / profile / "outlay" for profile in ("release", "debug")]
    known = [os.environ["OUTLAY"]] if "OUTLAY" in os.environ else [str(path) for path in built if path.exists()]
    if not known:
        pytest.fail("no program to compare with: build it with `cargo build -p outlay-cli`, or say with OUTLAY where it is")
    return known[0]


@pytest.fixture(scope="session")
def command(program: str) -> Callable[..., Any]:
    """Runs a command in the project's folder. Returns its parsed JSON output or its error message."""

    def run(*words: str, stdin: str | None = None, folder: Path = ROOT, is_json: bool = True) -> Any:
        done = subprocess.run([program, *words], capture_output=True, text=True, input=stdin, cwd=folder, timeout=120, check=False)
        if done.returncode == 2:
            return done.stderr.removeprefix("error: ").rstrip("\n")
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout) if is_json else done.stdout

    return run
