"""Counts, actual spends and dates: the results of the command line in all forms of Python data."""

from __future__ import annotations

import datetime
import json
import math
import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from outlay import (
    AllocationError,
    Environment,
    Exponential,
    FitError,
    Hill,
    Learner,
    Ledger,
    ObservationError,
    Problem,
    ProblemError,
    SimulationError,
    Task,
    bound,
    fit,
    replay,
    simulate,
)

TASKS = [
    Task("search", curve=Exponential(scale=40), volume=30, value=18),
    Task("social", curve=Hill(half_at=30, steepness=2), volume=12, value=25),
    Task("video", curve=Exponential(scale=70), volume=8, value=30),
]
LAW = {"completions": "poisson"}
PROBLEM = Problem(TASKS, budget=100, reward_max=50, environment=LAW)
COUNTS, REWARDS, SPENDS = [24, 3, 0], [410.5, 66.25, 0.0], [41.5, 30.0, 20.0]


def named(numbers: list[float]) -> dict[str, float]:
    return dict(zip(PROBLEM.names, numbers))


def forms() -> dict[str, Callable[[Any, Any], Any]]:
    """The same report in all forms; each is called with `observe` or `report` and the round."""
    backwards = PROBLEM.names[::-1]
    series = {key: pd.Series(numbers[::-1], index=backwards) for key, numbers in (("c", COUNTS), ("r", REWARDS), ("s", SPENDS))}
    frame = pd.DataFrame({"task": backwards, "completions": COUNTS[::-1], "reward": REWARDS[::-1], "spend": SPENDS[::-1]})
    rounds = frame.assign(round=1)
    return {
        "lists": lambda tell, issued: tell(issued, completions=COUNTS, reward=REWARDS, spend=SPENDS),
        "arrays": lambda tell, issued: tell(1, completions=np.array(COUNTS), reward=np.array(REWARDS), spend=np.array(SPENDS)),
        "mappings": lambda tell, issued: tell(issued, completions=named(COUNTS), reward=named(REWARDS), spend=named(SPENDS)),
        "series": lambda tell, issued: tell(issued, completions=series["c"], reward=series["r"], spend=series["s"]),
        "frame": lambda tell, issued: tell(issued, completions=frame),
        "rounds": lambda tell, issued: tell(rounds),
        "polars": lambda tell, issued: tell(pl.from_pandas(rounds)),
    }


@pytest.mark.parametrize("form", forms())
def test_all_forms_of_a_report_are_equivalent(form: str) -> None:
    learner, ledger = Learner(PROBLEM, always_cold=True), Ledger(PROBLEM)
    forms()[form](learner.observe, learner.allocate())
    forms()[form](ledger.report, ledger.next())
    assert learner.table()["completions"].tolist() == COUNTS
    assert learner.table()["mean_reward"][0] == pytest.approx(410.5 / 24, abs=1e-12)
    assert learner.open_rounds == ledger.open_rounds == 0
    assert learner.allocate().spend.tolist() == ledger.next().spend.tolist()
    other = Ledger(PROBLEM)
    other.next()
    other.report(1, completions=named(COUNTS), reward=named(REWARDS), spend=named(SPENDS))
    other.next()
    assert vars(ledger.status()) | {"_state": ""} == vars(other.status()) | {"_state": ""}


def test_many_rounds_at_once() -> None:
    one, many = Learner(PROBLEM), Learner(PROBLEM)
    for counts, rewards in ((COUNTS, REWARDS), (COUNTS[::-1], REWARDS[::-1])):
        one.observe(one.allocate(), completions=counts, reward=rewards)
    rounds = [many.allocate() for _ in range(2)]
    many.observe_many(rounds, completions=[COUNTS, COUNTS[::-1]], reward=[REWARDS, REWARDS[::-1]], spend=[SPENDS] * 2)
    assert one.learnt() == many.learnt() and many.open_rounds == 0
    rounds = [many.allocate()]
    with pytest.raises(ObservationError, match="completed: must be true or false .* not 24 for task search in row 0"):
        many.observe_many(rounds, [COUNTS], [REWARDS])
    with pytest.raises(ObservationError, match="completions: 1 rounds and 3 tasks need a matrix of that shape, not 2 by 3"):
        many.observe_many(rounds, completions=[COUNTS] * 2)


