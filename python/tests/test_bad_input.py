"""Invalid input: its exceptions and messages, which are those of the command line where it
applies."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlay import (
    AllocationError,
    Empirical,
    FileError,
    FitError,
    Hill,
    Learner,
    LearnerError,
    Logistic,
    MissingLibraryError,
    ObservationError,
    OutlayError,
    Piecewise,
    Power,
    Problem,
    ProblemError,
    SimulationError,
    StateError,
    Steps,
    Task,
    Threshold,
    fit,
    simulate,
)
from outlay.display import frame

Command = Callable[..., Any]


def two() -> Problem:
    return Problem([Task("tv", curve=Hill(120.0, 2.5), value=0.6), Task("web", curve=Power(0.5), value=0.4)], budget=1000.0)


def unknown() -> Problem:
    return Problem([Task("tv", curve=Hill(120.0, 2.5)), Task("web", curve=Power(0.5))], budget=1000.0, reward_max=2.0)


def needy() -> Problem:
    return Problem([Task("tv", curve=Hill(120.0, 2.5), value=1.0, min=60.0), Task("web", curve=Power(0.5), value=1.0, min=50.0)], budget=200.0)


def task(**keys: Any) -> Callable[[], Problem]:
    return lambda: Problem([Task("tv", **({"curve": Hill(1.0, 2.0)} | keys))])


def problem(**keys: Any) -> Callable[[], Problem]:
    return lambda: Problem([Task("tv", curve=Hill(1.0, 2.0))], **keys)


PROBLEMS: list[tuple[Callable[[], Any], list[str]]] = [
    (lambda: Problem([]), ["task: "]),
    (task(curve=None), ["task[0].curve: is missing: every task needs one"]),
    (task(curve=Hill(-1.0, 0.0)), ["task[0].curve.half_at: must be positive and finite, not -1", "task[0].curve.steepness: "]),
    (task(curve=Hill(math.nan, 2.0)), ["task[0].curve.half_at: must be finite, not nan"]),
    (task(curve=Hill(math.inf, math.nan)), ["task[0].curve.half_at: must be finite, not inf", "task[0].curve.steepness: must be finite, not nan"]),
    (task(curve=Hill("wide", 2.0)), ["task[0].curve.half_at: must be a number"]),  # type: ignore[arg-type]
    (task(curve=Hill(object(), 2.0)), ["task[0].curve.half_at: must be a number, a text or a list, not a object"]),  # type: ignore[arg-type]
    (task(curve=Power(1.5)), ["task[0].curve.exponent: "]),
    (task(curve=Power(0.5, ceiling=2.0, floor=-1.0)), ["task[0].curve.ceiling: must be above 0 and at most 1, not 2", "task[0].curve.floor: "]),
    (task(curve=Logistic(1.0, 0.0)), ["task[0].curve.width: must be positive and finite, not 0"]),
    (task(curve=Threshold(-3.0)), ["task[0].curve.at: "]),
    (task(curve=Steps([1.0, 1.0], [0.5, 0.6])), ["task[0].curve.at"]),
    (task(curve=Piecewise([1.0, 2.0], [0.5, 0.6])), ["task[0].curve.spend"]),
    (task(curve=Piecewise([0.0, 2.0], [0.5, 0.4])), ["task[0].curve.success"]),
    (task(curve=Empirical()), ["task[0].curve"]),
    (task(curve=Empirical(samples=[])), ["task[0].curve.samples"]),
    (task(curve=Empirical(file="nowhere.csv", column="price")), ["task[0].curve.file: "]),
    (task(curve={"family": "hil", "half_at": 1.0}), ["task[0].curve.family: "]),
    (task(curve={"family": "hill", "half_att": 1.0, "steepness": 2.0}), ["task[0].curve: unknown key `half_att`: did you mean `half_at`?", "task[0].curve.half_at: is missing"]),
    (task(curve={"family": "custom"}), ["task[0].curve.family: `custom` is a function, for Rust and Python only"]),
    (task(min=2.0, max=1.0), ["task[0]"]),
    (task(min=-1.0), ["task[0].min: "]),
    (task(fixed=0.5, max=1.0), ["task[0]"]),
    (task(value=-1.0), ["task[0].value: "]),
    (task(reward={"law": "normal"}), ["task[0].reward.law: "]),
    (task(reward={"law": "bernoulli", "mean": 3.0}), ["task[0].reward.mean: "]),
    (problem(budget=-1.0), ["budget: "]),
    (problem(budget=math.nan), ["budget: must be finite, not nan"]),
    (problem(budget="much"), ["budget: must be a number"]),
    (problem(horizon=0), ["horizon: "]),
    (problem(reward_max=0.0), ["reward_max: "]),
    (problem(leftover="burn"), ["leftover: "]),
    (problem(environment={"delay": {"law": "constant", "rounds": -1}}), ["environment.delay.rounds: "]),
    (problem(environment={"weather": 1}), ["environment: unknown key `weather`"]),
    (lambda: Problem([Task("tv", curve=Power(0.5)), Task("tv", curve=Power(0.5))]), ["task[1].name: `tv` is already the name of task[0]: names must differ"]),
    (lambda: Problem([Task("a", curve=Power(0.5), min=0.75), Task("b", curve=Power(0.5), min=0.5)]), ["budget: min adds up to 1.25, more than the budget 1: a 0.75, b 0.5"]),
    (lambda: Problem({"file": "nowhere.csv"}), ["tasks.file: "]),
    (lambda: Problem.from_toml("budget = "), ["line 1"]),
    (lambda: Problem.from_json("{"), ["line 1"]),
]


@pytest.mark.parametrize(("make", "starts"), PROBLEMS)
def test_problems(make: Callable[[], Any], starts: list[str]) -> None:
    with pytest.raises(ProblemError) as refusal:
        make()
    error = refusal.value
    count = "1 error" if len(starts) == 1 else f"{len(starts)} errors"
    head, *lines = str(error).split("\n  ")
    assert head == f"the problem has {count}"
    assert len(lines) == len(starts) == len(error.errors)
    for line, start, (path, message) in zip(lines, starts, error.errors):
        assert line.startswith(start) and line == f"{path}: {message}"


REFUSALS: list[tuple[type[OutlayError], Callable[[], Any], str]] = [
    # Files and names.
    (FileError, lambda: Problem.load("nowhere.toml"), "cannot read nowhere.toml: no such file"),
    (FileError, lambda: Problem.load("."), "cannot read .: it is a directory"),
    (ProblemError, lambda: Problem.load("m-set:tasks=0"), "instance `m-set:tasks=0`: tasks must be a whole number"),
    (ProblemError, lambda: Problem.load("m-set").with_number("pairs", 3), "instance `m-set:pairs=3`: unknown parameter `pairs`"),
    (ProblemError, lambda: two().with_number("task[9].value", 1.0), "the problem has 1 error\n  task[9].value: task has 2 entries, counted from 0"),
    (FileError, lambda: two().save("no/such/folder/problem.toml"), "cannot write no/such/folder/problem.toml: "),
    # Splits.
    (AllocationError, lambda: two().allocate([1.0]), "values: 1 numbers for 2 tasks; a mapping from names sets only some"),
    (AllocationError, lambda: two().allocate([1.0, -1.0]), "values[1]: must be finite and not negative, not -1"),
    (AllocationError, lambda: two().allocate([math.nan, 1.0]), "values[0]: must be finite and not negative, not NaN"),
    (AllocationError, lambda: two().allocate([[1.0, 2.0]]), "values: must be a list of numbers"),
    (AllocationError, lambda: two().allocate("tv"), "values: must be a list of numbers"),
    (AllocationError, lambda: two().allocate({"tvv": 1.0}), "values: no task is named tvv; did you mean tv?"),
    (AllocationError, lambda: two().allocate({"radio": 1.0}), "values: no task is named radio"),
    (AllocationError, lambda: two().allocate({"tv": -1.0}), "values: tv=-1 must be finite and not negative"),
    (AllocationError, lambda: two().allocate({"tv": "much"}), "values: tv is not a number"),
    (AllocationError, lambda: unknown().allocate(), "no value for tv, web: give value, reward.mean, or values"),
    (AllocationError, lambda: two().allocate(budget=-1.0), "budget: must be finite and not negative, not -1"),
    (AllocationError, lambda: two().allocate(budget=math.inf), "budget: must be finite and not negative, not inf"),
    (AllocationError, lambda: two().allocate(tolerance=-1.0), "tolerance: must be at least 0, not -1"),
    (AllocationError, lambda: two().allocate(leftover="burn"), "leftover: must be keep or spend, not burn"),
    (AllocationError, lambda: two().allocate(round=0.0), "unit: must be positive and finite, not 0"),
    (AllocationError, lambda: needy().allocate(budget=100.0), "infeasible: lower bounds need 110, but the budget is 100 (largest: tv 60, web 50)"),
    # Plans and other budgets.
    (AllocationError, lambda: two().evaluate(), "no plan: give plan, or current for tv, web"),
    (AllocationError, lambda: two().evaluate([1.0]), "plan: 1 spends for 2 tasks"),
    (AllocationError, lambda: two().evaluate([1.0, -2.0]), "plan: the spend of web must be finite and not negative, not -2"),
    (AllocationError, lambda: two().evaluate({"tv": 1.0}), "plan: no spend for web: give every task, with spend 0 if it gets nothing"),
    (AllocationError, lambda: two().evaluate({"tv": 1.0, "webb": 1.0}), "plan: no task is named webb; did you mean web?"),
    (AllocationError, lambda: two().frontier(start=5.0, end=5.0), "start 5 must be less than end 5"),
    (AllocationError, lambda: two().frontier(points=1), "points: must be between 2 and 10000, not 1"),
    # Learners.
    (LearnerError, lambda: Learner(two(), "kl-ucb-plsu"), "learner `kl-ucb-plsu`: "),
    (LearnerError, lambda: Learner(two(), "kl-ucb-plus:c=0"), "learner `kl-ucb-plus:c=0`: c must be a number between 0.5 and 100"),
    (LearnerError, lambda: Learner(two(), "algorithm-1"), "learner `algorithm-1`: must know the horizon: give the number of rounds, or take `kl-ucb-plus`"),
    (LearnerError, lambda: Learner(two(), "kl-ucb-plus", feedback="bandit"), "learner `kl-ucb-plus`: needs censored feedback, but would get only bandit feedback"),
    (LearnerError, lambda: Learner(two(), feedback="all"), "unknown feedback `all`: expected one of `censored`, `full`, `bandit`"),
    (LearnerError, lambda: Learner(two(), max_change=-1.0), "max_change"),
    (LearnerError, lambda: Learner(two(), "uniform", floor=1.0), "guards: uniform chooses its allocation itself"),
    (AllocationError, lambda: Learner(two()).allocate(-1.0), "budget: must be finite and not negative, not -1"),
    (AllocationError, lambda: Learner(needy()).allocate(mask=[False, True]), "task tv is not available in round 1, but its spend must be at least 60"),
    (ObservationError, lambda: Learner(two()).allocate(mask=[True]), "available: 1 entries for 2 tasks"),
    (ObservationError, lambda: Learner(two()).allocate(mask=[0.5, 1.0]), "mask[0]: must be true or false (or 1, 0), not 0.5"),
    (StateError, lambda: Learner.from_json("nonsense"), "state: is not JSON: "),
    (FileError, lambda: Learner.load("nowhere.json"), "cannot read nowhere.json: no such file"),
    # Simulations.
    (SimulationError, lambda: simulate([]), "no problem: give one, or several"),
    (FileError, lambda: simulate("nowhere"), "cannot read nowhere: no such file"),
    (SimulationError, lambda: simulate(unknown(), "kl-ucb-plus"), "problem-1: task tv: has neither `reward` nor `value`: a simulation must draw"),
    (LearnerError, lambda: simulate("power", "kl-ucb-plsu"), "power: learner `kl-ucb-plsu`: "),
    (LearnerError, lambda: simulate("power", ["full"], feedback="censored"), "power: learner `full`: needs full feedback, but would get only censored feedback"),
    (SimulationError, lambda: simulate("power", ["kl-ucb-plus", "kl-ucb-plus"]), "power: learner kl-ucb-plus is given twice"),
    (SimulationError, lambda: simulate("power", []), "power: an experiment needs at least one problem, one learner and one replication"),
    (SimulationError, lambda: simulate("power", rounds=0), "rounds: must be a whole number of at least 1, not 0"),
    (SimulationError, lambda: simulate("power", rounds=1.5), "rounds: must be a whole number of at least 1, not 1.5"),  # type: ignore[arg-type]
    (SimulationError, lambda: simulate("power", replications=0), "replications: must be a whole number of at least 1, not 0"),
    (SimulationError, lambda: simulate("power", seed=-1), "seed: must be a whole number of at least 0, not -1"),
    (SimulationError, lambda: simulate([two(), "power", "power"]), "two problems have the same name: give a mapping from names to problems"),
    (SimulationError, lambda: simulate("power", grid={"tasks": [2], "x": [3]}), "grid: must be one parameter with its values, not 2"),
    (SimulationError, lambda: simulate("power", rounds=5, grid={"horizon": [2]}), "the horizon is given twice: by a grid and as rounds; leave one out"),
    (ProblemError, lambda: simulate("power", grid={"pairs": [2]}), "instance `power:pairs=2`: unknown parameter `pairs`"),
    (ProblemError, lambda: simulate("theorem-2", rounds=2), "theorem-2: instance `theorem-2`: needs a horizon of at least 4 rounds, not 2"),
    # Fits.
    (FitError, lambda: fit({"s": [1.0]}, spend="s"), "spend needs success, the column of whether it succeeded"),
    (FitError, lambda: fit({"s": [1.0]}), "give spend, the column of what was spent, or threshold"),
    (FitError, lambda: fit({"s": [1.0]}, spend="s", threshold="s"), "give spend, the column of what was spent, or threshold"),
    (FitError, lambda: fit({"s": [1.0]}, spend="x", success="s"), "no column x; spend names it, this has s"),
    (FitError, lambda: fit([1.0], spend="x", success="s"), "data: must be a data frame, or a mapping from column names to arrays"),
    (FitError, lambda: fit({"s": [1.0], "w": [1.0, 0.0]}, spend="s", success="w"), "w: 2 rows, but s has 1"),
    (FitError, lambda: fit({"s": [1.0], "w": ["x"]}, spend="s", success="w"), "w: must be numbers: "),
    (FitError, lambda: fit({"s": [[1.0]], "w": [1]}, spend="s", success="w"), "s: must be a column, not an array of 2 dimensions"),
    (FitError, lambda: fit({"s": [], "w": []}, spend="s", success="w"), "the log has no rows: there is nothing to fit"),
    (FitError, lambda: fit({"s": [-1.0, 2.0], "w": [1, 3]}, spend="s", success="w"), "the log has 2 errors\n  row 0: s: must be finite and not negative, not -1\n  row 1: w: must be 1 or 0 (or true, false), not 3"),
    (FitError, lambda: fit({"s": [1.0], "w": [3], "n": [2]}, spend="s", success="w", trials="n"), "the log has 1 error\n  row 0: w: 3 is more than n = 2"),
    (FitError, lambda: fit({"s": [1.0], "w": [0.5], "n": [2]}, spend="s", success="w", trials="n"), "the log has 1 error\n  row 0: w: must be a whole number from 0 on, not 0.5"),
    (FitError, lambda: fit({"s": [1.0], "w": [1], "r": [math.nan]}, spend="s", success="w", reward="r"), "the log has 1 error\n  row 0: r: must be finite and not negative, not NaN"),
    (FitError, lambda: fit({"s": [1.0], "w": [1], "t": [None]}, spend="s", success="w", task="t"), "row 0: t: is empty; every row needs its task"),
    (FitError, lambda: fit({"s": [1.0], "w": [1], "t": ["a\nb"]}, spend="s", success="w", task="t"), "row 0: t: must be one line without control characters"),
    (FitError, lambda: fit({"s": [1.0], "w": [1]}, spend="s", success="w", family="hil"), "family: must be auto, power, "),
    (FitError, lambda: fit({"s": [1.0], "w": [1]}, spend="s", success="w", family="empirical"), "family empirical needs threshold"),
    (FitError, lambda: fit({"s": [1.0]}, threshold="s", family="hill"), "threshold tells what success needed: its curve is empirical; leave family out"),
    (FitError, lambda: fit({"s": [1.0]}, threshold="s", ceiling=True), "threshold goes with neither trials, ceiling nor floor"),
    (FitError, lambda: fit({"s": [1.0], "w": [1]}, spend="s", success="w", folds=1), "folds: must be between 2 and 100, not 1"),
    (FitError, lambda: fit({"s": [1.0], "w": [1]}, spend="s", success="w", budget=0.0), "budget: must be positive and finite, not 0"),
    (FitError, lambda: fit({"s": [1.0], "w": [1]}, spend="s", success="w", reward_max=1.0), "reward_max needs reward, the column of a success's reward"),
    (FitError, lambda: fit({"s": [1.0], "w": [1], "r": [5.0]}, spend="s", success="w", reward="r", reward_max=1.0), "reward_max 1 is less than the largest reward in the log, 5"),
    (FitError, lambda: fit({"s": [0.0], "w": [0]}, spend="s", success="w"), "every spend is zero: give the budget of one round"),
    # Data frames.
    (MissingLibraryError, lambda: frame({}, "arrow"), "library: must be pandas or polars, not arrow"),
]


@pytest.mark.parametrize(("kind", "do", "start"), REFUSALS, ids=range(len(REFUSALS)))
def test_refusals(kind: type[OutlayError], do: Callable[[], Any], start: str) -> None:
    with pytest.raises(OutlayError) as refusal:
        do()
    assert str(refusal.value).startswith(start)
    assert type(refusal.value) is kind and "\n\n" not in str(refusal.value)


OBSERVATIONS: list[tuple[dict[str, Any], str]] = [
    ({}, "observe: give completed and reward, or gain"),
    ({"completed": [True, True], "gain": 1.0}, "observe: give completed and reward, or gain, not both"),
    ({"gain": 1.0}, "this learner needs the outcome of each task, not the gain of a round"),
    ({"completed": [True]}, "completed: 1 entries for 2 tasks"),
    ({"completed": [True, False], "reward": [1.0]}, "reward: 1 entries for 2 tasks"),
    ({"completed": [True, False]}, "task tv completed, but its reward is missing: give its reward, or 0"),
    ({"completed": [True, False], "reward": [math.nan, 0.0]}, "task tv completed, but its reward is missing: give its reward, or 0"),
    ({"completed": [True, False], "reward": [2.5, 0.0]}, "reward of tv: must be between 0 and reward_max 2, not 2.5"),
    ({"completed": [True, False], "reward": [-0.5, 0.0]}, "reward of tv: must be between 0 and reward_max 2, not -0.5"),
    ({"completed": [True, False], "reward": [1.0, 1.0]}, "task web failed, but has the reward 1: only a success shows its reward"),
    ({"completed": [2, 0], "reward": [1.0, 0.0]}, "completed[0]: must be true or false (or 1, 0), not 2"),
    ({"completed": "yes"}, "completed: must be a list of true and false"),
    ({"completed": [True, False], "reward": "much"}, "reward: must be a list of numbers"),
    ({"completed": {"tvv": True}}, "completed: no task is named tvv; did you mean tv?"),
    ({"completed": {"tv": 0.5}}, "completed: tv must be true or false (or 1, 0)"),
    ({"completed": {"tv": True}}, "task tv completed, but its reward is missing: give its reward, or 0"),
    ({"completed": {"tv": True}, "reward": [1.0, 0.0]}, "reward: must be a mapping from names, as completed is"),
    ({"completed": {"tv": True}, "reward": {"web": 1.0}}, "task web has a reward, but completed does not name it"),
    ({"completed": {"tv": True}, "reward": {"tv": "much"}}, "reward of tv: is not a number"),
    ({"completed": {"tv": False}, "reward": {"tv": 1.0}}, "task tv failed, but has the reward 1: only a success shows its reward"),
    ({"round": 2, "completed": [False, False]}, "round 2 is not open: it was never issued, or all its outcomes have been reported"),
    ({"round": "first", "completed": [False, False]}, "round: must be a Round, or its number from 1 on"),
    ({"round": -1, "completed": [False, False]}, "round: must be a Round, or its number from 1 on"),
]


@pytest.mark.parametrize(("outcomes", "message"), OBSERVATIONS, ids=range(len(OBSERVATIONS)))
def test_observations(outcomes: dict[str, Any], message: str) -> None:
    learner = Learner(unknown())
    handed_out = learner.allocate()
    before = learner.state()
    with pytest.raises(ObservationError) as refusal:
        learner.observe(outcomes.get("round", handed_out), **{key: value for key, value in outcomes.items() if key != "round"})
    assert str(refusal.value) == message
    assert learner.state() == before, "a refused observation changed the state"


def test_observations_of_many_and_of_gains() -> None:
    learner = Learner(unknown())
    rounds = [learner.allocate(), learner.allocate()]
    with pytest.raises(ObservationError, match="completed: 2 rounds and 2 tasks need a matrix of that shape, not 1 by 2"):
        learner.observe_many(rounds, [[True, True]])
    with pytest.raises(ObservationError, match="completed: must be a matrix"):
        learner.observe_many(rounds, [True, True])
    blind = Learner(unknown(), "uniform")
    handed_out = blind.allocate()
    with pytest.raises(ObservationError, match="gain: must be between 0 and 2, not 3.5"):
        blind.observe(handed_out, gain=7.0)
    with pytest.raises(ObservationError, match="needs the gain of a round, not the outcome of a task"):
        blind.observe(handed_out, {"tv": True}, {"tv": 1.0})


def test_a_repeated_report() -> None:
    learner = Learner(unknown())
    handed_out = learner.allocate()
    learner.observe(handed_out, {"tv": False})
    with pytest.raises(ObservationError, match="the outcome of task tv in round 1 has already been reported"):
        learner.observe(handed_out, {"tv": True}, {"tv": 1.0})


def test_the_command_line_has_the_same_messages(root: Path, command: Command) -> None:
    def refusal(do: Callable[[], Any]) -> str:
        with pytest.raises(OutlayError) as error:
            do()
        return str(error.value)

    def load(name: str) -> Problem:
        return Problem.load(name)

    assert refusal(lambda: load("docs/reference/mistakes.toml")) == command("check", "docs/reference/mistakes.toml")
    assert refusal(lambda: load("nowhere.toml")) == command("check", "nowhere.toml")
    assert refusal(lambda: load("docs")) == command("check", "docs")
    assert refusal(lambda: load("theorem-4:gap=-1")) == command("check", "theorem-4:gap=-1")
    shop = Problem.load(root / "examples/shop-ads.toml")
    for learner in ("kl-ucb-plsu", "kl-ucb-plus:c=0", "epsilon-greedy:epsilon=2", "full:x=1"):
        assert refusal(lambda: Learner(shop, learner)) == command("simulate", "power", "--learner", learner)
    said = command("simulate", "examples/shop-ads.toml", "--learner", "full", "--feedback", "censored")
    assert refusal(lambda: simulate(root / "examples/shop-ads.toml", "full", feedback="censored")) == said
    ads = Problem.load(root / "examples/ad-channels/ad-channels.toml")
    assert refusal(lambda: ads.allocate(budget=1.0)) == command("allocate", "examples/ad-channels/ad-channels.toml", "--budget", "1")


@pytest.fixture(autouse=True)
def in_the_projects_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of files are reported as by the command line."""
    monkeypatch.chdir(root)


def test_exceptions_are_values_and_survive_a_pickle() -> None:
    with pytest.raises(ValueError) as refusal:
        Problem([])
    again = pickle.loads(pickle.dumps(refusal.value))
    assert str(again) == str(refusal.value) and again.errors == refusal.value.errors  # type: ignore[attr-defined]
    assert issubclass(FileError, OSError) and issubclass(MissingLibraryError, ImportError)
