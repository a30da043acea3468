"""The committed results are those of the present classes, and the pages show them."""

import pytest
from promises import results, tables
from promises.classes import BY_NAME, CLASSES

RESULTS = results.read()


@pytest.mark.parametrize("path", tables.pages(RESULTS), ids=lambda path: path.name)
def test_a_page_shows_the_committed_results(path):
    is_current = path.read_text() == tables.pages(RESULTS)[path]
    assert is_current, f"{path.name} is not current: bench/promises/run --tables"


def test_the_results_are_of_the_present_classes():
    cases = {
        (each.name, tasks, seed)
        for each in CLASSES
        for tasks, seeds in each.sizes.items()
        for seed in range(1, 1 + seeds)
    }
    assert len(BY_NAME) == len(CLASSES), "two classes have one name"
    found = [(record["class"], record["tasks"], record["seed"]) for record in RESULTS["instances"]]
    assert len(found) == len(cases), "the classes have changed: bench/promises/run"
    assert set(found) == cases, "the classes have changed: bench/promises/run"