def test_a_batch_equals_its_single_completions() -> None:
    """24 completions in one report give the same state as 24 rounds with one each."""
    batch, single = Learner(PROBLEM), Learner(PROBLEM)
    batch.observe(batch.allocate(), completions=[24, 0, 0], reward=[60.0, 0, 0])
    for _ in range(24):
        single.observe(single.allocate(), completions=[1, 0, 0], reward=[2.5, 0, 0])
    assert json.loads(batch.learnt())["completions"] == json.loads(single.learnt())["completions"]
    assert json.loads(batch.learnt())["reward_sum"] == json.loads(single.learnt())["reward_sum"]


def test_unknown_outcomes_stay_open() -> None:
    for made in (Learner(PROBLEM), Ledger(PROBLEM)):
        issued = made.allocate() if isinstance(made, Learner) else made.next()
        tell = made.observe if isinstance(made, Learner) else made.report
        tell(issued, completions=[24, np.nan, None], reward=[410.5, np.nan, np.nan])
        assert made.open_rounds == 1
        rows = pd.DataFrame({"round": 1, "task": ["social", "video"], "completions": [3.0, None], "reward": [66.25, None], "spend": [30.0, 20.0]})
        tell(rows)
        assert made.open_rounds == 1
        tell(1, completions={"video": 0})
        assert made.open_rounds == 0


class Spends:
    """A learner that records its observations."""

    seen: list[tuple[Any, ...]] = []

    def index(self, counts: Any, round: int) -> Any:
        return np.ones(len(counts))

    def observe(self, task: int, spend: float, completed: Any, reward: Any) -> None:
        Spends.seen.append((task, spend, completed, reward))


def test_actual_spends_reach_learners_that_use_them() -> None:
    Spends.seen.clear()
    learner = Learner(PROBLEM, Spends)
    issued = learner.allocate()
    learner.observe(issued, completions=COUNTS, reward=REWARDS, spend=[41.5, np.nan, 20.0])
    assert [row[1] for row in Spends.seen] == [41.5, issued.spend[1], 20.0]
    assert Spends.seen[0] == (0, 41.5, 24, pytest.approx(410.5, rel=1e-12))
    single = Problem([Task(curve=Exponential(scale=40)), Task(curve=Exponential(scale=40))], budget=100)
    plain, informed = (Learner(single, "lattimore", horizon=50) for _ in range(2))
    for made, spend in ((plain, None), (informed, [1.0, 1.0])):
        made.observe(made.allocate(), [False, True], [0, 1], spend=spend)
    assert plain.allocate().spend.tolist() != informed.allocate().spend.tolist()
    ledger = Ledger(single, "lattimore", horizon=50)
    ledger.report(ledger.next(), [False, True], [0, 1], spend=[1.0, 1.0])
    cold = Learner(single, "lattimore", horizon=50, always_cold=True)
    cold.observe(cold.allocate(), [False, True], [0, 1], spend=[1.0, 1.0])
    assert ledger.next().spend.tolist() == cold.allocate().spend.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"completions": [24, 3, 0]}, "task search completed, but its reward is missing: give its reward, or 0"),
        ({"completions": COUNTS, "reward": [1300, 0, 0]}, "reward of search: must be between 0 and 24 times reward_max 50, not 1300"),
        ({"completions": [1.5, 0, 0], "reward": REWARDS}, "completions of search: must be a whole number from 0 on, not 1.5"),
        ({"completions": [-1, 0, 0]}, "completions of search: must be a whole number from 0 on, not -1"),
        ({"completions": COUNTS, "reward": [410.5, 66.25, 3.0]}, "task video failed, but has the reward 3: only a success shows its reward"),
        ({"completions": COUNTS, "reward": REWARDS, "spend": [-1, 0, 0]}, "spend of search: must be finite and not negative, not -1"),
        ({"completions": COUNTS, "completed": [1, 0, 0]}, "give completed or completions, not both"),
        ({"completions": COUNTS[:2], "reward": REWARDS}, "completions: 2 entries for 3 tasks"),
        ({"completions": {"serch": 1}}, "completions: .*serch.*search"),
        ({"completions": {"search": 1}, "reward": {"social": 1}}, "task social has a reward, but completions does not name it"),
        ({"completions": {"search": 1}, "reward": [1, 2, 3]}, "reward: must be a mapping from names, as completions is"),
        ({"completions": [np.nan, 0, 0], "reward": [3.0, 0, 0]}, "reward of search is given, but its completions is unknown"),
        ({"completions": pd.DataFrame({"task": ["search"], "completions": [1], "completed": [1]})}, "both completed and completions"),
        ({"completions": pd.DataFrame({"task": ["search"], "completions": ["a"]})}, "row 0: completions: must be a whole number from 0 on, not a"),
        ({"completions": pd.DataFrame({"round": [7], "task": ["search"], "completions": [0]})}, "row 0: round: is 7, but the report is of round 1"),
    ],
)
def test_invalid_counts_change_nothing(arguments: dict[str, Any], message: str) -> None:
    learner, ledger = Learner(PROBLEM), Ledger(PROBLEM)
    issued, today = learner.allocate(), ledger.next()
    before = learner.state(), ledger.to_json()
    with pytest.raises(ObservationError, match=message):
        learner.observe(issued, **arguments)
    with pytest.raises(ObservationError, match=message):
        ledger.report(today, **arguments)
    assert (learner.state(), ledger.to_json()) == before


