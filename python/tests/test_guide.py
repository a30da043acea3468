"""Runs the examples of the guide."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest


GUIDES = [("docs/reference/python.md", 35), ("docs/tutorials/python.md", 15), ("README.md", 5)]


@pytest.mark.parametrize(("guide", "least"), GUIDES)
def test_guide(root: Path, guide: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    text = (root / guide).read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    test = doctest.DocTestParser().get_doctest(examples, {}, guide, guide, 0)
    assert len(test.examples) >= least
    output: list[str] = []
    results = doctest.DocTestRunner(verbose=False).run(test, out=output.append)
    assert results.failed == 0, "".join(output)
