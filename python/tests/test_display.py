"""Representations of results: tables, notebooks, plots, pickles."""

from __future__ import annotations

import builtins
import copy
import html.parser
import pickle
import sys
from pathlib import Path
from typing import Any

import pandas
import polars
import pytest

import outlay
from outlay import Hill, Learner, MissingLibraryError, Power, Problem, Task, fit, simulate


@pytest.fixture(scope="module")
def shop(root: Path) -> Problem:
    return Problem.load(root / "examples/shop-ads.toml")


@pytest.fixture(scope="module")
def result() -> outlay.Result:
    return simulate(["power", "m-set"], ["kl-ucb-plus", "uniform"], rounds=200, replications=9, progress=False)


def test_a_split_as_a_table(root: Path) -> None:
    best = Problem.load(root / "examples/ad-channels/ad-channels.toml").allocate()
    table = best.table()
    assert isinstance(table, pandas.DataFrame) and isinstance(best.table("polars"), polars.DataFrame)
    assert list(table.columns) == ["task", "current", "spend", "share", "success", "expected_reward", "marginal_return", "return_up", "return_down", "return_on_spend", "cost_per_completion", "bound"]
    assert table["spend"].tolist() == best.spend.tolist()
    assert best.table("polars")["bound"].to_list() == best.bound == [None, None, None, "min", None, "max"]


def test_texts_are_tables(shop: Problem, result: outlay.Result) -> None:
    assert repr(shop).splitlines()[2].split()[:3] == ["search", "exponential", "concave"]
    lines = repr(shop.allocate()).splitlines()
    assert lines[0].split()[:3] == ["task", "spend", "share"] and lines[2].split()[0] == "search"
    assert lines[-1].startswith("budget 40.00 per round · value 27.98 per round · optimal (gap below 1e-12)")
    learner = Learner(shop)
    learner.observe(learner.allocate(), [True, False, False, False, False, False], [15.0, 0, 0, 0, 0, 0])
    lines = repr(learner).splitlines()
    assert lines[0].split() == ["task", "completions", "mean", "reward", "weight"]
    assert lines[2].split()[:3] == ["search", "1", "15.00"] and lines[3].split()[1] == "0"
    assert lines[-1] == "kl-ucb-plus · 1 round · 0 open · censored feedback"
    assert repr(result).count("kl-ucb-plus") == 2 and "power · 5 tasks · horizon 200 · 9 replications, seeds 1 to 9" in repr(result)
    many = Problem([Task(curve=Power(0.5), value=1.0)] * 50)
    assert "and 10 more" in repr(many.allocate()) and len(repr(many.allocate()).splitlines()) < 50


