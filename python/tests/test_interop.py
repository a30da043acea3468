"""Curves from other models, compared with the formulas of these models, which are repeated here."""

from __future__ import annotations

import math

import numpy as np
import pytest

from outlay.errors import ProblemError
from outlay.interop import from_function, meridian, problem_of, pymc_marketing, robyn

SPENDS = np.array([0.0, 1e-3, 0.5, 7.0, 33.0, 100.0, 140.0, 250.0, 400.0])
CHANNEL, TARGET = 125.0, 8000.0


def steep(z):
    return (1.0 - np.exp(-z)) / (1.0 + np.exp(-z))


PYMC = {
    "logistic": (dict(lam=2.7, beta=0.31), lambda x, lam, beta: beta * steep(lam * x)),
    "inverse_scaled_logistic": (dict(lam=0.8, beta=0.4), lambda x, lam, beta: beta * steep(x * math.log(3) / lam)),
    "tanh": (dict(b=0.6, c=1.9), lambda x, b, c: b * np.tanh(x / (b * c))),
    "tanh_baselined": (
        dict(x0=0.7, gain=0.45, r=0.65, beta=1.2),
        lambda x, x0, gain, r, beta: beta * gain * x0 * np.tanh(x * np.arctanh(r) / x0) / r,
    ),
    "michaelis_menten": (dict(alpha=0.5, lam=0.9), lambda x, alpha, lam: alpha * x / (lam + x)),
    "hill": (dict(slope=1.8, kappa=0.7, beta=0.3), lambda x, slope, kappa, beta: beta * (1 - kappa**slope / (kappa**slope + x**slope))),
    "hill_sigmoid": (
        dict(sigma=0.8, beta=4.2, lam=0.9),
        lambda x, sigma, beta, lam: sigma / (1 + np.exp(-beta * (x - lam))) - sigma / (1 + np.exp(beta * lam)),
    ),
    "root": (dict(alpha=0.4, beta=0.6), lambda x, alpha, beta: beta * x**alpha),
}


@pytest.mark.parametrize("name", PYMC)
def test_pymc_marketing_is_matched_exactly(name):
    parameters, formula = PYMC[name]
    ends = {"up_to": 400.0} if name == "root" else {}
    curve, value = pymc_marketing(name, channel_scale=CHANNEL, target_scale=TARGET, **ends, **parameters)
    expected = TARGET * formula(SPENDS / CHANNEL, **parameters)
    np.testing.assert_allclose(value * curve(SPENDS), expected, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.6, 1.0, 2.4])
def test_robyn_is_matched_exactly(alpha):
    adstocked = np.array([20.0, 310.0, 95.0, 180.0])
    gamma, coefficient, theta = 0.35, 1234.5, 0.3
    inflexion = float(np.array([adstocked.min(), adstocked.max()]) @ np.array([1 - gamma, gamma]))
    expected = coefficient * SPENDS**alpha / (SPENDS**alpha + inflexion**alpha)
    curve, value = robyn(alpha=alpha, gamma=gamma, coefficient=coefficient, spend_range=(adstocked.min(), adstocked.max()))
    np.testing.assert_allclose(value * curve(SPENDS), expected, rtol=1e-12, atol=1e-9)
    assert robyn(alpha=alpha, inflexion=inflexion, coefficient=coefficient)[0].half_at == pytest.approx(curve.half_at, rel=1e-15)
    # A constant spend x becomes x + theta x + theta² x + … after a geometric adstock.
    steady = SPENDS * sum(theta**lag for lag in range(200))
    curve, value = robyn(alpha=alpha, inflexion=inflexion, coefficient=coefficient, carryover=1 / (1 - theta))
    expected = coefficient * steady**alpha / (steady**alpha + inflexion**alpha)
    np.testing.assert_allclose(value * curve(SPENDS), expected, rtol=1e-12, atol=1e-9)


def response_table(step=0.05):
    """A table like Meridian's, in long form: two channels, a mean and an upper bound at each
    spend."""
    rows = {"channel": [], "spend": [], "incremental_outcome": [], "metric": []}
    truth = {"tv": lambda x: 5e6 * x**0.9 / (x**0.9 + 3e6**0.9), "radio": lambda x: 2e6 * (1 - np.exp(-x / 8e5))}
    for name, (response, spent) in {"tv": (truth["tv"], 2.6e6), "radio": (truth["radio"], 5.2e5)}.items():
        for multiplier in np.arange(0.0, 2.2 + step / 2, step):
            for metric, times in (("mean", 1.0), ("ci_hi", 1.3)):
                row = (name, multiplier * spent, times * response(multiplier * spent), metric)
                for column, cell in zip(rows, row):
                    rows[column].append(cell)
    return rows, truth


def test_meridian_tables_are_matched_at_their_points_and_nearly_between():
    table, truth = response_table()
    channels = meridian(table, periods=104)
    assert list(channels) == ["tv", "radio"]
    for name, spent in (("tv", 2.6e6), ("radio", 5.2e5)):
        curve, value = channels[name]
        at = np.arange(0.0, 2.21, 0.05) * spent
        np.testing.assert_allclose(104 * value * curve(at / 104), truth[name](at), rtol=1e-9, atol=1e-3)
    # Between the points: at most h²/8 times the second derivative below the concave curve, and never above it.
    spent, (curve, value) = 5.2e5, channels["radio"]
    middle = np.arange(0.025, 2.2, 0.05) * spent
    missing = truth["radio"](middle) - 104 * value * curve(middle / 104)
    bound = (0.05 * spent) ** 2 / 8 * 2e6 / 8e5**2 * np.exp(-(middle - 0.025 * spent) / 8e5)
    assert (missing > 0).all() and (missing <= bound).all()
    assert meridian(table, metric="ci_hi")["tv"][1] == pytest.approx(1.3 * 104 * channels["tv"][1], rel=1e-12)


