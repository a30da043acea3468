"""Replications are the same in chunks or at once, in one process or several."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from outlay import Problem, _outlay, simulate
from outlay.simulation import Cell, chunks, play_chunk, put_together

DELAYED = """
budget = 10.0
reward_max = 3.0
[environment]
budget = { law = "uniform", low = 5.0, high = 15.0 }
delay = { law = "geometric", mean = 5.0 }
available = 0.9
[[task]]
curve = { family = "hill", half_at = 4.0, steepness = 2.0 }
reward = { law = "beta", mean = 1.2 }
[[task]]
curve = { family = "threshold", at = 3.0 }
value = 0.7
"""

CELLS = [
    ("power", "kl-ucb-plus"),
    ("theorem-4", "algorithm-1"),
    ("m-set", "thompson"),
    ("unknown-thresholds", "epsilon-greedy:epsilon=0.2"),
    ("saturating-jobs", "uniform"),
    ("delayed", "kl-ucb-plus"),
    ("delayed", "oful"),
]


def source(name: str) -> str:
    return Problem.from_toml(DELAYED).source() if name == "delayed" else name


@pytest.mark.parametrize(("name", "learner"), CELLS)
def test_chunks_add_up_to_the_whole_run(name: str, learner: str) -> None:
    def play(first: int, count: int) -> dict[str, np.ndarray]:
        return _outlay.play(source(name), learner, 700, 5, first, count)

    whole = play(0, 23)
    parts = [play(0, 9), play(9, 1), play(10, 13)]
    for key, array in whole.items():
        together = np.concatenate([part[key] for part in parts])
        assert together.dtype == array.dtype and together.tobytes() == array.tobytes(), key
    assert whole["seed"].tolist() == list(range(5, 28))
    assert whole["trace"].shape[1] == len(_outlay.checkpoints(700)) == whole["spend"].shape[1]
    assert (whole["trace"][:, -1] == whole["regret"]).all()
    # Replications must differ, or the test is meaningless.
    assert len(set(whole["realised_regret"].tolist())) > 1 or name == "unknown-thresholds"


def test_chunks_cover_every_replication_once() -> None:
    cells = [Cell("power", "kl-ucb-plus", rounds, 1, replications) for rounds, replications in [(10, 100), (10**7, 37), (10**5, 1)]]
    for workers in (1, 3, 64):
        seen: dict[int, list[int]] = {place: [] for place in range(len(cells))}
        for part in chunks(cells, workers):
            seen[part.cell] += range(part.first, part.first + part.count)
        assert {place: sorted(found) for place, found in seen.items()} == {
            place: list(range(cell.replications)) for place, cell in enumerate(cells)
        }


def test_cells_are_plain_data() -> None:
    cell = Cell(Problem.from_toml(DELAYED).source(), "kl-ucb-plus", 300, 1, 12)
    again = pickle.loads(pickle.dumps(cell))
    parts = [(part, play_chunk(again, part.first, part.count)) for part in reversed(chunks([cell], 4))]
    assert put_together(parts)["regret"].tolist() == play_chunk(cell, 0, 12)["regret"].tolist()


def test_threads_and_executors_change_nothing() -> None:
    def run(**how: object) -> list[object]:
        result = simulate(["power", "k-armed"], ["kl-ucb-plus", "thompson"], rounds=400, replications=20, progress=False, **how)  # type: ignore[arg-type]
        return [result.summaries, [arrays["trace"].tobytes() for played in result.arrays for arrays in played]]

    alone = run(threads=1)
    assert run(threads=3) == alone
    with ThreadPoolExecutor(2) as pool:
        assert run(executor=pool) == alone
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert run(executor=pool) == alone
