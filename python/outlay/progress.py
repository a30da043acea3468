"""Progress bars for long work, by tqdm if it is installed."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


class Bar:
    """A bar that counts to ``total``. ``wanted``: True shows it, False hides it, None shows it only on a terminal."""

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
            # Shown only after a second.
            self._bar = tqdm(total=self._total, desc=self._what, delay=1.0, leave=False)
        return self

    def step(self, count: int = 1) -> None:
        """Advances the bar."""
        if self._bar is not None:
            self._bar.update(count)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()
