"""The notebooks run and reproduce their committed outputs."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import pathlib

import pytest

NOTEBOOKS = pathlib.Path(__file__).resolve().parents[1] / "notebooks"
NAMES = ["ad-channels.ipynb", "comparing-learners.ipynb", "index-policies.ipynb", "model-selection.ipynb"]


def runner():
    loader = importlib.machinery.SourceFileLoader("run_notebooks", str(NOTEBOOKS / "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def said(notebook):
    """The text output of each cell; plots are only counted."""
    words = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            words.append("a picture" if "image/png" in data else data.get("text/plain") or output.get("text"))
    return words


def test_all_notebooks_are_tested():
    assert sorted(path.name for path in NOTEBOOKS.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_reproduces_its_committed_output(name):
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    committed = nbformat.read(NOTEBOOKS / name, as_version=4)
    found = said(runner().executed(NOTEBOOKS / name))
    assert "a picture" in found and len(found) >= 3
    assert found == said(committed)