def test_counts_need_a_volume() -> None:
    single = Problem([Task("search", curve=Exponential(scale=40))], budget=100)
    learner, ledger = Learner(single), Ledger(single)
    message = "completions of search: must be at most 1, not 2; tasks that complete more often need a volume"
    for tell, issued in ((learner.observe, learner.allocate()), (ledger.report, ledger.next())):
        with pytest.raises(ObservationError, match=message):
            tell(issued, completions=[2], reward=[1.0])
        tell(issued, completions=[1], reward=[1.0])
    with pytest.raises(ObservationError, match="not 24; give counts as completions"):
        Learner(PROBLEM).observe(1, [24, 3, 0])


def test_rounds_belong_to_their_ledger() -> None:
    ledger = Ledger(PROBLEM)
    ledger.next()
    issued = Learner(PROBLEM).allocate()
    with pytest.raises(ObservationError, match="round 1 was not issued by this ledger"):
        ledger.report(issued, completions=COUNTS, reward=REWARDS)
    with pytest.raises(ObservationError, match="round 1 was not issued by this ledger"):
        Ledger(PROBLEM, "thompson").report(ledger.show(1), completions=COUNTS, reward=REWARDS)
    assert Ledger.from_json(ledger.to_json()).report(ledger.show(1), completions=COUNTS, reward=REWARDS) == (3, 0)


def test_the_daily_loop_with_counts(program: str, command: Callable[..., Any], tmp_path: Path) -> None:
    """Keys, rounding, reports, revisions and cancelled rounds: the state is that of the command line, byte for byte."""
    state, problem, rows = str(tmp_path / "state.json"), str(tmp_path / "problem.toml"), str(tmp_path / "rows.csv")
    PROBLEM.save(problem)
    subprocess.run([program, "new", state, "--problem", problem], check=True, capture_output=True)
    ledger = Ledger(PROBLEM)
    rng = np.random.default_rng(5)
    for number in range(1, 13):
        day = f"2026-11-{number:02}"
        mine = ledger.next(key=day, round=0.5)
        printed = command("next", state, "--key", day, "--round", "0.5", "--format", "json")
        assert mine.spend.tolist() == [task["spend"] for task in printed["tasks"]] and mine.key == printed["key"] == day
        assert (mine.spend % 0.5 == 0).all()
        assert ledger.next(key=day).round == mine.round == number
        counts = rng.poisson(mine.expected_completions)
        frame = pd.DataFrame({"round": number, "task": ledger.names, "completions": counts, "reward": counts * 20.5, "spend": mine.spend * 0.6})
        frame.to_csv(rows, index=False)
        assert ledger.report(frame) == (3, 0)
        command("tell", state, rows, "--format", "json")
    frame["completions"] += 1
    frame["reward"] = frame["completions"] * 20.5
    frame.to_csv(rows, index=False)
    with pytest.raises(ObservationError, match="row 0: round 12, task search: completed"):
        ledger.report(frame)
    assert ledger.revise(frame) == (0, 0, 3)
    assert command("tell", state, rows, "--revise", "--format", "json")["revised"] == 3
    ledger.cancel(ledger.next(key="2026-11-13"))
    command("next", state, "--key", "2026-11-13", "--format", "json")
    command("cancel", state, "13", "--format", "json")
    assert Ledger.load(state).to_json() == ledger.to_json()
    shown = ledger.show(13)
    assert shown.cancelled and shown.key == "2026-11-13" and pickle.loads(pickle.dumps(shown)).key == shown.key
    status, expected = ledger.status(), command("status", state, "--format", "json")
    words = {"reported": "told", "completions": "completed", "misfit": "doubt"}
    for task, other in zip(status, expected["tasks"], strict=True):
        record = {words.get(key, key): value for key, value in vars(task).items() if key != "index"}
        assert record == other
    assert status.cancelled == expected["cancelled"] == [13]
    assert status.warnings == expected["warnings"] and "consider max" in status.warnings[-1]
    assert status.tasks[0].delivered == pytest.approx(0.6) and status.tasks[0].proposed_max is not None
    status.report(tmp_path / "mine.html", "state.json: status")
    command("status", state, "--report", str(tmp_path / "other.html"), is_json=False)
    mine_page, other_page = ((tmp_path / name).read_text() for name in ("mine.html", "other.html"))
    hidden = [line for line in mine_page.splitlines() if "made with outlay in Python" in line]
    assert len(hidden) == 1
    differing = [one for one, two in zip(mine_page.splitlines(), other_page.splitlines(), strict=True) if one != two]
    assert len(differing) <= 3, differing
    assert "consider max" in repr(status) and "delivered" in repr(status)
    with pytest.raises(ObservationError, match="round 20 was never issued"):
        ledger.show(20)
    with pytest.raises(ObservationError, match="12.*has.*outcomes"):
        ledger.cancel(12)


