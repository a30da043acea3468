"""Cells played by an executor that somebody else runs: anything whose ``submit`` gives futures, as in ``concurrent.futures``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .progress import Bar
from .simulation import chunks, play_chunk, put_together

if TYPE_CHECKING:
    from .simulation import Arrays, Cell, Chunk

#: Parts that everything is cut into, so that many workers have something to do.
PARTS = 64


def play_on(executor: Any, cells: list[Cell], progress: bool | None) -> list[Arrays]:
    """What each cell came to; the same whoever played it."""
    parts = chunks(cells, max(1, PARTS // len(cells)))
    done: list[list[tuple[Chunk, Arrays]]] = [[] for _ in cells]
    futures = [(part, executor.submit(play_chunk, cells[part.cell], part.first, part.count)) for part in parts]
    with Bar("replications", sum(part.count for part in parts), progress) as bar:
        for part, future in futures:
            done[part.cell].append((part, future.result()))
            bar.step(part.count)
    return [put_together(parts) for parts in done]
