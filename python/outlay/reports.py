"""HTML reports: self-contained pages with figures, as ``--report`` of the command line writes them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _outlay
from .files import write_file

if TYPE_CHECKING:
    from ._outlay import Allocation, Evaluation
    from .problem import Frontier
    from .simulation import Result

    Path = str | os.PathLike[str]


def allocation_report(allocation: Allocation, path: Path, title: str | None) -> None:
    """Writes the page of an allocation."""
    from .display import allocation_lines

    write_file(path, allocation._page(title or "Allocation", allocation_lines(allocation)))


def evaluation_report(evaluation: Evaluation, path: Path, title: str | None) -> None:
    """Writes the page of a plan."""
    from .display import evaluation_lines

    write_file(path, evaluation._page(title or "Plan", evaluation_lines(evaluation)))


def frontier_report(frontier: Frontier, path: Path, title: str | None) -> None:
    """Writes the page of a frontier."""
    write_file(path, _outlay.frontier_page(list(frontier), title or "Other budgets"))


def simulation_report(result: Result, path: Path, title: str | None) -> None:
    """Writes the page of a simulation."""
    cases: list[Any] = [
        (case.problem, case.name, case.parameter, list(result.learners), case.rounds, result.seed, result.count, result.feedback, arrays)
        for case, arrays in zip(result.cases, result.arrays)
    ]
    write_file(path, _outlay.simulation_page(title or "Simulation", "outlay.simulate(...) in Python", cases))