def test_evidence_of_the_log() -> None:
    seen = [Task(task.name, curve=task.curve, volume=task.volume, seen={"completions": 100, "reward": 2000}) for task in TASKS]
    problem = Problem(seen, budget=100, reward_max=50, environment=LAW)
    known, blank = Learner(problem), Learner(problem, ignore_seen=True)
    known.allocate()
    blank.allocate()
    assert known.weights is not None and blank.weights is not None
    assert (known.weights < 40).all() and (blank.weights == 50).all()
    status = Ledger(problem).status()
    assert status.tasks[0].seen_completions == 100 and status.tasks[0].seen_mean == 20 and "seen mean" in repr(status)
    assert Ledger(problem, ignore_seen=True).status().tasks[0].seen_completions is None
    assert Learner.from_json(known.to_json()).allocate().spend.tolist() == known.allocate().spend.tolist()
    simulated = Problem([Task(**{**vars(task), "value": 20.0}) for task in seen], budget=100, reward_max=50, environment=LAW)
    regrets = [simulate(simulated, "kl-ucb-plus", rounds=50, replications=4, ignore_seen=ignored).frame()["regret_mean"][0] for ignored in (False, True)]
    assert regrets[0] < regrets[1]


def days(count: int = 120) -> pd.DataFrame:
    """Daily counts of three channels."""
    rng = np.random.default_rng(3)
    parts = []
    for task in TASKS:
        spend = rng.uniform(5, 80, size=count).round(2)
        orders = rng.poisson(task.volume * np.asarray(task.curve(spend)))
        sales = (orders * rng.uniform(15, 25, size=count)).round(2)
        parts.append(pd.DataFrame({"day": pd.date_range("2026-06-01", periods=count), "channel": task.name, "cost": spend, "orders": orders, "sales": sales}))
    return pd.concat(parts).sample(frac=1, random_state=1).reset_index(drop=True)


