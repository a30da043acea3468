"""The classes of problems. An instance depends on class, number of tasks and seed alone."""

from collections.abc import Callable
from dataclasses import dataclass

from . import problems as p

# Number of tasks to number of instances.
SIZES = {10: 10, 100: 10, 300: 10, 1_000: 5}
# More, because the seed selects one of 150 combinations.
SIMILAR_SIZES = {10: 20, 100: 20, 300: 15, 1_000: 10}
STEP_SIZES = SIZES | {10_000: 2}
CONCAVE_SIZES = SIZES | {10_000: 3, 100_000: 1}
# Most of the time of a million tasks goes into writing and reading the file.
LARGEST_SIZES = CONCAVE_SIZES | {1_000_000: 1}
# HiGHS solves problems up to this size.
HIGHS_TASKS = 1_000


@dataclass(frozen=True)
class Class:
    name: str
    title: str
    # (draw, number of tasks, seed) to problem
    make: Callable
    sizes: dict

    def problem(self, tasks, seed):
        return self.make(p.Draw(self.name, tasks, seed), tasks, seed)


def group(sizes, *classes):
    """Classes of (name, title, make, sizes if they are others)."""
    return tuple(Class(*each[:3], *(each[3:] or (sizes,))) for each in classes)


# The rows of the README and the classes that they stand for.
GROUPS = {
    "concave: power, exponential, linear, Hill (steepness ≤ 1), logistic (mid 0)": group(
        CONCAVE_SIZES,
        ("exponential", "exponential", p.of_curves(p.exponential)),
        ("power", "power", p.of_curves(p.power)),
        ("linear", "saturating, concave piecewise", p.of_curves(p.linear)),
        ("concave-hill", "Hill, steepness 0.3 to 1", p.of_curves(p.concave_hill)),
        ("concave-logistic", "logistic, mid 0", p.of_curves(p.concave_logistic)),
        ("concave", "these five in turn", p.of_curves(p.concave), LARGEST_SIZES),
    ),
    "S-curves (Hill, logistic), random": group(
        SIZES,
        ("hill", "Hill, steepness 1.5 to 5", p.of_curves(p.hill)),
        ("logistic", "logistic, mid/width 1 to 8", p.of_curves(p.s_logistic)),
    ),
    "S-curves, similar or equal": group(
        SIMILAR_SIZES,
        ("similar-hill", "Hill, steepness 2 to 20", p.similar("hill", False)),
        ("similar-hill-fixed", "the same, only the middles differ", p.similar("hill", True)),
        ("similar-logistic", "logistic, mid/width 3 to 20", p.similar("logistic", False)),
    ),
    "steps: thresholds, staircases, empirical, M-sets": group(
        STEP_SIZES,
        ("thresholds", "thresholds", p.thresholds),
        ("staircases", "one to four jumps", p.staircases),
        ("empirical", "empirical, 20 samples", p.empirical),
        ("m-set", "equal thresholds (M-sets)", p.m_set),
        ("excluded", "steps of four kinds, one excluded exponential", p.excluded, SIZES),
    ),
    "steps, value ≈ cost, whole costs": group(
        SIZES,
        ("correlated-thresholds", "thresholds, value = cost + 100", p.correlated_thresholds),
        ("correlated-staircases", "one to five jumps, value = cost + 100", p.correlated_staircases),
        ("even-costs", "even costs, odd budget, value = cost", p.even_costs),
    ),
    "steps, value ≈ cost, real costs": group(
        SIZES,
        ("real-correlated", "thresholds, value = a + b · cost", p.real_costs(0.2, 0.8)),
        ("real-proportional", "thresholds, value = cost", p.real_costs(0.1, 7.9)),
    ),
    "tiers: ramps and flat stretches in turn": group(
        SIZES,
        ("plateaus", "one to three tiers, wide ramps", p.plateaus),
        ("tiers", "two to five tiers, ramps of 2 to 30 %", p.pricing_tiers),
        ("correlated-tiers", "two tiers, value ≈ cost + 100", p.correlated_tiers),
    ),
    "lots: nothing or everything (`at_least` = `max`)": group(
        SIZES,
        ("lots", "exponential, `at_least` = `max`", p.lots),
    ),
    "thresholds and exponentials, random": group(
        SIZES,
        ("thresholds-exponentials", "half of each", p.thresholds_and_exponentials),
    ),
    "steps, value ≈ cost, and exponentials": group(
        SIZES,
        (
            "thresholds-and-small",
            "thresholds, one exponential of little value",
            p.steps_and_one(p.correlated_thresholds, 100.0, 0.05),
        ),
        (
            "thresholds-and-large",
            "thresholds, one exponential of large value",
            p.steps_and_one(p.correlated_thresholds, 500.0, 1.0),
        ),
        (
            "staircases-and-small",
            "one to five jumps, one exponential of little value",
            p.steps_and_one(p.correlated_staircases, 100.0, 0.05),
        ),
        ("correlated-mixture", "nine thresholds to one exponential", p.correlated_mixture),
    ),
    "all families at once": group(
        SIZES,
        ("all", "concave, S-curves, steps, piecewise in turn", p.of_curves(p.all_families)),
    ),
}
CLASSES = tuple(each for classes in GROUPS.values() for each in classes)
BY_NAME = {each.name: each for each in CLASSES}
