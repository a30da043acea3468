"""Series and data frames are aligned by label; labels that do not match are errors that name them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from outlay import AllocationError, Hill, Learner, ObservationError, Power, Problem, Task

NAMES = ["search", "social", "video"]


def problem() -> Problem:
    curves = [Power(0.5), Hill(half_at=30.0, steepness=2.0), Power(0.3)]
    return Problem([Task(name, curve=curve, value=0.5) for name, curve in zip(NAMES, curves)], budget=100.0)


def shuffled(numbers: list[float]) -> list[object]:
    """The same numbers in another order, with labels, in all forms."""
    order = [2, 0, 1]
    names, cells = [NAMES[place] for place in order], [numbers[place] for place in order]
    return [
        pd.Series(cells, index=names),
        pd.Series(cells, index=pd.CategoricalIndex(names)),
        pd.DataFrame({"task": names, "value": cells, "spend": cells}),
        pd.DataFrame({"value": cells, "spend": cells}, index=names),
        pl.DataFrame({"task": names, "value": cells, "spend": cells}),
        dict(zip(names, cells)),
    ]


@pytest.mark.parametrize("form", range(6))
def test_values_and_plans_are_aligned(form: int) -> None:
    numbers = [0.2, 0.9, 0.4]
    given = shuffled(numbers)[form]
    assert problem().allocate(given).spend.tolist() == problem().allocate(numbers).spend.tolist()
    assert problem().evaluate(given).plan.tolist() == numbers
    assert problem().frontier(given, points=3).value.tolist() == problem().frontier(numbers, points=3).value.tolist()


@pytest.mark.parametrize("given", [pd.Series([0.2, 0.9, 0.4]), pl.Series([0.2, 0.9, 0.4])])
def test_without_labels_the_order_is_that_of_the_tasks(given: object) -> None:
    assert problem().evaluate(given).plan.tolist() == [0.2, 0.9, 0.4]


WRONG = [
    (pd.Series([1.0, 2.0, 3.0], index=["search", "social", "radio"]), "radio is not a task, video is missing"),
    (pd.Series([1.0, 2.0], index=["search", "social"]), "video is missing"),
    (pd.Series([1.0, 2.0, 3.0, 4.0], index=[*NAMES, "search"]), "search occurs more than once"),
    # The row numbers of a sorted or filtered Series are no longer in the order of the tasks.
    (pd.Series([3.0, 1.0, 2.0]).sort_values(), "1, 2, 0 are not tasks"),
    (pd.Series([1.0, 2.0], index=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])), "the index has 2 levels"),
    (pd.DataFrame({"task": NAMES, "worth": [1, 2, 3]}), "has no column"),
    (pd.DataFrame({"value": [1, 2, 3], "spend": [1, 2, 3]}), "needs a column task"),
    (pl.DataFrame({"value": [1, 2, 3], "spend": [1, 2, 3]}), "needs a column task"),
]


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_labels_that_do_not_match_are_named(given: object, message: str) -> None:
    with pytest.raises(AllocationError, match=message) as values:
        problem().allocate(given)
    assert str(values.value).startswith("values: ")
    with pytest.raises(AllocationError, match=message) as plan:
        problem().evaluate(given)
    assert str(plan.value).startswith("plan: ")


def test_outcomes_are_aligned() -> None:
    learner, same = Learner(problem()), Learner(problem())
    completed, reward = pd.Series({"video": True, "search": False, "social": True}), pd.Series({"social": 0.25, "video": 1.0, "search": 0.0})
    learner.observe(learner.allocate(), completed, reward)
    same.observe(same.allocate(), [False, True, True], [0.0, 0.25, 1.0])
    assert learner.learnt() == same.learnt()
    with pytest.raises(ObservationError, match="completed: labels must be the names of the tasks: social is missing"):
        learner.observe(learner.allocate(), completed.drop("social"), reward)
    with pytest.raises(ObservationError, match="reward: labels .* radio is not a task"):
        learner.observe(2, completed, reward.rename({"video": "radio"}))
    mask = pd.Series({"video": False, "social": True, "search": True})
    assert learner.allocate(mask=mask).spend[2] == 0.0


def test_matrices_are_aligned_by_column() -> None:
    rng = np.random.default_rng(3)
    completed = pd.DataFrame(rng.uniform(size=(20, 3)) < 0.5, columns=NAMES)
    reward = completed * rng.uniform(size=(20, 3))
    by_name, by_order = Learner(problem()), Learner(problem())
    rounds = [by_name.allocate() for _ in range(20)], [by_order.allocate() for _ in range(20)]
    by_name.observe_many(rounds[0], completed[["video", "search", "social"]], reward[["social", "video", "search"]])
    by_order.observe_many(rounds[1], completed.to_numpy(), reward.to_numpy())
    assert by_name.learnt() == by_order.learnt()
    with pytest.raises(ObservationError, match="completed: labels .* 0 is not a task, search is missing"):
        by_name.observe_many([1], completed.iloc[:1].rename(columns={"search": 0}))


@pytest.mark.parametrize("library", [pd, pl])
def test_a_data_frame_reports_rounds(library: object) -> None:
    learner, same = Learner(problem()), Learner(problem())
    first, second = learner.allocate(), learner.allocate()
    rows = {"round": [2, 1, 1], "task": ["video", "social", "search"], "completed": [1, 1, 0], "reward": [0.5, 0.25, None]}
    learner.observe(library.DataFrame(rows))  # type: ignore[attr-defined]
    assert learner.open_rounds == 2
    rest = {"task": ["video"], "completed": [False]}
    learner.observe(first, library.DataFrame(rest))  # type: ignore[attr-defined]
    learner.observe(second, {"search": False, "social": False})
    assert learner.open_rounds == 0
    for completed, reward in (([0, 1, 0], [0, 0.25, 0]), ([0, 0, 1], [0, 0, 0.5])):
        same.observe(same.allocate(), completed, reward)
    assert learner.learnt() == same.learnt()


BAD_ROWS = [
    ({"round": [1], "task": ["radio"], "completed": [1], "reward": [1.0]}, "row 0: task: no task is named radio"),
    ({"round": [1], "task": ["video"], "completed": [2], "reward": [1.0]}, "row 0: completed: must be true or false"),
    ({"round": [0.5], "task": ["video"], "completed": [1], "reward": [1.0]}, "row 0: round: must be a whole number"),
    ({"task": ["video"], "completed": [1], "reward": [1.0]}, "has no column round; it has task, completed, reward"),
    ({"round": [1, 1], "task": ["video"] * 2, "completed": [0, 0]}, "row 1: task video occurs twice in round 1"),
    # The first row alone would be valid, but the whole frame is rejected.
    ({"round": [1, 9], "task": ["video"] * 2, "completed": [1, 1], "reward": [1.0, 1.0]}, "round 9 is not open"),
]


@pytest.mark.parametrize(("rows", "message"), BAD_ROWS)
def test_an_invalid_frame_changes_nothing(rows: dict[str, list[object]], message: str) -> None:
    learner = Learner(problem())
    learner.allocate()
    before = learner.state()
    with pytest.raises(ObservationError, match=message):
        learner.observe(pd.DataFrame(rows))
    assert learner.state() == before


def test_a_round_of_another_learner_is_an_error() -> None:
    one, other = Learner(problem()), Learner(problem())
    issued, _ = one.allocate(), other.allocate()
    with pytest.raises(ObservationError, match="round 1 was issued by another learner"):
        other.observe(issued, [True] * 3, [1.0] * 3)
    with pytest.raises(ObservationError, match="round 1 was issued by another learner"):
        other.observe_many([issued], [[True] * 3], [[1.0] * 3])
    assert other.open_rounds == 1
    one.observe(issued, [True] * 3, [1.0] * 3)


def test_weights_are_in_the_unit_of_the_rewards() -> None:
    curves = {name: Power(0.5) for name in NAMES}
    large = Learner(Problem([Task(name, curve=curve) for name, curve in curves.items()], budget=100.0, reward_max=40.0))
    assert large.weights is None
    for _ in range(30):
        large.observe(large.allocate(), [True] * 3, [10.0, 20.0, 30.0])
    large.allocate()
    assert large.weights is not None and (large.weights >= [10.0, 20.0, 30.0]).all() and (large.weights <= 40.0).all()
    assert large.table()["weight"].tolist() == large.weights.tolist()
    even = Learner(problem(), "uniform")
    even.allocate()
    assert even.weights is None and even.table()["weight"].isna().all()
