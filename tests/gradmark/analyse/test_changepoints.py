"""Change points: on made series, and on another project's recorded nights, in which nothing changed."""

import gzip
import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from gradmark.analyse.changepoints import Change, changes, steps

NIGHTLIES = Path(__file__).parents[2] / "data" / "gradbench-nightlies.json.gz"


def noisy(count, *, seed, spread=0.01):
    draw = np.random.default_rng(seed)
    return draw.normal(0.0, spread, size=count)


def test_a_step_is_found_where_it_is():
    values = noisy(40, seed=1)
    values[23:] += math.log(1.15)
    (found,) = steps(values)
    assert found.place == 23
    assert found.ratio == pytest.approx(1.15, rel=0.01)


def test_up_and_down_again():
    values = noisy(60, seed=2)
    values[20:40] += math.log(1.2)
    assert [(change.place, change.ratio > 1) for change in steps(values)] == [(20, True), (40, False)]


@pytest.mark.parametrize("seed", range(5))
def test_noise_and_single_outliers_are_no_step(seed):
    values = noisy(50, seed=seed)
    assert steps(values) == []
    values[[7, 20, 41]] += [0.5, -0.4, 1.5]
    assert steps(values) == []


def test_to_and_fro_is_no_step():
    values = noisy(40, seed=3)
    values[20::2] += 0.2
    assert steps(values) == []


def test_less_than_five_percent_is_no_step():
    values = noisy(40, seed=4, spread=0.001)
    values[20:] += math.log(1.04)
    assert steps(values) == []


def test_missing_points_are_passed_over():
    values = noisy(40, seed=5)
    values[20:] += math.log(1.2)
    values[[3, 19, 20, 30]] = math.nan
    assert [change.place for change in steps(values)] == [21]


def test_too_few_points_say_nothing():
    assert steps(np.array([0.0, 0.0, 0.0, 1.0, 1.0])) == []
    assert changes({}) == ({}, [])
    assert changes({"a": []}) == ({"a": []}, [])
    assert changes({"a": [None] * 20}) == ({"a": []}, [])


def series(seed, slower=1.0):
    values = 100 * np.exp(noisy(40, seed=seed))
    values[25:] *= slower
    return list(values)


def test_what_all_do_is_the_machine_s():
    own, together = changes({str(k): series(k, 1.3) for k in range(6)})
    assert set(map(tuple, own.values())) == {()}
    assert [change.place for change in together] == [25]


def test_one_that_steps_by_itself_is_found_among_those_that_moved():
    group = {str(k): series(k, 1.3) for k in range(6)}
    group["mine"] = [x * (1.2 if place >= 10 else 1.0) for place, x in enumerate(series(9, 1.3))]
    own, together = changes(group)
    assert [name for name, found in own.items() if found] == ["mine"]
    assert [change.place for change in own["mine"]] == [10]
    assert [change.place for change in together] == [25]


def test_what_a_part_does_in_one_night_is_no_one_s_own_and_is_still_told():
    group = {str(k): series(k, 1.3 if k < 3 else 1.0) for k in range(8)}
    own, together = changes(group)
    assert set(map(tuple, own.values())) == {()}
    assert [(change.place, change.rows) for change in together] == [(25, ["0", "1", "2"])]
    group["1"], group["2"] = series(1), series(2)
    own, together = changes(group)
    assert ([name for name, found in own.items() if found], together) == (["0"], [])


def test_a_few_series_have_nothing_in_common():
    own, together = changes({"a": series(1, 1.3), "b": series(2)})
    assert ([c.place for c in own["a"]], own["b"], together) == ([25], [], [])
    assert isinstance(own["a"][0], Change)


@pytest.fixture(scope="module")
def recorded():
    groups = {}
    for name, values in json.loads(gzip.decompress(NIGHTLIES.read_bytes()))["series"].items():
        groups.setdefault(name.rsplit("/", 1)[0], {})[name] = values
    return groups


@pytest.mark.slow
def test_recorded_nights_without_a_change_raise_few_alarms(recorded):
    alarms = [bool(found) for group in recorded.values() for found in changes(group)[0].values()]
    assert len(alarms) == 1565
    assert sum(alarms) <= 0.03 * len(alarms)


@pytest.mark.slow
def test_planted_steps_are_caught_within_five_nights(recorded):
    draw = random.Random(0)
    calm = [
        (group, name)
        for group in recorded.values()
        for name, values in group.items()
        if np.median(np.abs(np.diff(np.log([x for x in values if x])))) < math.log(1.05)
    ]
    chosen = draw.sample(calm, 300)
    caught = 0
    for group, name in chosen:
        night = draw.randrange(4, len(group[name]) - 5)
        planted = [x and x * (1.15 if place >= night else 1.0) for place, x in enumerate(group[name])]
        seen = {key: values[: night + 5] for key, values in {**group, name: planted}.items()}
        caught += any(abs(c.place - night) <= 5 and c.ratio > 1 for c in changes(seen)[0][name])
    assert caught >= 0.85 * len(chosen)


@pytest.mark.parametrize("night", [3, 200, 220, 239, 240, 241, 400, 597])
def test_a_long_series_is_searched_in_parts_and_loses_no_step(night):
    draw = random.Random(night)
    values = [100.0 * math.exp(draw.gauss(0.0, 0.005)) * (1.1 if k >= night else 1.0) for k in range(600)]
    (step,) = changes({"row": values})[0]["row"]
    assert abs(step.place - night) <= 1
    assert abs(step.ratio - 1.1) < 0.02
