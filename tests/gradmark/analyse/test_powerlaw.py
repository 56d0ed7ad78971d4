"""The fitted curve: parameters on exact data, and intervals that hold the truth."""

import math

import numpy as np
import pytest

from gradmark.analyse.powerlaw import MODEL_ERROR, STEEPEST, fitted

FOUR = [10.0, 100.0, 1000.0, 10000.0]
SEVEN = [10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10000.0]


@pytest.mark.parametrize("sizes", [FOUR, SEVEN])
@pytest.mark.parametrize(
    "truth", [(0, 1, 1), (7, 1, 1), (5000, 10, 1), (0, 2, 2), (300, 0.1, 2), (9, 4, 0.5), (0, 1, 3)]
)
def test_exact_data_give_the_parameters_back(sizes, truth):
    a, b, p = truth
    found = fitted(sizes, [a + b * n**p for n in sizes], None)
    assert (found.a, found.b, found.p) == pytest.approx(truth, rel=1e-5, abs=1e-5)
    assert (found.low, found.high) == pytest.approx((found.p - MODEL_ERROR, found.p + MODEL_ERROR))


def test_sizes_may_come_in_any_order():
    assert fitted([1000, 10, 10000, 100], [1007, 17, 10007, 107], None).p == pytest.approx(1.0)


def test_falling_cost_is_not_given_a_negative_exponent():
    found = fitted(SEVEN, [1 / n for n in SEVEN], None)
    assert found.p == pytest.approx(0.0, abs=1e-6)
    assert found.low == 0.0


def test_zeros_do_not_hide_growth():
    found = fitted(FOUR, [0, 0, 10, 1000], None)
    assert found.p == pytest.approx(2.0, abs=0.05)


def test_exponential_growth_is_steep_and_clearly_so():
    found = fitted([5, 8, 11, 14, 17, 20], [2.0**n for n in (5, 8, 11, 14, 17, 20)], None)
    assert 4 < found.low < found.p < found.high <= STEEPEST


def test_every_step_steep_is_steep_however_badly_the_model_fits():
    # One residual at four sizes leaves an interval of ±20; yet each doubling of n = 4, 8, … is at least 16-fold.
    found = fitted([4, 8, 12, 16], [2.0**n for n in (4, 8, 12, 16)], None)
    assert found.low == pytest.approx(4.0 - MODEL_ERROR)
    scattered = fitted([4, 8, 12, 16], [2.0**n for n in (4, 8, 12, 16)], [0.1] * 4)
    assert scattered.low == pytest.approx(4.0 - MODEL_ERROR - 1.96 * 0.1 * math.sqrt(2) / math.log(2), abs=1e-3)


def test_one_steep_step_is_not_growth():
    # A cache that overflows at the last size: twice the cost there, n everywhere else.
    found = fitted(FOUR, [10.0, 100.0, 1000.0, 20000.0], [0.01] * 4)
    assert found.low < 1.0


def test_scatter_of_a_repeated_size_is_no_step():
    found = fitted([10, 10, 100, 1000, 10000], [10, 11, 100, 1000, 10000], None)
    assert found.low < 1.0 < found.high


def test_exponent_that_nothing_determines_has_the_whole_range():
    # One step at the last size: b·n^p matters there alone, and every steep p fits.
    found = fitted(FOUR, [1000, 1001, 999, 1300], [0.01] * 4)
    assert found.low == 0.0
    assert found.high > 2.0


def test_three_sizes_with_a_constant_part_are_not_trusted():
    found = fitted(FOUR[:3], [n + 7 for n in FOUR[:3]], None)
    assert found.low < 0.9
    assert found.high > 1.1


def test_three_sizes_fix_the_constant_part_at_the_better_bound():
    assert fitted(FOUR[:3], [n**2 for n in FOUR[:3]], None).a == 0.0
    found = fitted(FOUR[:3], [1000 + n**2 / 10 for n in FOUR[:3]], None)
    assert found.a == 1010.0
    assert found.p == pytest.approx(2.0, abs=0.01)


def test_three_sizes_are_not_trusted_for_their_spreads_either():
    costs = [5100.0, 6000.0, 15000.0]  # 5000 + 10·n: a is chosen, not fitted, so the misfit must widen the interval
    found = fitted(FOUR[:3], costs, [0.5] * 3)
    assert found.high == pytest.approx(fitted(FOUR[:3], costs, None).high)


def covered(rng, sizes, spread, known):
    """How often of 60 the interval holds p = 1, for floors of three processes that scatter upwards."""
    held = 0
    for _ in range(60):
        floors = (500 + 10 * np.array(sizes)) * (1 + np.abs(rng.normal(0, spread, (3, len(sizes)))))
        costs = floors.min(axis=0)
        spreads = np.maximum(0.01, floors.std(axis=0, ddof=1) / costs) if known else None
        found = fitted(sizes, costs.tolist(), None if spreads is None else spreads.tolist())
        held += found.low <= 1.0 <= found.high
    return held


@pytest.mark.parametrize("known", [True, False])
def test_interval_holds_the_truth(known):
    assert covered(np.random.default_rng(1), FOUR, 0.08, known) >= 57  # 95 % of 60


def test_known_spreads_that_the_residuals_refute_are_not_believed():
    costs = [n * factor for n, factor in zip(FOUR, (1.0, 1.6, 0.7, 1.2), strict=True)]
    believed, refuted = fitted(FOUR, costs, [0.5] * 4), fitted(FOUR, costs, [0.01] * 4)
    assert refuted.high - refuted.low > believed.high - believed.low


def test_wide_spread_weighs_less():
    costs = [10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 20000.0]  # the last is twice too high
    assert fitted(SEVEN, costs, None).p > 1.05
    assert fitted(SEVEN, costs, [0.01] * 6 + [1.0]).p == pytest.approx(1.0, abs=0.001)


def test_n_log_n_lies_between():
    found = fitted(SEVEN, [n * math.log(n) for n in SEVEN], None)
    assert found.p == pytest.approx(1.195, abs=0.001)
    assert 1.0 < found.low < found.high < 1.3
