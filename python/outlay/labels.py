"""Alignment of pandas and polars objects with the tasks of a problem, by label and never by position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: At most this many labels are listed in a message.
SHOWN = 5


class LabelError(ValueError):
    """Labels that do not match the tasks."""


def align(given: Any, names: Sequence[str], what: str, column: str) -> Any:
    """The numbers of a Series or data frame, in the order of the tasks.

    Parameters
    ----------
    given : Series or DataFrame
        A Series whose index holds task names, or a data frame with the columns ``task`` and ``column``.
        A Series without labels (polars, or the default index of pandas) is in the order of the tasks.
    names : sequence of str
        The names of the tasks.
    what : str
        The argument that messages name.
    column : str
        The column of a data frame that holds the numbers.

    Returns
    -------
    numpy.ndarray
        One number per task.

    Raises
    ------
    LabelError
        If a label is unknown, missing or repeated.
    """
    import numpy as np

    if hasattr(given, "columns"):
        labels, cells = _of_frame(given, what, column)
    else:
        labels, cells = _labels(given, what), given.to_numpy()
    if labels is None:
        return np.asarray(cells)
    check(labels, names, what)
    place = {label: row for row, label in enumerate(labels)}
    return np.asarray(cells)[[place[name] for name in names]]


def align_columns(given: Any, names: Sequence[str], what: str) -> Any:
    """The cells of a wide data frame, one column per task, in the order of the tasks."""
    import numpy as np

    labels = [_text(label) for label in given.columns]
    check(labels, names, what)
    cells = given.to_numpy()
    place = {label: column for column, label in enumerate(labels)}
    return np.ascontiguousarray(cells[:, [place[name] for name in names]])


def check(labels: Sequence[str], names: Sequence[str], what: str) -> None:
    """Raises `LabelError` unless the labels are the names of all tasks, each once."""
    known, seen = set(names), set()
    unknown, repeated = [], []
    for label in labels:
        if label not in known:
            unknown.append(label)
        elif label in seen:
            repeated.append(label)
        seen.add(label)
    missing = [name for name in names if name not in seen]
    wrong = []
    if unknown:
        wrong.append(f"{_listed(unknown)} {'is not a task' if len(unknown) == 1 else 'are not tasks'}")
    if missing:
        wrong.append(f"{_listed(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    if repeated:
        wrong.append(f"{_listed(repeated)} {'occurs' if len(repeated) == 1 else 'occur'} more than once")
    if wrong:
        advice = "; to give numbers in the order of the tasks, pass .to_numpy()" if missing and unknown else ""
        raise LabelError(f"{what}: labels must be the names of the tasks: {', '.join(wrong)}{advice}")


def column_of(frame: Any, title: str, what: str) -> Any:
    """A column of a data frame as a numpy array."""
    import numpy as np

    if title not in frame.columns:
        raise LabelError(f"{what}: the data frame has no column {title}; it has {_listed([_text(entry) for entry in frame.columns])}")
    return np.asarray(frame[title])


def _of_frame(frame: Any, what: str, column: str) -> tuple[list[str] | None, Any]:
    cells = column_of(frame, column, what)
    if "task" in frame.columns:
        return [_text(label) for label in column_of(frame, "task", what).tolist()], cells
    labels = _labels(frame, what) if hasattr(frame, "index") else None
    if labels is None:
        raise LabelError(f"{what}: the data frame needs a column task with the names of the tasks")
    return labels, cells


def _labels(given: Any, what: str) -> list[str] | None:
    """The labels of a pandas object; None if there are none."""
    index = getattr(given, "index", None)
    if index is None or callable(index):
        return None
    if getattr(index, "nlevels", 1) > 1:
        raise LabelError(f"{what}: the index has {index.nlevels} levels; expected one with the names of the tasks")
    # The default index counts rows and names nothing.
    if type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1:
        return None
    return [_text(label) for label in index.tolist()]


def _text(label: Any) -> str:
    return label if isinstance(label, str) else str(label)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(" ".join(name.split()) for name in names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown} and {len(names) - SHOWN} more"