def test_meridian_as_a_data_frame():
    pandas = pytest.importorskip("pandas")
    table, _ = response_table()
    frame = pandas.DataFrame(table).sample(frac=1.0, random_state=3)
    assert meridian(frame)["radio"] == meridian(table)["radio"]


def test_meridian_output_is_read_directly():
    """The dimensions, coordinates and variables of `Analyzer.response_curves()`."""
    xarray = pytest.importorskip("xarray")
    table, _ = response_table(step=0.2)
    shape = (12, 2, 2)
    multipliers = np.arange(0.0, 2.21, 0.2)
    spend, outcome = (np.array(table[name]).reshape(2, 12, 2).transpose(1, 0, 2) for name in ("spend", "incremental_outcome"))
    assert outcome.shape == shape
    dataset = xarray.Dataset(
        {
            "spend": (("spend_multiplier", "channel"), spend[:, :, 0]),
            "incremental_outcome": (("spend_multiplier", "channel", "metric"), outcome),
        },
        {"channel": ["tv", "radio"], "metric": ["mean", "ci_hi"], "spend_multiplier": multipliers},
    )
    assert meridian(dataset, periods=52) == meridian(table, periods=52)


def test_the_split_of_imported_curves_matches_their_library():
    """Two Michaelis-Menten channels: the best split has equal marginal returns, which has a closed form."""
    a = pymc_marketing("michaelis_menten", alpha=0.8, lam=0.5, channel_scale=200.0, target_scale=1000.0)
    b = pymc_marketing("michaelis_menten", alpha=0.5, lam=0.2, channel_scale=300.0, target_scale=1000.0)
    split = problem_of({"a": a, "b": b}, budget=500.0).allocate()
    top, half = np.array([800.0, 500.0]), np.array([100.0, 60.0])
    root = np.sqrt(top * half)
    expected = root * (500.0 + half.sum()) / root.sum() - half
    np.testing.assert_allclose(split.spend, expected, rtol=1e-6)
    assert split.value == pytest.approx((top * expected / (half + expected)).sum(), rel=1e-12)


def test_any_other_response_becomes_points():
    def response(spend):
        return 700.0 * math.log1p(spend / 40.0)

    curve, value = from_function(response, 400.0, shape="concave")
    assert value == response(400.0)
    at = np.linspace(0.0, 400.0, 997)
    found = value * curve(at)
    assert np.abs(found - [response(spend) for spend in at]).max() <= 2e-6 * value
    assert problem_of({"x": (curve, value)}, budget=100.0).allocate().value == pytest.approx(response(100.0), rel=1e-5)


WRONG = [
    (lambda: pymc_marketing("sigmoid", lam=1.0), "there are logistic"),
    (lambda: pymc_marketing("logistic", lam=1.0), "lam, beta"),
    (lambda: pymc_marketing("logistic", lam=1.0, beta=1.0, sigma=2.0), "lam, beta"),
    (lambda: pymc_marketing("logistic", lam=-1.0, beta=1.0), "lam: must be positive"),
    (lambda: pymc_marketing("logistic", lam=1.0, beta=1.0, channel_scale=math.nan), "channel_scale: must be positive"),
    (lambda: pymc_marketing("root", alpha=0.5, beta=1.0), "up_to: is missing"),
    (lambda: pymc_marketing("root", alpha=1.5, beta=1.0, up_to=10.0), "alpha: must be at most 1"),
    (lambda: pymc_marketing("tanh_baselined", x0=1.0, gain=1.0, r=1.0, beta=1.0), "r: must be below 1"),
    (lambda: robyn(alpha=2.0, coefficient=1.0), "inflexion: is missing"),
    (lambda: robyn(alpha=2.0, coefficient=1.0, gamma=0.5, spend_range=(0, 1), inflexion=3.0), "not both"),
    (lambda: robyn(alpha=2.0, coefficient=1.0, gamma=1.5, spend_range=(0, 1)), "gamma: must be between"),
    (lambda: robyn(alpha=2.0, coefficient=1.0, gamma=0.5, spend_range=(2, 1)), "spend_range"),
    (lambda: robyn(alpha=2.0, coefficient=0.0, inflexion=3.0), "coefficient: must be positive"),
    (lambda: meridian({"spend": [], "channel": []}), "`incremental_outcome` is missing"),
    (lambda: meridian(columns([0, 1], [0, 1], metric=["mean", "mean"]), metric="median"), "no rows of metric `median`"),
    (lambda: meridian(columns([0, 1, 2], [0, 2, 1])), "bring more for more"),
    (lambda: meridian(columns([0, 1, 1], [0, 1, 2])), "one row a spend"),
    (lambda: meridian(columns([0, 1], [1, 2])), "begins at 0"),
    (lambda: meridian(columns([0, 1], [0, 0])), "brings nothing"),
    (lambda: meridian(columns([0, 1], [0, math.nan])), "a number that is none"),
    (lambda: from_function(lambda spend: 0.0, 10.0), "response"),
]


def columns(spend, outcome, **more):
    return {"channel": ["tv"] * len(spend), "spend": spend, "incremental_outcome": outcome, **more}


@pytest.mark.parametrize("make, message", WRONG, ids=[message for _, message in WRONG])
def test_impossible_input_is_reported(make, message):
    with pytest.raises(ProblemError, match=message):
        make()
