"""The tables agree with a results file."""

import pytest
from promises import results, tables
from promises.summary import summarise


def record(name, tasks, gap, times=None, done=True, value=1.0, bound=None):
    """An instance with value 1; `value` and `bound` are those of HiGHS, relative to it."""
    highs = {"optimal": done, "value": value, "bound": bound, "times": times}
    return {
        "class": name,
        "tasks": tasks,
        "seed": 1,
        "value": 1.0,
        "upper_bound": 1.0 / (1.0 - gap),
        "gap": gap,
        "status": "optimal",
        "highs": highs if times else None,
    }


RESULTS = {
    "command": "bench/promises/run",
    "outlay": "0.1.0",
    "highs": "1.2.3",
    "instances": [
        record("hill", 10, 1e-14, 50.0, value=0.999),
        record("hill", 100, 1e-14, 1234.0, value=0.99),
        record("hill", 100, 1.9e-10, 5678.0, value=0.995),
        record("thresholds", 300, 1e-14, 0.25, bound=1.0),
        record("thresholds", 300, 2.1e-7, 2.0, bound=1.0, value=1.0 + 1e-8),
        record("thresholds", 300, 1e-14, 3.0, bound=1.1, done=False),
        record("thresholds", 1000, 1e-14, 30.0, bound=1.1, done=False),
        record("thresholds", 10_000, 1e-14),
    ],
}


def test_overview():
    assert tables.overview(RESULTS) == [
        "| curves | K up to | proved | largest gap | HiGHS time, K = 100 | K = 300 | K = 1,000 "
        "| HiGHS better |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| S-curves (Hill, logistic), random | 100 | 100 % | 2e-10 | 3,500 |  |  | never (value) |",
        "| steps: thresholds, staircases, empirical, M-sets | 10,000 | 80 % | 3e-7 |  | 2 "
        "| >30 | value 1/4, bound 1/4 |",
    ]


def test_details():
    lines = tables.details(RESULTS)
    assert lines[0] == "8 instances; outlay 0.1.0, HiGHS 1.2.3, by `bench/promises/run`."
    assert [line for line in lines if line.startswith("###")] == [
        "### S-curves (Hill, logistic), random",
        "### Steps: thresholds, staircases, empirical, M-sets",
    ]
    rows = [line for line in lines if line.startswith("| Hill") or line.startswith("| thresholds")]
    assert rows == [
        "| Hill, steepness 1.5 to 5 | 10 | 1 | 100 % | <1e-12 | 50 | 100 % | -1e-3 "
        "| never (value) |",
        "| Hill, steepness 1.5 to 5 | 100 | 2 | 100 % | 2e-10 | 3,500 | 100 % | -1e-2 to -5e-3 "
        "| never (value) |",
        "| thresholds | 300 | 3 | 66 % | 3e-7 | 2 | 66 % | 0 to +1e-8 | value 1/3, bound 1/3 |",
        "| thresholds | 1,000 | 1 | 100 % | <1e-12 | >30 | 0 % | 0 | never |",
        "| thresholds | 10,000 | 1 | 100 % | <1e-12 |  |  |  |  |",
    ]


def test_a_results_file_is_read_as_it_was_written():
    again = results.parse(results.text(RESULTS))
    for record, expected in zip(again["instances"], RESULTS["instances"], strict=True):
        assert record == expected | {"gap": pytest.approx(expected["gap"], abs=1e-15)}
    assert tables.details(again) == tables.details(RESULTS)


@pytest.mark.parametrize(
    ("done", "is_cut"), [((True, True, False), False), ((True, False, True), True)]
)
def test_a_median_is_a_lower_limit_if_highs_was_stopped_at_or_below_it(done, is_cut):
    found = summarise([record("hill", 10, 0.0, 1.0 + at, ok) for at, ok in enumerate(done)])
    assert (found.times, found.is_cut) == (2.0, is_cut)


def test_a_bound_below_a_known_value_is_no_better_bound():
    """HiGHS has a tolerance; a bound below the value of a split is wrong by as much."""
    assert summarise([record("thresholds", 10, 1e-14, 1.0, bound=1.0 - 1e-7)]).better_bounds == 0
    assert summarise([record("thresholds", 10, 1e-5, 1.0, bound=1.0 - 1e-7)]).better_bounds == 1


@pytest.mark.parametrize(
    ("number", "shown"),
    [(1e-9, "1e-9"), (1.001e-9, "2e-9"), (9.6e-5, "1e-4"), (0.013, "2e-2"), (3e-10, "3e-10")],
)
def test_gaps_are_rounded_up(number, shown):
    assert tables.rounded_up(number) == shown
    assert float(shown) >= number


def test_a_share_is_100_percent_only_if_it_is_all():
    assert (tables.share(999, 1000), tables.share(1000, 1000)) == ("99 %", "100 %")


def test_only_the_text_between_the_marks_is_replaced():
    page = f"before\n\n{tables.OPEN}\n\nold\n\n{tables.CLOSE}\n\nafter"
    new = tables.refreshed(page, "new")
    assert new == f"before\n\n{tables.OPEN}\n\nnew\n\n{tables.CLOSE}\n\nafter"
    assert tables.refreshed(new, "new") == new
    with pytest.raises(ValueError, match="no block"):
        tables.refreshed("no marks", "new")
