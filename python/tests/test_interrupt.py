"""Ctrl-C stops long work, and long work lets other threads run."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from outlay import _outlay

LONG = {
    "simulate": "outlay.simulate('power', 'kl-ucb-plus', rounds=10**12, replications=4, threads=2, progress=False)",
    "frontier": "outlay.Problem([outlay.Task(curve=outlay.Hill(1 + k, 3), value=1) for k in range(5000)], 1e6).frontier(points=10000)",
    "own learner": "outlay.simulate('power', [type('Own', (), {'index': lambda self, counts, number: [1.0] * 5})], rounds=10**12, replications=4)",
    "play": "outlay._outlay.play('m-set', 'thompson', 10**12, 1, 0, 1)",
}


@pytest.mark.parametrize("work", list(LONG))
def test_ctrl_c(work: str) -> None:
    code = f"""
import outlay
print('ready', flush=True)
try:
    {LONG[work]}
except KeyboardInterrupt:
    print('stopped', flush=True)
"""
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        # The signal is sent after the work has begun, though an earlier one would work too.
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(1.0)
        running.send_signal(signal.SIGINT)
        assert running.stdout.readline() == "stopped\n"
        assert running.wait(60) == 0
    finally:
        running.kill()


def test_other_threads_run_meanwhile() -> None:
    stop = _outlay.Stop()
    ended: list[BaseException] = []

    def work() -> None:
        try:
            _outlay.play("power", "kl-ucb-plus", 10**12, 1, 0, 1, stop=stop)
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    # This line is reached only because the work does not hold the interpreter.
    stop.set()
    thread.join(60)
    assert not thread.is_alive() and isinstance(ended[0], KeyboardInterrupt)
