"""Runs the Python blocks of the guides, one after the other."""

from __future__ import annotations

import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def run_blocks(page: str) -> dict:
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert blocks, f"{page} has no code"
    names: dict = {"__name__": "__main__"}
    for block in blocks:
        # Preceded by empty lines, so that a traceback names the line of the page.
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block.group(1), str(DOCS / page), "exec"), names)
    return names


def test_curves_you_already_have(capsys):
    names = run_blocks("how-to/interop.md")
    assert sum(names["best"].spend) == pytest.approx(2500.0)
    assert "display" in capsys.readouterr().out


def test_sweeps_on_a_cluster():
    pytest.importorskip("distributed")
    pytest.importorskip("ray")
    names = run_blocks("how-to/sweeps.md")
    assert names["there"] is not names["here"] and len(names["here"].summaries) == 2
