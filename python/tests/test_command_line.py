"""Python, the command line and the service give bit-identical answers."""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from outlay import Learner, Problem, simulate
from outlay.display import frontier_splits
from outlay.fitting import fit

FILES = [
    "examples/shop-ads.toml",
    "examples/ad-channels/ad-channels.toml",
    "examples/training-jobs.toml",
    "examples/many-tasks.toml",
    "examples/m-set.toml",
    "examples/repairs.toml",
    "examples/llm-compute/llm-compute.toml",
    "examples/auctions/auctions.toml",
]
INSTANCES = ["power:tasks=12", "square-roots", "m-set", "k-armed", "saturating-jobs", "theorem-2", "theorem-4", "unknown-thresholds"]
Command = Callable[..., Any]


def load(root: Path, name: str) -> Problem:
    return Problem.load(root / name if name.startswith("examples") else name)


def given_values(problem: Problem) -> list[float]:
    """Arbitrary values for problems without values."""
    return [value if value is not None else round(0.1 + 0.8 * ((7 * place) % 11) / 11, 3) for place, value in enumerate(problem.values)]


def flag(values: list[float]) -> str:
    return ",".join(repr(value) for value in values)


@pytest.mark.parametrize("name", FILES + INSTANCES)
def test_splits(root: Path, command: Command, name: str) -> None:
    problem = load(root, name)
    values = given_values(problem)
    words = ["allocate", name, "--values", flag(values), "--format", "json"]
    assert problem.allocate(values).to_dict() == command(*words)
    budget = problem.budget * 0.7321
    if sum(task.get("min", 0.0) for task in problem.to_dict()["task"]) <= budget:
        assert problem.allocate(values, budget).to_dict() == command(*words, "--budget", repr(budget))
    unit = problem.budget / 64
    rounded = command(*words, "--round", repr(unit))
    if isinstance(rounded, str):
        with pytest.raises(ValueError) as refusal:
            problem.allocate(values, round=unit)
        assert str(refusal.value) == rounded
    else:
        assert problem.allocate(values, round=unit).to_dict() == rounded
    loose = problem.allocate(values, tolerance=0.01, leftover="spend").to_dict()
    assert loose == command(*words, "--tolerance", "0.01", "--leftover", "spend")


@pytest.mark.parametrize("name", FILES + INSTANCES)
def test_frontiers_and_plans(root: Path, command: Command, name: str, tmp_path: Path) -> None:
    problem = load(root, name)
    values = given_values(problem)
    points = problem.frontier(values, points=7)
    keys = ("budget", "value", "upper_bound", "gap", "price", "status", "unspent", "unspent_reason")
    told = command("frontier", name, "--values", flag(values), "--points", "7", "--format", "json")["points"]
    rows = [row for point in told for row in point.pop("tasks")]
    assert [{key: getattr(point, key) for key in keys} for point in points] == told
    splits = frontier_splits(points)
    finite = {key: [None if cell == math.inf else cell for cell in splits[key]] for key in rows[0]}
    assert [dict(zip(finite, cells)) for cells in zip(*finite.values())] == rows
    plan = [problem.budget / len(problem)] * len(problem)
    file = tmp_path / "plan.csv"
    with open(file, "w", newline="") as text:
        csv.writer(text).writerows([["task", "spend"], *zip(problem.names, map(repr, plan))])
    printed = command("evaluate", name, "--plan", str(file), "--values", flag(values), "--format", "json")
    found = problem.evaluate(plan, values)
    assert printed["plan"] == {"total": found.total, "value": found.value, "violations": found.violations}
    assert (printed["best"]["lift"], printed["best"]["relative_lift"]) == (found.lift, found.relative_lift)
    assert printed["best"]["value"] == found.best.value and printed["best"]["upper_bound"] == found.best.upper_bound
    assert [row["move"] for row in printed["tasks"]] == found.moves.tolist()


