"""What outlay refuses: one kind of exception for each kind of mistake, with the texts of the command line."""

from __future__ import annotations

from collections.abc import Sequence


class OutlayError(Exception):
    """Everything that outlay refuses."""


class FileError(OutlayError, OSError):
    """A file cannot be read or written."""


class ProblemError(OutlayError, ValueError):
    """A problem that is none; ``errors`` has everything that is wrong with it, each with the path of its field."""

    errors: list[tuple[str, str]]

    def __init__(self, message: str, errors: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.errors = list(errors)


class AllocationError(OutlayError, ValueError):
    """A budget that cannot be split so: values, bounds, plans and units that do not fit."""


class LearnerError(OutlayError, ValueError):
    """A learner that cannot be made."""


class ObservationError(OutlayError, ValueError):
    """Something that cannot have come back of a round."""


class StateError(OutlayError, ValueError):
    """A saved learner that cannot be loaded."""


class SimulationError(OutlayError, ValueError):
    """Something that cannot be simulated."""


class FitError(OutlayError, ValueError):
    """A log that no curve can be fitted to."""


class MissingLibraryError(OutlayError, ImportError):
    """A library that is needed for this, and for nothing else here, is not installed."""

