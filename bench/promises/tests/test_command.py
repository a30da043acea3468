"""Wrong arguments get one message, and nothing is measured."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonsense"], "unknown class nonsense: expected one of exponential, power, "),
        (["--jobs", "0"], "--jobs must be at least 1, not 0"),
        (["--tables", "--quick"], "--tables measures nothing: it takes no other arguments"),
    ],
)
def test_wrong_arguments(words, message):
    command = [sys.executable, "-m", "promises", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith(f"bench/promises/run: error: {message}")