class Checker(html.parser.HTMLParser):
    """Counts cells, and rejects unclosed tags."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag in ("div", "table", "thead", "tbody", "tr", "th", "td")
        self.open.append(tag)
        self.cells += tag in ("th", "td")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_pages_of_a_notebook(shop: Problem, result: outlay.Result) -> None:
    learner = Learner(shop)
    log = {"paid": [60, 120, 240], "tried": [500] * 3, "won": [100, 250, 400]}
    things = [shop, shop.allocate(), shop.evaluate([1.0] * 6), shop.frontier(points=3), learner.allocate(), learner, result]
    things.append(fit(log, spend="paid", trials="tried", success="won", family="hill"))
    for thing in things:
        page = thing._repr_html_()  # type: ignore[attr-defined]
        checker = Checker()
        checker.feed(page)
        assert not checker.open and checker.cells > 4, type(thing)
    nasty = Problem([Task("<script>alert(1)</script>", curve=Power(0.5), value=1.0)])
    assert "<script>" not in nasty._repr_html_() + nasty.allocate()._repr_html_()


def test_frames_of_a_simulation(result: outlay.Result) -> None:
    rows = result.frame()
    assert rows["learner"].tolist() == ["kl-ucb-plus", "uniform"] * 2 and rows["problem"].tolist() == ["power"] * 2 + ["m-set"] * 2
    assert rows["share_of_even_split_regret"].tolist()[1] == 1.0
    every = result.replications("polars")
    assert every.height == 36
    assert every.filter(polars.col("learner") == "kl-ucb-plus")["regret"].to_list()[:9] == result.arrays[0][0]["regret"].tolist()
    curves = result.curves()
    assert curves.groupby(["problem", "learner"]).last()["round"].tolist() == [200] * 4


def test_a_plot(result: outlay.Result) -> None:
    axes = result.plot()
    assert [line.get_label() for line in axes.get_lines()] == ["power: kl-ucb-plus", "power: uniform", "m-set: kl-ucb-plus", "m-set: uniform"]
    assert axes.get_lines()[0].get_ydata()[-1] == result.summaries[0]["learners"][0]["regret"]["mean"]


def test_without_libraries(shop: Problem, result: outlay.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] in ("pandas", "matplotlib", *gone):
            raise ImportError(name)
        return real(name, *rest, **more)

    gone: list[str] = []
    monkeypatch.setattr(builtins, "__import__", missing)
    assert type(shop.allocate().table()).__module__.startswith("polars")
    gone.append("polars")
    with pytest.raises(MissingLibraryError, match="a table needs pandas or polars, which is not installed: pip install pandas"):
        shop.allocate().table()
    with pytest.raises(MissingLibraryError, match="a table needs polars, which is not installed: pip install polars"):
        shop.allocate().table("polars")
    with pytest.raises(MissingLibraryError, match="plot: needs matplotlib, which is not installed"):
        result.plot()
    gone.append("tqdm")
    assert simulate("power", "kl-ucb-plus", rounds=50, replications=2, progress=True).summaries


def test_problems_are_equal_to_their_copies(shop: Problem, tmp_path: Path) -> None:
    for problem in (shop, Problem.load("theorem-4"), Problem([Task("tv", curve=Hill(1, 2), max=float("inf"), exclude=True)])):
        for same in (pickle.loads(pickle.dumps(problem)), copy.copy(problem), copy.deepcopy(problem), Problem.from_json(problem.to_json())):
            assert same == problem and hash(same) == hash(problem)
        for name in ("problem.toml", "problem.json"):
            problem.save(tmp_path / name)
            assert Problem.load(tmp_path / name) == problem
        assert pickle.loads(pickle.dumps(problem)).source() == problem.source()
    assert shop != Problem.load("theorem-4") and shop != 3


def test_every_key_of_a_problem_file() -> None:
    written = Problem.from_toml(
        """
        budget = 100.0
        horizon = 500
        reward_max = 2.0
        leftover = "spend"
        [environment]
        budget = { law = "sine", mean = 100.0, amplitude = 20.0, period = 7.0 }
        delay = { law = "geometric", mean = 3.0 }
        available = 0.95
        [[task]]
        name = "a"
        curve = { family = "steps", at = [1.0, 2.0], success = [0.25, 0.5] }
        value = 0.6
        reward = { law = "beta", mean = 0.6, concentration = 4.0 }
        at_least = 2.0
        max = 50.0
        current = 8.0
        [[task]]
        name = "b"
        curve = { family = "piecewise", spend = [0.0, 9.0], success = [0.1, 0.5], floor = 0.05 }
        fixed = 4.0
        [[task]]
        name = "c"
        curve = { family = "empirical", samples = [3.0, 1.0, 2.0] }
        exclude = true
        [[task]]
        name = "d"
        curve = { family = "saturating", full_at = 3.0 }
        min = 1.0
        """
    )
    made = Problem(
        [
            Task(
                "a",
                curve=outlay.Steps(at=[1.0, 2.0], success=[0.25, 0.5]),
                value=0.6,
                reward={"law": "beta", "mean": 0.6, "concentration": 4.0},
                at_least=2.0,
                max=50.0,
                current=8.0,
            ),
            Task("b", curve=outlay.Piecewise(spend=(0.0, 9.0), success=(0.1, 0.5), floor=0.05), fixed=4.0),
            Task("c", curve=outlay.Empirical(samples=[3.0, 1.0, 2.0]), exclude=True),
            Task("d", curve=outlay.Saturating(full_at=3.0), min=1.0),
        ],
        budget=100.0,
        horizon=500,
        reward_max=2.0,
        leftover="spend",
        environment={
            "budget": {"law": "sine", "mean": 100.0, "amplitude": 20.0, "period": 7.0},
            "delay": {"law": "geometric", "mean": 3.0},
            "available": 0.95,
        },
    )
    assert made == written
    assert (made.budget, made.horizon, made.reward_max, made.leftover, len(made)) == (100.0, 500, 2.0, "spend", 4)


def test_numpy_is_not_imported_before_it_is_needed() -> None:
    import subprocess

    code = "import sys, outlay; sys.exit(any(name in sys.modules for name in ('numpy', 'pandas', 'polars', 'matplotlib', 'tqdm')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
