"""Exceptions, one class for each kind of error, with the messages of the command line."""

from __future__ import annotations

from collections.abc import Sequence


class OutlayError(Exception):
    """Base class of all errors of outlay."""


class FileError(OutlayError, OSError):
    """A file cannot be read or written."""


class ProblemError(OutlayError, ValueError):
    """The problem is invalid; ``errors`` lists all errors with the paths of their fields."""

    errors: list[tuple[str, str]]

    def __init__(self, message: str, errors: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.errors = list(errors)


class AllocationError(OutlayError, ValueError):
    """The allocation is impossible: invalid values, bounds, plans or units."""


class LearnerError(OutlayError, ValueError):
    """The learner is invalid."""


class ObservationError(OutlayError, ValueError):
    """An impossible outcome; the state of the learner is unchanged."""


class StateError(OutlayError, ValueError):
    """A saved state cannot be loaded."""


class SimulationError(OutlayError, ValueError):
    """The simulation is invalid."""


class FitError(OutlayError, ValueError):
    """No curve can be fitted to the log."""


class MissingLibraryError(OutlayError, ImportError):
    """An optional library that this function needs is not installed."""

