"""A bar for work that takes long: tqdm's, if it is installed and somebody looks."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


class Bar:
    """Counts to ``total``. ``wanted``: True shows it, False does not, None shows it on a terminal only."""

    def __init__(self, what: str, total: int, wanted: bool | None = None) -> None:
        self._what, self._total = what, total
        self._wanted = sys.stderr.isatty() if wanted is None else wanted
        self._bar: Any = None

    def __enter__(self) -> Bar:
        if self._wanted:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return self
            # Only what takes a second or more is worth a bar.
            self._bar = tqdm(total=self._total, desc=self._what, delay=1.0, leave=False)
        return self

    def step(self, count: int = 1) -> None:
        """So many more are done."""
        if self._bar is not None:
            self._bar.update(count)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()
