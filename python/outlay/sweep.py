"""Cells played by an executor that somebody else runs: anything whose ``submit`` gives futures, from threads to a cluster.

Chunks of replications are shipped as plain data (the problem as JSON, the learner's name, the seeds) and put together again in order.
A replication depends on its cell and its seed alone, so that the result is the same to the last bit whatever the executor, however the
work is cut, and whoever died over it. Scheduling is the executor's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .errors import OutlayError, SimulationError
from .progress import Bar
from .simulation import Cell, Chunk, chunks, play_chunk, put_together

if TYPE_CHECKING:
    from .simulation import Arrays

__all__ = ["play_on"]

#: Parts that everything is cut into, so that many workers have something to do: nobody knows how many there are, or will be.
PARTS = 64
#: A chunk that fails is sent again until it has failed so many times.
ATTEMPTS = 4


@dataclass
class Sent:
    """A chunk on its way."""

    cell: Cell
    chunk: Chunk
    future: Any = None
    failed: int = 0

    def __str__(self) -> str:
        return f"{self.cell.learner_name or self.cell.learner} on {self.cell.name}, replications {self.chunk.first + 1} to {self.chunk.first + self.chunk.count}"


def play_on(executor: Any, cells: Sequence[Cell], progress: bool | None = None, *, parts: int = PARTS) -> list[Arrays]:
    """Plays all replications of ``cells`` on ``executor``: the arrays of each cell, a row a replication.

    ``executor`` needs ``submit(function, *arguments)``, which gives something with ``result()`` and, if it can, ``cancel()``. A chunk
    that fails is sent again a few times; what is wrong with a problem or a learner is said at once. When this ends early, by Ctrl-C
    too, what still waits is cancelled.
    """
    if not callable(getattr(executor, "submit", None)):
        raise SimulationError(f"executor: must have a method submit, as those of concurrent.futures, not be a {type(executor).__name__}")
    sent = [Sent(cells[chunk.cell], chunk) for chunk in chunks(cells, max(1, parts // len(cells)))]
    played: list[list[tuple[Chunk, Arrays]]] = [[] for _ in cells]
    try:
        with Bar("replications", sum(one.chunk.count for one in sent), progress) as bar:
            for one in sent:
                send(executor, one)
            for one in sent:
                played[one.chunk.cell].append((one.chunk, arrived(executor, one)))
                # A cluster keeps a result for as long as somebody holds its future.
                one.future = None
                bar.step(one.chunk.count)
    except BaseException:
        for one in sent:
            if hasattr(one.future, "cancel"):
                one.future.cancel()
        raise
    return [put_together(found) for found in played]


def work(cell: Cell, first: int, count: int, attempt: int) -> Arrays:
    """What a worker does. ``attempt`` is for executors that know a call by its arguments and would repeat its failure."""
    return play_chunk(cell, first, count)


def send(executor: Any, one: Sent) -> None:
    try:
        one.future = executor.submit(work, one.cell, one.chunk.first, one.chunk.count, one.failed)
    except Exception as error:
        # A pool that is broken or closed takes nothing any more.
        raise SimulationError(f"{one}: the executor does not take it: {named(error)}") from error


def arrived(executor: Any, one: Sent) -> Arrays:
    while True:
        try:
            found: Arrays = one.future.result()
            return found
        except (KeyboardInterrupt, SystemExit, GeneratorExit, OutlayError):
            raise
        # Also what is no `Exception`: some executors say of a lost worker that the call was cancelled.
        except BaseException as error:
            one.failed += 1
            if one.failed == ATTEMPTS:
                raise SimulationError(f"{one}: failed {ATTEMPTS} times, the last time with {named(error)}") from error
        one.future = None
        send(executor, one)


def named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
