"""Split a budget over tasks whose chance of success rises with what is spent on them, and learn what a success is worth.

>>> import outlay
>>> problem = outlay.Problem.load("square-roots:means=0.6;0.8")
>>> best = problem.allocate()
>>> round(best.value, 12), best.status, best.spend.round(12).tolist()
(1.0, 'optimal', [0.36, 0.64])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import errors, random
from ._outlay import Allocation, Counts, Environment, Evaluation, Round
from .analysis import Bounds, Replay, Reproduction, bound, replay, reproduce
from .curves import (
    Curve,
    Empirical,
    Exponential,
    Hill,
    Logistic,
    Piecewise,
    Power,
    Saturating,
    Steps,
    Threshold,
)
from .custom import Custom
from .errors import (
    AllocationError,
    FileError,
    FitError,
    LearnerError,
    MissingLibraryError,
    ObservationError,
    OutlayError,
    ProblemError,
    SimulationError,
    StateError,
)
from .fitting import Fit, TaskFit, fit
from .learner import DecisionPolicy, IndexPolicy, Learner, LearnerSpec
from .ledger import Amendment, Ledger, LedgerStatus
from .problem import Frontier, Problem, ProblemCheck, TargetPlan, Task
from .simulation import Result, simulate

if TYPE_CHECKING:
    from .client import Client

__version__ = "0.1.0"

__all__ = [
    "Allocation",
    "AllocationError",
    "Amendment",
    "Bounds",
    "Client",
    "Counts",
    "Curve",
    "Custom",
    "DecisionPolicy",
    "Empirical",
    "Environment",
    "Evaluation",
    "Exponential",
    "FileError",
    "Fit",
    "FitError",
    "Frontier",
    "Hill",
    "IndexPolicy",
    "Learner",
    "LearnerError",
    "LearnerSpec",
    "Ledger",
    "LedgerStatus",
    "Logistic",
    "MissingLibraryError",
    "ObservationError",
    "OutlayError",
    "Piecewise",
    "Power",
    "Problem",
    "ProblemCheck",
    "ProblemError",
    "Replay",
    "Reproduction",
    "Result",
    "Round",
    "Saturating",
    "SimulationError",
    "StateError",
    "Steps",
    "TargetPlan",
    "Task",
    "TaskFit",
    "Threshold",
    "bound",
    "errors",
    "fit",
    "random",
    "replay",
    "reproduce",
    "simulate",
]


def __getattr__(name: str) -> Any:
    # Imported lazily, because the network libraries are slow to load.
    if name == "Client":
        from .client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
