"""Summaries of many instances: the rows of a table."""

from dataclasses import dataclass
from statistics import median

# A gap up to this counts as solved, and a value or bound is better if it is so by more than this.
TOLERANCE = 1e-9


@dataclass
class Summary:
    instances: int
    solved: int
    largest_gap: float
    # HiGHS's time relative to outlay's, the median; None without HiGHS.
    times: float | None
    # HiGHS was stopped by its time limit on the median instance, so that it is slower still.
    is_cut: bool
    # Instances that HiGHS tried, reported as solved, and had a better value or bound for.
    tried: int
    finished: int
    better_values: int
    better_bounds: int
    # Instances whose model is exact, so that bounds can be compared.
    exact: int
    # The least and the largest value of HiGHS, less ours, relative.
    values: tuple | None


def summarise(records):
    compared = [record for record in records if record["highs"]]
    ratios = sorted((record["highs"]["times"], record["highs"]["optimal"]) for record in compared)
    known = [record for record in compared if record["highs"]["value"] is not None]
    values = [record["highs"]["value"] / record["value"] - 1.0 for record in known]
    exact = [record for record in compared if record["highs"]["bound"] is not None]
    return Summary(
        instances=len(records),
        solved=sum(record["gap"] <= TOLERANCE for record in records),
        largest_gap=max(record["gap"] for record in records),
        times=median(times for times, _ in ratios) if ratios else None,
        is_cut=bool(ratios) and not all(done for _, done in ratios[: len(ratios) // 2 + 1]),
        tried=len(compared),
        finished=sum(record["highs"]["optimal"] for record in compared),
        better_values=sum(value > TOLERANCE for value in values),
        better_bounds=sum(map(has_better_bound, exact)),
        exact=len(exact),
        values=(min(values), max(values)) if values else None,
    )


def has_better_bound(record):
    """A bound below a known value is one by HiGHS's tolerance, and is raised to that value."""
    theirs = record["highs"]
    bound = max(theirs["bound"], record["value"], theirs["value"] or 0.0)
    return bound < record["upper_bound"] * (1.0 - TOLERANCE)
