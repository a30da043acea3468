"""Simulations on executors are bit-identical, even if workers die."""

from __future__ import annotations

import _thread
import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from outlay.errors import OutlayError, SimulationError
from outlay.simulation import Cell, simulate
from outlay.sweep import ATTEMPTS, PARTS, play_on

# Every learner on every problem is a cell, with enough replications for several chunks.
SWEEP = dict(
    problem=["m-set", "k-armed"], learners=["kl-ucb-plus", "uniform"], rounds=400, replications=50, seed=11, progress=False
)


@pytest.fixture(scope="module")
def expected():
    return simulate(**SWEEP, threads=1)


def same(found, expected):
    assert found.summaries == expected.summaries
    for one, other in zip(found.arrays, expected.arrays, strict=True):
        for cell, known in zip(one, other, strict=True):
            assert cell.keys() == known.keys()
            for key in known:
                np.testing.assert_array_equal(cell[key], known[key], strict=True)


def test_threads(expected):
    with ThreadPoolExecutor(3) as executor:
        same(simulate(**SWEEP, executor=executor), expected)


def test_processes(expected):
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as executor:
        same(simulate(**SWEEP, executor=executor), expected)


@pytest.mark.parametrize("parts", [1, 3, PARTS, 1000])
def test_any_number_of_chunks(expected, parts):
    cell = Cell("m-set", "kl-ucb-plus", 400, 11, 50, name="m-set")
    with ThreadPoolExecutor(2) as executor:
        (played,) = play_on(executor, [cell], parts=parts)
    for key, known in expected.arrays[0][0].items():
        np.testing.assert_array_equal(played[key], known, strict=True)


class Wrapped:
    """An executor whose workers run another function first; `submit` counts calls."""

    def __init__(self, pool, first):
        self.pool, self.first, self.submitted = pool, first, 0

    def submit(self, function, *arguments):
        self.submitted += 1
        return self.pool.submit(self.first, self.submitted, function, *arguments)


def test_a_chunk_that_fails_is_sent_again(expected):
    def lossy(_, function, cell, first, count, attempt):
        if attempt < ATTEMPTS - 1 and first == 8:
            raise ConnectionError("the worker is gone")
        return function(cell, first, count, attempt)

    with ThreadPoolExecutor(2) as pool:
        executor = Wrapped(pool, lossy)
        same(simulate(**SWEEP, executor=executor), expected)
    assert executor.submitted == 4 * 7 + 4 * (ATTEMPTS - 1)


def test_a_chunk_that_always_fails_is_named():
    def broken(_, function, cell, first, count, attempt):
        if cell.learner == "uniform" and first == 16:
            raise MemoryError("no room")
        return function(cell, first, count, attempt)

    with ThreadPoolExecutor(2) as pool:
        executor = Wrapped(pool, broken)
        message = rf"uniform on m-set, replications 17 to 24: failed {ATTEMPTS} times, the last time with MemoryError: no room"
        with pytest.raises(SimulationError, match=message) as refused:
            simulate(**SWEEP, executor=executor)
    assert isinstance(refused.value.__cause__, MemoryError)


def test_invalid_input_is_not_retried():
    with ThreadPoolExecutor(2) as pool:
        executor = Wrapped(pool, lambda _, function, *arguments: function(*arguments))
        with pytest.raises(OutlayError, match="nobody"):
            play_on(executor, [Cell("m-set", "nobody", 100, 1, 8, name="m-set")])
    assert executor.submitted == 1


def test_a_broken_pool_is_reported():
    class Deadly:
        def submit(self, *call):
            return pool.submit(os._exit, 9)

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(SimulationError, match="kl-ucb-plus on m-set, replications 1 to 8: .*BrokenProcessPool"):
            simulate(**SWEEP, executor=Deadly())


def test_an_interrupt_cancels_waiting_chunks():
    started = []

    def interrupting(number, function, *arguments):
        started.append(number)
        if number == 2:
            # An interrupt while the main thread submits a chunk would leave that chunk without a future to cancel.
            while executor.submitted < 4 * 7:
                time.sleep(0.001)
            _thread.interrupt_main()
            # No other chunk starts before the main thread has cancelled it.
            cancelled.wait(30)
        return function(*arguments)

    cancelled = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        executor = Wrapped(pool, interrupting)
        with pytest.raises(KeyboardInterrupt):
            simulate(**SWEEP, executor=executor)
        cancelled.set()
    assert started == [1, 2]


def test_an_invalid_executor_is_reported():
    with pytest.raises(SimulationError, match="executor: must have a method submit.*not be a int"):
        simulate(**SWEEP, executor=3)


def test_dask_with_a_worker_that_is_killed(expected):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = KillsInTheMiddle(client, victim=min(client.run(os.getpid).values()))
        same(simulate(**SWEEP, executor=executor), expected)
        assert executor.submitted > KillsInTheMiddle.AT
        client.wait_for_workers(2)
        assert executor.victim not in client.run(os.getpid).values()


class KillsInTheMiddle:
    """Dask's client. A worker is killed when some chunks are done, some may run, and others are not yet submitted."""

    AT = 14

    def __init__(self, client, victim):
        self.client, self.victim, self.submitted, self.first = client, victim, 0, None

    def submit(self, *call):
        self.submitted += 1
        future = self.client.submit(*call)
        self.first = self.first or future
        if self.submitted == self.AT:
            self.first.result()
            os.kill(self.victim, signal.SIGKILL)
        return future