def drawn(problem: Problem, success: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Made-up outcomes of a round."""
    completed = rng.uniform(size=len(problem)) < success
    reward = np.where(completed, (rng.uniform(size=len(problem)) * problem.reward_max).round(4), 0.0)
    return completed, reward


@pytest.mark.parametrize(
    ("name", "learner"),
    [
        ("examples/shop-ads.toml", "kl-ucb-plus"),
        ("examples/ad-channels/ad-channels.toml", "thompson"),
        ("examples/m-set.toml", "cucb"),
        ("examples/training-jobs.toml", "epsilon-greedy:epsilon=0.3"),
        ("power", "algorithm-1"),
        ("power", "uniform"),
        ("saturating-jobs", "lattimore"),
    ],
)
def test_the_daily_loop(root: Path, command: Command, tmp_path: Path, name: str, learner: str) -> None:
    problem = load(root, name)
    mine = Learner(problem, learner, horizon=50, seed=3, always_cold=True)
    state = str(tmp_path / "state.json")
    command("new", state, "--problem", name, "--learner", learner, "--horizon", "50", "--seed", "3", is_json=False)
    rng = np.random.default_rng(11)
    for number in range(12):
        budget = problem.budget * (1.0 if number % 3 else 1.25)
        without = [problem.names[1]] if number % 4 == 3 else []
        printed = command("next", state, "--budget", repr(budget), *(f"--without={task}" for task in without), "--format", "json")
        mask = [task not in without for task in problem.names]
        round = mine.allocate(budget, mask if without else None)
        assert round.round == printed["round"]
        spends = {task["task"]: task["spend"] for task in printed["tasks"]}
        assert {task: spend for task, spend in zip(round.names, round.spend.tolist()) if task not in without} == spends
        completed, reward = drawn(problem, round.success, rng)
        mine.observe(round, completed, reward)
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["round", "task", "completed", "reward"])
        for place, task in enumerate(problem.names):
            if task not in without:
                rows.writerow([round.round, task, int(completed[place]), repr(float(reward[place])) if completed[place] else ""])
        assert isinstance(command("tell", state, "-", "--format", "json", stdin=text.getvalue()), dict)


@pytest.fixture(scope="module")
def service(program: str) -> Iterator[str]:
    running = subprocess.Popen(
        [program, "serve", "--memory", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert running.stdout is not None
        line = running.stdout.readline()
        yield "http://" + line.strip().split("http://")[1].rstrip("/")
    finally:
        running.terminate()
        running.wait(30)


def ask(method: str, url: str, body: Any) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


@pytest.mark.parametrize(
    ("name", "learner"),
    [("examples/shop-ads.toml", "kl-ucb-plus"), ("examples/ad-channels/ad-channels.toml", "kl-ucb-plus:c=2"), ("power", "algorithm-1"), ("m-set", "thompson")],
)
def test_the_service(root: Path, service: str, name: str, learner: str) -> None:
    """The service solves every split cold, like a learner with `always_cold`."""
    problem = load(root, name)
    mine = Learner(problem, learner, horizon=50, seed=4, always_cold=True)
    campaign = f"{service}/v1/campaigns/{Path(name).stem}"
    ask("PUT", campaign, {"problem": problem.to_dict(), "learner": learner, "horizon": 50, "seed": 4})
    rng = np.random.default_rng(12)
    for number in range(10):
        budget = problem.budget * (1.0 if number % 2 else 1.5)
        printed = ask("POST", f"{campaign}/rounds", {"budget": budget})
        round = mine.allocate(budget)
        assert [round.round] == printed["rounds"]
        assert round.spend.tolist() == [task["spend"] for task in printed["tasks"]]
        completed, reward = drawn(problem, round.success, rng)
        mine.observe(round, completed, reward)
        results = [
            {"task": task, "completed": bool(done), **({"reward": float(brought)} if done else {})}
            for task, done, brought in zip(problem.names, completed, reward)
        ]
        ask("PUT", f"{campaign}/rounds/{round.round}/feedback", {"results": results})


def test_the_service_splits(root: Path, service: str) -> None:
    for name in FILES[:2] + ["m-set"]:
        problem = load(root, name)
        printed = ask("POST", f"{service}/v1/allocate", {"problem": problem.to_dict(), "budget": problem.budget * 0.9})
        best = problem.allocate(budget=problem.budget * 0.9)
        assert [task["spend"] for task in printed["tasks"]] == best.spend.tolist()
        assert (printed["value"], printed["upper_bound"], printed["price"]) == (best.value, best.upper_bound, best.price)


@pytest.mark.parametrize(
    ("name", "learners", "more"),
    [
        ("examples/shop-ads.toml", ["kl-ucb-plus", "algorithm-1", "uniform"], {}),
        ("theorem-4", ["kl-ucb-plus", "grid-ucb", "oful"], {}),
        ("m-set", ["full", "thompson"], {"feedback": "full"}),
        ("power", ["kl-ucb-plus", "lattimore"], {"seed": 100}),
    ],
)
def test_simulations(root: Path, command: Command, name: str, learners: list[str], more: dict[str, Any]) -> None:
    words = ["simulate", name, "--horizon", "300", "--replications", "11", "--format", "json", "--quiet"]
    words += [word for learner in learners for word in ("--learner", learner)]
    words += [word for key, value in more.items() for word in (f"--{key}", str(value))]
    result = simulate(load(root, name), learners, rounds=300, replications=11, progress=False, **more)
    assert result.summaries[0] == command(*words)


def test_a_grid(root: Path, command: Command) -> None:
    words = ["--learner", "kl-ucb-plus", "--horizon", "200", "--replications", "5", "--format", "json", "--quiet"]
    printed = command("simulate", "m-set:plays=2", "--grid", "tasks=3,5", *words)
    assert simulate("m-set:plays=2", "kl-ucb-plus", rounds=200, replications=5, grid={"tasks": [3, 5]}, progress=False).summaries == printed["runs"]
    # The scale of a power curve follows the budget, if the file says so.
    printed = command("simulate", "examples/shop-ads.toml", "--grid", "budget=20,60", *words)
    found = simulate(root / "examples/shop-ads.toml", "kl-ucb-plus", rounds=200, replications=5, grid={"budget": [20, 60]}, progress=False)
    assert found.summaries == printed["runs"]


def test_fits(root: Path, command: Command) -> None:
    keys = ("trials", "successes", "family", "curve", "log_loss", "constant_log_loss", "calibration", "value", "value_error", "reason", "warnings")

    def same(found: Any, printed: Any) -> None:
        assert [task["task"] for task in printed["tasks"]] == [task.task for task in found.tasks]
        for mine, theirs in zip(found.tasks, printed["tasks"]):
            assert {key: getattr(mine, key) for key in keys} == {key: theirs[key] for key in keys}
            assert [dict(zip(("name", "value", "low", "high"), one)) for one in mine.parameters] == theirs["parameters"]
        assert (found.problem.budget, found.problem.reward_max) == (printed["budget"], printed["reward_max"])

    def columns(name: str) -> dict[str, list[str]]:
        with open(root / "examples/data" / name, newline="") as file:
            rows = list(csv.DictReader(file))
        return {title: [row[title] for row in rows] for title in rows[0]}

    def numbers(cells: list[str]) -> list[float]:
        return [float(cell) if cell else float("nan") for cell in cells]

    log: dict[str, Any] = columns("ads_log.csv")
    log |= {title: numbers(log[title]) for title in ("spend", "hours", "wins", "order")}
    words = "--task channel --spend spend --trials hours --success wins --reward order --budget 40".split()
    printed = command("fit", "examples/data/ads_log.csv", *words, "--format", "json", "--quiet")
    same(fit(log, task="channel", spend="spend", trials="hours", success="wins", reward="order", budget=40.0), printed)

    prices: dict[str, Any] = columns("ebay_closing_prices.csv")
    prices["closing_price"] = numbers(prices["closing_price"])
    words = ["--task", "item,days", "--threshold", "closing_price"]
    printed = command("fit", "examples/data/ebay_closing_prices.csv", *words, "--format", "json", "--quiet")
    same(fit(prices, task=["item", "days"], threshold="closing_price"), printed)
