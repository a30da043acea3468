"""The random numbers of simulations.

A draw is a function of a seed, a purpose, a round and a task, and of nothing else. These are the numbers of the engine itself
(``outlay::random`` in Rust), bit for bit, so an environment or a learner written in Python can use the same completions and rewards
as the built-in ones.
"""

from __future__ import annotations

from ._outlay import Draws, purposes

__all__ = ["PURPOSES", "Draws"]

#: The purposes of draws; each has its own stream.
PURPOSES: tuple[str, ...] = tuple(purposes())
