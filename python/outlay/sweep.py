"""Simulations on an executor of the caller: anything whose ``submit`` returns futures, from threads to a cluster.

Chunks of replications are sent as plain data (the problem as JSON, the learner's name, the seeds) and reassembled in order. A
replication depends only on its cell and its seed, so the result is bit-identical whichever executor is used, however the work is
chunked and even if workers die. Scheduling is left to the executor.
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

#: Number of chunks in total, so that many workers can take part; their number is not known.
PARTS = 64
#: A chunk is sent again until it has failed this many times.
ATTEMPTS = 4


@dataclass
class Sent:
    """A chunk that was submitted."""

    cell: Cell
    chunk: Chunk
    future: Any = None
    failed: int = 0

    def __str__(self) -> str:
        return f"{self.cell.learner_name or self.cell.learner} on {self.cell.name}, replications {self.chunk.first + 1} to {self.chunk.first + self.chunk.count}"


def play_on(executor: Any, cells: Sequence[Cell], progress: bool | None = None, *, parts: int = PARTS) -> list[Arrays]:
    """Runs all replications of ``cells`` on ``executor`` and returns the arrays of each cell, one row per replication.

    ``executor`` needs ``submit(function, *arguments)``, which returns an object with ``result()`` and, optionally, ``cancel()``. A
    chunk that fails is sent again a few times; an invalid problem or learner raises at once. If this ends early, for example by
    Ctrl-C, the remaining chunks are cancelled.
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
                # A cluster keeps a result as long as a reference to its future exists.
                one.future = None
                bar.step(one.chunk.count)
    except BaseException:
        for one in sent:
            if hasattr(one.future, "cancel"):
                one.future.cancel()
        raise
    return [put_together(found) for found in played]


def work(cell: Cell, first: int, count: int, attempt: int) -> Arrays:
    """Runs in a worker. ``attempt`` is for executors that cache calls by their arguments and would repeat a failure."""
    return play_chunk(cell, first, count)


def send(executor: Any, one: Sent) -> None:
    try:
        one.future = executor.submit(work, one.cell, one.chunk.first, one.chunk.count, one.failed)
    except Exception as error:
        # A broken or closed pool accepts no more calls.
        raise SimulationError(f"{one}: the executor does not take it: {named(error)}") from error


def arrived(executor: Any, one: Sent) -> Arrays:
    while True:
        try:
            found: Arrays = one.future.result()
            return found
        except (KeyboardInterrupt, SystemExit, GeneratorExit, OutlayError):
            raise
        # Not only `Exception`: some executors report a lost worker as a cancelled call.
        except BaseException as error:
            one.failed += 1
            if one.failed == ATTEMPTS:
                raise SimulationError(f"{one}: failed {ATTEMPTS} times, the last time with {named(error)}") from error
        one.future = None
        send(executor, one)


def named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