def test_fitted_counts(command: Callable[..., Any], tmp_path: Path) -> None:
    log = days()
    log.to_csv(tmp_path / "log.csv", index=False)
    flags = ["--task", "channel", "--spend", "cost", "--count", "orders", "--revenue", "sales", "--date", "day", "--since", "2026-06-11"]
    out = tmp_path / "problem.json"
    expected = command("fit", str(tmp_path / "log.csv"), *flags, "--format", "json", "-o", str(out))
    columns = {"task": "channel", "spend": "cost", "count": "orders", "revenue": "sales", "date": "day"}
    found = fit(log, **columns, since="2026-06-11")
    for task, other in zip(found, expected["tasks"], strict=True):
        other["parameters"] = [tuple(one[key] for key in ("name", "value", "low", "high")) for one in other["parameters"]]
        assert {key: value for key, value in vars(task).items() if value is not None} == {k: v for k, v in other.items() if v is not None}
    assert found.problem == Problem.load(out)
    record = found.problem.to_dict()["task"][0]
    assert record["covers"] == [found.tasks[0].covers["from"], found.tasks[0].covers["to"]] and record["seen"]["completions"] > 0
    assert "rows" in found.table() and "trials" not in found.table() and "reward_max" in repr(found)
    texts = log.assign(day=log["day"].dt.strftime("%Y-%m-%d 08:00"))
    dates = log.assign(day=[day.date() for day in log["day"]])
    for other_log in (texts, dates, pl.from_pandas(log), log.to_dict("list")):
        again = fit(other_log, **columns, since=datetime.date(2026, 6, 11))
        assert again.tasks == found.tasks
    assert fit(log, **columns, until="2026-06-30").tasks[0].rows == 30
    assert found.problem.allocate().expected_completions.sum() > 10


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"success": "orders"}, "count goes with spend, and with neither success"),
        ({"reward": "sales"}, "count goes with revenue"),
        ({"count": None, "success": "orders"}, "revenue needs count"),
        ({"count": None, "revenue": None, "success": "orders"}, "row 0: orders: must be 1 or 0 .* give count in place of success"),
        ({"count": "cost"}, "cost: must be a whole number from 0 on, not"),
        ({"since": "2026-06-01"}, "since needs date"),
        ({"date": "day", "since": "1.6.2026"}, "since: must be a date such as 2026-11-18, not '1.6.2026'"),
        ({"date": "day", "since": "2026-02-30"}, "since: must be a date"),
        ({"date": "cost", "since": "2026-06-01"}, "row 0: cost: must be a date"),
        ({"date": "day", "since": "2030-01-01"}, "all 360 rows are outside the dates of since and until"),
        ({"family": "threshold"}, "family threshold cannot be fitted to counts"),
    ],
)
def test_invalid_logs_of_counts(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(FitError, match=message):
        fit(days(), **{"task": "channel", "spend": "cost", "count": "orders", "revenue": "sales", **changes})


def test_revenue_without_completions_is_an_error_with_its_row() -> None:
    log = days().sort_values("day", ignore_index=True)
    log.loc[200, ["orders", "sales"]] = [0, 12.5]
    with pytest.raises(FitError, match="row 200: sales: 12.5, but orders is 0; a row without completions has no revenue"):
        fit(log, task="channel", spend="cost", count="orders", revenue="sales", date="day", since="2026-06-20")


def test_spends_within_the_data(command: Callable[..., Any], tmp_path: Path) -> None:
    tasks = [Task(task.name, curve=task.curve, volume=task.volume, value=task.value, covers=[10, 45]) for task in TASKS]
    problem, path = Problem(tasks, budget=170, reward_max=50), str(tmp_path / "problem.toml")
    problem.save(path)
    for within in (False, True):
        flags = ["--within-data"] if within else []
        best = problem.allocate(within_data=within)
        assert best.to_dict() == command("allocate", path, *flags, "--format", "json")
        assert best.extrapolates == best.table()["extrapolates"].tolist() and any(best.extrapolates) != within
        assert ("! spends outside the log" in repr(best)) != within
    assert "extrapolates" not in PROBLEM.allocate().table() and PROBLEM.allocate().extrapolates is None
    fixed = Problem([Task("search", curve=Exponential(scale=40), value=1, min=60, covers=(10, 45))], budget=170)
    with pytest.raises(ProblemError, match="within_data: the problem bounded to the spends of its log has 1 error"):
        fixed.allocate(within_data=True)
    columns = Problem.from_arrays("exponential", budget=100, scale=[40.0, 70.0], value=1.0, volume=[30.0, 8.0])
    assert [task["volume"] for task in columns.to_dict()["task"]] == [30, 8]


@pytest.mark.parametrize("law", ["binomial", "poisson", {"law": "negative-binomial", "dispersion": 1.5}])
def test_simulated_counts(command: Callable[..., Any], tmp_path: Path, law: Any) -> None:
    problem = Problem(TASKS, budget=100, reward_max=50, environment={"completions": law})
    problem.save(tmp_path / "problem.toml")
    words = ["simulate", str(tmp_path / "problem.toml"), "--learner", "kl-ucb-plus", "--learner", "uniform", "--horizon", "60", "--replications", "3"]
    expected = command(*words, "--format", "json")
    result = simulate(problem, ["kl-ucb-plus", "uniform"], rounds=60, replications=3)
    summary = expected[0] if isinstance(expected, list) else expected
    regrets = [learner["regret"]["mean"] for learner in result.summaries[0]["learners"]]
    assert regrets == [learner["regret"]["mean"] for learner in summary["learners"]]

    class Same(Environment):
        pass

    assert simulate(problem, ["kl-ucb-plus"], rounds=60, replications=3, environment=Same).summaries[0]["learners"][0]["regret"]["mean"] == regrets[0]


class Wrong(Environment):
    completions: Any = [1.5, 0, 0]
    reward: Any = [0.0, 0.0, 0.0]

    def draw(self, round: int, spend: Any, success: Any) -> tuple[Any, Any]:
        return self.completions, self.reward


def test_custom_environments_with_counts() -> None:
    with pytest.raises(SimulationError, match="environment: draw returned 1.5 completions for task 0 in round 1"):
        simulate(PROBLEM, "kl-ucb-plus", rounds=5, replications=1, environment=Wrong)

    class TooMuch(Wrong):
        completions, reward = [3, 0, 0], [151.0, 0, 0]

    with pytest.raises(SimulationError, match="must be between 0 and 3 times reward_max 50"):
        simulate(PROBLEM, "kl-ucb-plus", rounds=5, replications=1, environment=TooMuch)


def test_bounds_compared_with_a_run(program: str, command: Callable[..., Any], tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    learners = ["--learner=kl-ucb-plus", "--learner=algorithm-1", "--learner=uniform"]
    words = ["simulate", "power", *learners, "--horizon", "500", "--replications", "4", "--out", folder]
    subprocess.run([program, *words], check=True, capture_output=True)
    expected = command("bound", "power", "--horizon", "500", "--run", folder, "--format", "json")
    assert bound("power", horizon=500, run=folder).data == expected
    result = simulate("power", ["kl-ucb-plus", "algorithm-1", "uniform"], rounds=500, replications=4)
    mine = bound("power", horizon=500, run=result)
    assert mine.data["run"]["learners"] == expected["run"]["learners"]
    assert "kl-ucb-plus on power: regret" in repr(mine)
    with pytest.raises(SimulationError, match="run: the result is a run over 500 rounds, not 400: give horizon"):
        bound("power", horizon=400, run=result)
    with pytest.raises(SimulationError, match="is a run of another problem: power"):
        bound("m-set", horizon=500, run=folder)
    with pytest.raises(OSError, match="is not the folder of a run: it has no run.json"):
        bound("power", horizon=500, run=tmp_path)


def test_scales_and_volumes_of_a_round(command: Callable[..., Any], tmp_path: Path) -> None:
    """A round with its own curves is the same from the command line, a ledger, and a learner."""
    state, problem = str(tmp_path / "state.json"), str(tmp_path / "problem.toml")
    PROBLEM.save(problem)
    command("new", state, "--problem", problem, is_json=False)
    printed = command("next", state, "--scale", "search=1.5", "--volume", "video=40", "--format", "json")
    ledger = Ledger(PROBLEM)
    issued = ledger.next(scale={"search": 1.5}, volume={"video": 40})
    assert issued.spend.tolist() == [task["spend"] for task in printed["tasks"]]
    assert Ledger.load(state).to_json() == ledger.to_json()
    for made in (issued, ledger.show(1), pickle.loads(pickle.dumps(issued))):
        assert made.scale is not None and made.scale.tolist() == [1.5, 1, 1]
        assert made.volume is not None and made.volume.tolist() == [30, 12, 40]
    curve = TASKS[0].curve
    assert isinstance(curve, Exponential)
    assert issued.success[0] == pytest.approx(float(curve(issued.spend[0] / 1.5)))
    assert issued.expected_completions[2] == pytest.approx(40 * issued.success[2])
    labelled = pd.Series([1.0, 1.5, 1.0], index=["video", "search", "social"])
    for scale, volume in (({"search": 1.5}, {"video": 40}), ([1.5, 1, 1], np.array([30.0, 12, 40])), (labelled, {"video": 40})):
        learner = Learner(PROBLEM, always_cold=True)
        assert learner.allocate(scale=scale, volume=volume).spend.tolist() == issued.spend.tolist()
    plain = Learner(PROBLEM).allocate()
    assert plain.scale is None and plain.volume is None and plain.spend.tolist() != issued.spend.tolist()
    for arguments, message in (
        ({"scale": {"serch": 2}}, "scale: .*serch.*search"),
        ({"scale": {"search": 0}}, "scale of task search: must be .*, not 0; leave out a task that has no traffic"),
        ({"volume": [1.0, 2.0]}, "volume: 2 numbers for 3 tasks; a mapping from names sets only some"),
    ):
        for ask in (Learner(PROBLEM).allocate, ledger.next):
            with pytest.raises(AllocationError, match=message):
                ask(**arguments)
    assert ledger.rounds == 1
    with pytest.raises(AllocationError, match="scale: lattimore cannot use curves that change"):
        single = Problem([Task("search", curve=Exponential(scale=40))], budget=100)
        Learner(single, "lattimore", horizon=50).allocate(scale={"search": 2.0})


def test_rewards_above_the_largest_are_clipped_and_counted() -> None:
    tasks = [Task("a", curve=Exponential(scale=40)), Task("b", curve=Exponential(scale=60))]
    refusing = Problem(tasks, budget=100, reward_max=2)
    clipping = Problem(tasks, budget=100, reward_max=2, reward_over_max="clip")
    assert (refusing.reward_over_max, clipping.reward_over_max) == ("refuse", "clip")
    arrays = Problem.from_arrays("exponential", budget=100, names=["a", "b"], scale=[40, 60], reward_max=2, reward_over_max="clip")
    assert arrays == clipping
    with pytest.raises(ProblemError, match="reward_over_max: must be refuse or clip, not cut"):
        Problem.from_arrays("exponential", budget=100, scale=[40, 60], reward_over_max="cut")
    with pytest.raises(ObservationError, match="between 0 and reward_max 2, not 2.5"):
        learner = Learner(refusing)
        learner.observe(learner.allocate(), [True, True], [2.5, 1.0])

    clipped, largest = Learner(clipping), Learner(clipping)
    for learner, reward in ((clipped, 2.5), (largest, 2.0)):
        learner.observe(learner.allocate(), [True, True], [reward, 1.0])
        learner.observe(learner.allocate(), {"a": 1}, {"a": reward})
    assert (clipped.clipped, largest.clipped) == (2, 0)
    assert Learner.from_json(clipped.to_json()).clipped == 2
    assert (clipped.allocate().spend == largest.allocate().spend).all()
    with pytest.raises(ObservationError):
        clipped.observe(clipped.allocate(), [True, True], [math.inf, 1.0])
    assert clipped.clipped == 2

    ledger = Ledger(clipping)
    assert ledger.report(ledger.next(), [True, True], [2.5, 1.0]) == (2, 0)
    assert ledger.report(1, [True, True], [2.5, 1.0]) == (0, 2)
    status = ledger.status()
    assert (status.clipped, status.gain, [task.clipped for task in status]) == (1, 3.0, [1, 0])
    assert any("1 reward above reward_max" in line for line in status.summary)

    rows = {"task": ["a", "b"] * 20, "threshold": [float(row) for row in range(40)], "reward": [9.0, 1.0] * 20}
    found = replay(clipping, rows, "kl-ucb-plus", rounds=20, replications=2)
    assert found.data["clipped"] == 20
    with pytest.raises(SimulationError, match="increase reward_max, or set reward_over_max to clip"):
        replay(refusing, rows, "kl-ucb-plus", rounds=20, replications=2)


def test_environments_may_draw_clipped_rewards() -> None:
    class Generous:
        def __init__(self, problem: Problem, seed: int) -> None:
            self.tasks = len(problem)

        def draw(self, round: int, spend: Any, success: Any) -> Any:
            return [True] * self.tasks, [9.0] * self.tasks

    tasks = [Task("a", curve=Exponential(scale=40), value=1), Task("b", curve=Exponential(scale=60), value=1)]
    clipping = Problem(tasks, budget=100, reward_max=2, reward_over_max="clip")
    found = simulate(clipping, "kl-ucb-plus", environment=Generous, rounds=5, replications=1)
    assert found is not None
    with pytest.raises(SimulationError, match="between 0 and reward_max 2"):
        simulate(Problem(tasks, budget=100, reward_max=2), "kl-ucb-plus", environment=Generous, rounds=5, replications=1)
