"""Streams: inputs are those that GradBench's generators give, in the order in which they come to each size."""

import numpy as np
import pytest

from gradmark.workloads.literature.streams import SEED, uniform
from gradmark.workloads.lookup import named


def inputs(name, **params):
    return named(name)[0].draw(0, params, "float64")


def test_one_stream_is_consumed_in_the_order_of_sizes():
    np.random.seed(SEED)
    for n in (2500, 5000, 10_000):
        numbers = np.random.rand(n)
        assert inputs("lse", n=n) == numbers.tolist()
        assert np.array_equal(inputs("lse_array", n=n)[0], numbers)


def test_the_order_is_that_of_the_product_of_sizes():
    np.random.seed(SEED)
    pairs = sorted(((n, s) for n in (1000, 10_000, 100_000) for s in (1, 10, 100)), key=lambda p: p[0] * p[1])
    for n, s in pairs:
        numbers = np.random.rand(n)
        assert np.array_equal(inputs("ode_array", n=n, s=s)[0], numbers), (n, s)


def test_centres_are_the_last_points():
    np.random.seed(SEED)
    for n, d in ((1000, 8), (1000, 16)):
        points = np.random.rand(n, d)
    k = 10
    drawn, centres = inputs("kmeans_array", k=k, n=n, d=d)
    assert np.array_equal(drawn, points)
    assert np.array_equal(centres, points[-k:])


def test_a_mixture_is_drawn_from_the_seed_anew():
    draw = np.random.default_rng(SEED)
    d, k, n = 2, 5, 10
    x = [list(draw.normal(size=d)) for _ in range(n)]
    alpha = list(draw.normal(size=k))
    mu = [list(draw.uniform(size=d)) for _ in range(k)]
    q = [list(draw.normal(size=d)) for _ in range(k)]
    below = [list(draw.normal(size=d * (d - 1) // 2)) for _ in range(k)]
    given = inputs("gmm_array", d=d, k=k, n=n)[1:]
    assert [part.tolist() for part in given] == [x, alpha, mu, q, below]


def test_a_size_that_is_not_published_has_a_stream_of_its_own():
    assert np.array_equal(inputs("lse_array", n=77)[0], np.random.RandomState(SEED).random_sample(77))


def test_inputs_do_not_depend_on_the_seed_of_a_run():
    one = named("lse")[0]
    assert one.draw(0, {"n": 10}) == one.draw(1, {"n": 10})


@pytest.mark.parametrize("wanted", [3, 5])
def test_what_comes_before_is_left_out(wanted):
    numbers = np.random.RandomState(SEED).random_sample(8)
    assert uniform(wanted, wanted, [(3, 3), (5, 5)]).tolist() == numbers[{3: slice(3), 5: slice(3, 8)}[wanted]].tolist()
