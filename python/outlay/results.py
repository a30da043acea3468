"""Methods that results share: a data frame, and an HTML report."""

from __future__ import annotations

import os
from typing import Any

from .files import write_file

__all__ = ["Paged", "Tabular"]


class Tabular:
    """A result that can be a data frame. A subclass defines `_columns`."""

    def _columns(self) -> dict[str, list[Any]]:
        raise NotImplementedError

    def table(self, library: str | None = None) -> Any:
        """The result as a data frame; the class describes its rows and columns.

        Parameters
        ----------
        library : {"pandas", "polars"}, optional
            By default pandas if it is installed, else polars.

        Returns
        -------
        DataFrame
            One row per entry.

        Raises
        ------
        MissingLibraryError
            If the library is not installed.

        Examples
        --------
        >>> from outlay import Ledger, Problem, bound
        >>> len(Ledger(Problem.load("power")).status().table())
        5
        >>> "value" in bound("power", horizon=1000).table()
        True
        """
        from .display import frame

        return frame(self._columns(), library)


class Paged:
    """A result with an HTML report. A subclass has the attribute `page`."""

    page: str

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the HTML report, as ``--report`` of the command line.

        Parameters
        ----------
        path : path-like
            The file.

        Raises
        ------
        FileError
            If the file cannot be written.

        Examples
        --------
        >>> import os, tempfile
        >>> import numpy as np
        >>> from outlay import Problem, replay
        >>> rows = {"task": ["task-1", "task-2"] * 20, "threshold": np.arange(40) / 40, "reward": [0.5] * 40}
        >>> found = replay(Problem.load("power:tasks=2"), rows, rounds=50, replications=2)
        >>> path = os.path.join(tempfile.mkdtemp(), "replay.html")
        >>> found.report(path)
        >>> os.path.exists(path)
        True
        """
        write_file(path, self.page)


def columns_of(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Rows with the same keys as columns."""
    return {key: [row[key] for row in rows] for key in (rows[0] if rows else {})}
