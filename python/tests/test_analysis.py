"""Everything that the command line computes, with the same numbers."""

from __future__ import annotations

import datetime
import json
import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from outlay import (
    Exponential, FileError, FitError, LearnerError, Ledger, ObservationError, Problem, SimulationError, StateError, Task, bound, fit, replay, reproduce,
    simulate,
)


@pytest.mark.parametrize("problem", ["power", "m-set:tasks=4,plays=2", "examples/shop-ads.toml"])
def test_bounds_and_checks(root: Path, command: Callable[..., Any], problem: str) -> None:
    path = root / problem if problem.endswith(".toml") else problem
    found = bound(path, horizon=2000).data
    expected = command("bound", problem, "--horizon", "2000", "--format", "json")
    assert found | {"problem": ""} == expected | {"problem": ""}
    check = command("check", problem, "--format", "json")
    assert vars(Problem.load(path).check()) == check


def test_replay(root: Path, command: Callable[..., Any], tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    frame = pd.DataFrame({"task": ["task-1", "task-2"] * 40, "threshold": [(7 * row % 40) / 40 for row in range(80)], "reward": [0.5, 0.9] * 40})
    frame.to_csv(rows, index=False)
    expected = command("replay", "power:tasks=2", str(rows), "--rounds", "100", "--replications", "5", "--format", "json")
    found = replay("power:tasks=2", frame, rounds=100, replications=5)
    assert found.data | {"runs": ""} == expected | {"runs": ""}
    outcomes = pd.DataFrame({"channel": frame["task"], "spend": frame["threshold"], "success": [1, 0] * 40, "reward": [0.5, None] * 40})
    outcomes.to_csv(rows, index=False)
    expected = command("replay", "power:tasks=2", str(rows), "--task", "channel", "--order", "recorded", "--format", "json")
    recorded = replay("power:tasks=2", outcomes, task="channel", order="recorded")
    assert recorded.data | {"runs": ""} == expected | {"runs": ""}
    assert recorded.table()["learner"].tolist() == [learner["learner"] for learner in recorded]
    recorded.report(tmp_path / "replay.html")
    assert "<svg" in (tmp_path / "replay.html").read_text()
    with pytest.raises(SimulationError, match="no row for task-2"):
        replay("power:tasks=2", frame[frame["task"] == "task-1"])
    with pytest.raises(SimulationError, match="order: must be shuffled or recorded"):
        replay("power:tasks=2", frame, order="random")


CHANNELS = {"task": "channel", "count": "conversions", "revenue": "revenue"}


def same(found: Any, expected: dict[str, Any]) -> bool:
    return bool(found.data | {"runs": ""} == expected | {"runs": ""})


@pytest.fixture
def channels(root: Path) -> tuple[Path, pd.DataFrame, Problem]:
    """A log of daily counts and a problem fitted to it."""
    rows = root / "examples/channels/log.csv"
    frame = pd.read_csv(rows)
    fitted = fit(frame, task="channel", spend="spend", count="conversions", revenue="revenue", family="exponential")
    return rows, frame, fitted.problem


@pytest.mark.parametrize(
    ("flags", "keywords"),
    [
        ((), {}),
        (("--order", "recorded"), {"order": "recorded"}),
        (("--split-at", "0.7"), {"split_at": 0.7}),
        (("--split-at", "0.7", "--date", "date"), {"split_at": 0.7, "date": "date"}),
        (("--split-at", "2026-01-01", "--date", "date"), {"split_at": "2026-01-01", "date": "date"}),
        (("--split-at", "2026-01-01", "--date", "date"), {"split_at": datetime.date(2026, 1, 1), "date": "date"}),
    ],
)
def test_replay_of_counts(
    command: Callable[..., Any], tmp_path: Path, channels: tuple[Path, pd.DataFrame, Problem], flags: Any, keywords: Any
) -> None:
    rows, frame, problem = channels
    problem.save(tmp_path / "problem.json")
    names = [word for name, column in CHANNELS.items() for word in (f"--{name}", column)]
    expected = command(
        "replay", str(tmp_path / "problem.json"), str(rows), *names, *flags, "--rounds", "30", "--replications", "2", "--format", "json"
    )
    found = replay(problem, frame, **CHANNELS, **keywords, rounds=30, replications=2)
    assert same(found, expected)
    assert ("holdout" in found.data) == ("split_at" in keywords) == ("the plan from the first part gains" in repr(found))


def test_an_amended_ledger_matches_the_command_line(command: Callable[..., Any], tmp_path: Path) -> None:
    """Python and the command line amend the same ledger; the states are equal to the last byte."""
    search, radio, video = (Task(name, curve=Exponential(scale=40), volume=30) for name in ("search", "radio", "video"))
    smaller = Task("search", curve=Exponential(scale=40), volume=20)
    before, after = Problem([search, radio], budget=100, reward_max=5), Problem([video, smaller], budget=120, reward_max=8)
    state = tmp_path / "state.json"
    ledger = Ledger(before)
    ledger.report(ledger.next(), completions=[3, 4], reward=[6, 9])
    issued = ledger.next()
    ledger.save(state)
    after.save(tmp_path / "after.json")
    expected = command("amend", str(state), str(tmp_path / "after.json"), "--format", "json")
    difference = ledger.amend(after)
    assert (difference.added, difference.retired, difference.returned) == (expected["added"], expected["retired"], expected["returned"])
    assert [{key: value for key, value in change.items() if key != "task" or value is not None} for change in difference.changed] == expected["changed"]
    assert Ledger.load(state).to_json() == ledger.to_json()
    assert difference and not ledger.amend(after)
    # Earlier rounds keep their spends and volumes; their outcomes are still accepted.
    shown = ledger.show(issued)
    assert shown.spend.tolist() == [*issued.spend.tolist(), 0.0]
    assert shown.expected_completions.tolist()[:2] == issued.expected_completions.tolist()
    assert ledger.report(2, completions={"radio": 2}, reward={"radio": 3}) == (1, 0)
    third = ledger.next()
    assert third.spend.tolist()[1] == 0 and sum(third.spend) == pytest.approx(120, rel=1e-12)
    assert [(task.task, task.retired, task.completions) for task in ledger.status()] == [("search", False, 3), ("radio", True, 6), ("video", False, 0)]
    assert "radio (retired)" in repr(ledger.status())
    with pytest.raises(LearnerError, match="reward_max: cannot decrease from 8"):
        ledger.amend(before)
    assert ledger.problem.reward_max == 8


def test_an_amendment_is_undone_until_the_next_round() -> None:
    ledger = Ledger(Problem.load("power:tasks=3"))
    ledger.report(ledger.next(), {"task-1": False})
    state = ledger.to_json()
    assert ledger.amend(Problem.load("power:tasks=2")).retired == ["task-3"]
    assert pickle.loads(pickle.dumps(ledger)).status().tasks[2].retired
    assert ledger.undo() == 0 and ledger.to_json() == state
    ledger.amend(Problem.load("power:tasks=2"))
    ledger.next()
    assert ledger.undo() == 1 and ledger.status().tasks[2].retired


def test_replay_of_stopped_rows(command: Callable[..., Any], tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    done = [row % 3 > 0 for row in range(80)]
    frame = pd.DataFrame({"task": ["task-1", "task-2"] * 40, "threshold": [(7 * row % 40) / 40 for row in range(80)], "done": [int(one) for one in done]})
    frame["reward"] = [0.5 if one else None for one in done]
    frame.to_csv(rows, index=False)
    columns = ("--threshold", "threshold", "--success", "done")
    for flags, keywords in (((), {}), (("--split-at", "0.6"), {"split_at": 0.6})):
        expected = command("replay", "power:tasks=2", str(rows), *columns, *flags, "--rounds", "50", "--replications", "3", "--format", "json")
        assert same(replay("power:tasks=2", frame, threshold="threshold", success="done", **keywords, rounds=50, replications=3), expected)


def test_rows_that_cannot_be_replayed(channels: tuple[Path, pd.DataFrame, Problem]) -> None:
    _, frame, problem = channels

    def refused(message: str, data: Any = frame, **changed: Any) -> None:
        with pytest.raises(SimulationError, match=message):
            replay(problem, data, "kl-ucb-plus", **(CHANNELS | changed), rounds=5, replications=1)

    refused("go together", revenue=None)
    refused("threshold goes with neither", threshold="spend")
    refused("count takes the place of success", success="conversions")
    refused("date needs split_at", date="date")
    refused("above 0 and below 1", split_at=1.5)
    refused("split_at: must be a date such as", split_at="January", date="date")
    refused("name the column with the dates", split_at="2026-01-01")
    refused("leaves no rows in the first part", split_at="1999-01-01", date="date")
    refused("leaves no rows in the second part", split_at="2999-01-01", date="date")
    refused("no column orders", count="orders")
    last = len(frame) - 1
    counts = frame["conversions"].astype(float)
    refused(f"row {last}: count: must be a whole number of at least 0, not 1.5", frame.assign(conversions=counts.where(frame.index < last, 1.5)))
    refused(f"row {last}: revenue: .* above .* times reward_max", frame.assign(revenue=frame["revenue"].where(frame.index < last, 1e9)))
    # Row numbers are those of the data, even after rows of tasks that the problem does not have.
    more = pd.concat([frame.head(3).assign(channel="radio"), frame.assign(conversions=counts.where(frame.index > 0, -1))], ignore_index=True)
    refused("row 3: count", more)
    with pytest.raises(SimulationError, match="may complete more than once"):
        replay(problem, frame.assign(reward=1.0), task="channel", threshold="spend", rounds=5, replications=1)


def test_claims(command: Callable[..., Any], tmp_path: Path) -> None:
    expected = command("reproduce", "theorem-4", "--quick", "--out", str(tmp_path / "run"), "--format", "json")
    found = reproduce("theorem-4", quick=True)
    assert found.data == expected
    assert found.table()["passed"].all() and "theorem-4" in repr(found)
    found.report(tmp_path / "page.html")
    assert "theorem-4" in (tmp_path / "page.html").read_text()


def test_one_state_file(root: Path, program: str, command: Callable[..., Any], tmp_path: Path) -> None:
    """Rounds alternate between the command line and Python; the result is that of Python alone."""
    state, problem = tmp_path / "state.json", root / "examples/shop-ads.toml"
    subprocess.run([program, "new", str(state), "--problem", str(problem), "--max-change", "5"], check=True, capture_output=True)
    alone = Ledger(Problem.load(problem), max_change=5.0)
    for number in range(1, 5):
        expected = alone.next()
        if number % 2:
            with Ledger.open(state) as ledger:
                assert ledger.next().spend.tolist() == expected.spend.tolist()
        else:
            issued = command("next", str(state), "--format", "json")
            assert [task["spend"] for task in issued["tasks"]] == expected.spend.tolist()
        rows = pd.DataFrame({"round": number, "task": alone.names, "completed": [1, 0] * 3, "reward": [3.0, None] * 3})
        assert alone.report(rows) == (6, 0)
        if number % 2:
            rows.to_csv(tmp_path / "rows.csv", index=False)
            command("tell", str(state), str(tmp_path / "rows.csv"), "--format", "json")
        else:
            with Ledger.open(state) as ledger:
                ledger.report(rows)
    assert Ledger.load(state).to_json() == alone.to_json()
    status, expected = alone.status(), command("status", str(state), "--format", "json")
    assert [task.expected for task in status] == [task["expected"] for task in expected["tasks"]]
    assert [task.next for task in status] == [task["next"] for task in expected["tasks"]]
    assert [task.misfit for task in status] == [task["doubt"] for task in expected["tasks"]]
    assert alone.undo() == 6 and command("undo", str(state), is_json=False)
    assert Ledger.load(state).to_json() == alone.to_json()


def test_a_ledger_rejects_contradictions(tmp_path: Path) -> None:
    ledger = Ledger(Problem.load("power"))
    issued = ledger.next(without="task-2")
    assert issued.mask is not None and not issued.mask[1]
    assert ledger.report(issued, {"task-1": True}, {"task-1": 0.5}) == (1, 0)
    before = ledger.to_json()
    with pytest.raises(ObservationError, match="^round 1, task task-1: failed now, but completed with reward 0.5 before$"):
        ledger.report(1, {"task-1": False, "task-3": True}, {"task-3": 1.0})
    with pytest.raises(ObservationError, match="has a reward, but completed does not name it"):
        ledger.report(1, {"task-3": True}, {"task-4": 1.0})
    assert ledger.to_json() == before == pickle.loads(pickle.dumps(ledger)).to_json()
    assert ledger.status().open == [(1, 3)]
    ledger.save(tmp_path / "state.json")
    with pytest.raises(RuntimeError), Ledger.open(tmp_path / "state.json") as changed:
        changed.next()
        raise RuntimeError
    assert Ledger.load(tmp_path / "state.json").to_json() == before
    with pytest.raises(StateError):
        Ledger.from_json("{}")
    with pytest.raises(FileError, match="no such file"):
        Ledger.load(tmp_path / "other.json")


def test_guards_have_costs() -> None:
    ledger = Ledger(Problem.load("power"), floor=0.15)
    guards = ledger.next().guards
    assert guards is not None and guards["floor"] >= 0.0 and guards["max_change"] is None and not guards["relaxed"]
    assert Ledger(Problem.load("power")).next().guards is None


def test_fits_report_their_coverage(root: Path, command: Callable[..., Any], tmp_path: Path) -> None:
    flags = ["--task", "channel", "--spend", "spend", "--trials", "hours", "--success", "wins", "--reward", "order", "--budget", "40"]
    expected = command("fit", "examples/data/ads_log.csv", *flags, "--format", "json")
    log = pd.read_csv(root / "examples/data/ads_log.csv")
    found = fit(log, task="channel", spend="spend", trials="hours", success="wins", reward="order", budget=40)
    for task, other in zip(found, expected["tasks"], strict=True):
        assert task.covers == other["covers"] and task.candidates == other["candidates"]
    with pytest.raises(FitError, match="call fit with report=True"):
        found.report(tmp_path / "fit.html")
    one = log[log["channel"] == "search"]
    fit(one, spend="spend", trials="hours", success="wins", report=True, bootstrap=10).report(tmp_path / "fit.html")
    assert "<svg" in (tmp_path / "fit.html").read_text()


def test_reports_are_pages(root: Path, tmp_path: Path) -> None:
    problem = Problem.load(root / "examples/shop-ads.toml")
    problem.allocate(round=1).report(tmp_path / "allocation.html", "Weekly plan")
    problem.evaluate([7.0] * 6).report(tmp_path / "plan.html")
    problem.frontier(points=5).report(tmp_path / "frontier.html")
    simulate("power", rounds=100, replications=3).report(tmp_path / "simulation.html")
    for path in tmp_path.glob("*.html"):
        text = path.read_text()
        assert text.startswith("<!DOCTYPE html>") and "<svg" in text, path
    assert "<title>Weekly plan</title>" in (tmp_path / "allocation.html").read_text()
    assert len(list(tmp_path.iterdir())) == 4
    with pytest.raises(FileError, match="cannot write"):
        problem.allocate().report(tmp_path / "missing" / "page.html")


def test_the_state_of_the_command_line_is_json(tmp_path: Path) -> None:
    Ledger(Problem.load("power")).save(tmp_path / "state.json")
    assert isinstance(json.loads((tmp_path / "state.json").read_text()), dict)


def test_rounds_of_a_replay_have_their_conditions() -> None:
    tasks = [Task(name, curve=Exponential(scale=4), volume=30) for name in ("a", "b")]
    problem = Problem(tasks, budget=10, reward_max=5)
    traffic = np.tile([1.0, 2.0, 0.5], 20).repeat(2)
    spend = traffic * np.tile([1.0, 2.0, 3.0, 4.0], 30)
    orders = (30 * traffic * (1 - np.exp(-spend / traffic / 4))).round()
    rows = {"task": ["a", "b"] * 60, "spend": spend, "orders": orders, "revenue": 2 * orders, "traffic": traffic, "volume": 30 * traffic}
    options: dict[str, Any] = {"count": "orders", "revenue": "revenue", "rounds": 40, "replications": 2}
    found = replay(problem, rows, "kl-ucb-plus", scale="traffic", volume="volume", **options)
    ignored = replay(problem, rows, "kl-ucb-plus", **options)
    distances = [one.data["assumptions"][0]["fit"]["distance"] for one in (found, ignored)]
    assert distances[0] < 0.02 < 0.1 < distances[1]
    assert any("scale and volume of each round" in note for note in found.notes)
    profile = {"scale": {"a": [1, 2, 0.5], "b": [1, 2, 0.5]}, "volume": {"a": [30, 60, 15], "b": [30, 60, 15]}}
    same = replay(Problem(tasks, budget=10, reward_max=5, environment=profile), rows, "kl-ucb-plus", **options)
    assert same.data["splits"] == found.data["splits"]
    with pytest.raises(SimulationError, match=r"row 1: scale of task b: must be .*, not 0"):
        replay(problem, {**rows, "traffic": [1.0, 0.0, *traffic[2:]]}, scale="traffic", **options)
    with pytest.raises(SimulationError, match="cannot go with split_at"):
        replay(problem, rows, scale="traffic", split_at=0.5, **options)
    with pytest.raises(SimulationError, match="volume goes with count"):
        replay(problem, rows, spend="spend", success="orders", reward="revenue", volume="volume")
