"""Published ratios: where they stand, that they are those of their sources, and which are shown for a size."""

import pytest

from gradmark.workloads.gradbench.evals import EVALS
from gradmark.workloads.published import problem_of, published, stated


def ratios(source, problem, size):
    return published().ratios[source][problem][size]


def test_every_source_says_where_and_how():
    assert {name: source.name for name, source in published().sources.items()} == {
        "gradbench": "GradBench 2026-03-14",
        "adbench": "ADBench 2018",
    }
    assert published().sources.keys() == published().ratios.keys()
    for source in published().sources.values():
        assert source.where.startswith("https://")
        assert all([source.title, source.machine, source.licence, source.ratio])


def test_every_problem_is_one_of_the_suite():
    assert published().ratios["gradbench"].keys() <= EVALS.keys()
    assert published().ratios["adbench"].keys() == {"adbench_gmm", "ba"}


@pytest.mark.parametrize(
    ("source", "problem", "size", "tool", "ratio"),
    [
        ("gradbench", "lstm", "l=2,c=1024", "codipack", 2.15),
        ("gradbench", "gmm", "10_25_1000", "tapenade", 2.48),
        ("gradbench", "det", "5", "futhark", 1.06),
        ("adbench", "adbench_gmm", "2_5_10000", "Manual", 1.88),  # 1.88e+00 in tab:gmm-10k-rel
        ("adbench", "adbench_gmm", "64_200_10000", "Tapenade", 15.5),  # 1.55e+01
        ("adbench", "ba", "ba20_n13682_m4456117_p28987644", "Finite differences", 16.0),  # 1.60e+01 in tab:ba-rel
    ],
)
def test_numbers_of_the_sources(source, problem, size, tool, ratio):
    assert ratios(source, problem, size)[tool] == ratio


def test_what_crashed_has_no_number():
    assert "Theano (vector)" in ratios("adbench", "adbench_gmm", "64_25_10000")
    assert "Theano (vector)" not in ratios("adbench", "adbench_gmm", "64_200_10000")


@pytest.mark.parametrize(
    ("workload", "params", "expected"),
    [
        ("lstm", {"l": 2, "c": 1024}, ("lstm", "l=2,c=1024")),
        ("gmm_array", {"d": 2, "k": 5, "n": 1000}, ("gmm", "2_5_1000")),
        ("adbench_gmm_array", {"d": 2, "k": 5, "n": 1000}, ("adbench_gmm", "2_5_1000")),
        ("det", {"ell": 5}, ("det", "5")),
        ("kmeans", {"k": 10, "n": 1000, "d": 8}, ("kmeans", "k=10,n=1000,d=8")),
        ("ba", {"p": 31843}, ("ba", "ba1_n49_m7776_p31843")),
        ("ht_complicated", {"model": "big", "c": 200}, ("ht", "hand3_t26_c200")),
        ("ht", {"model": "small", "c": 100}, None),  # GradBench's statistics are of the complicated one
        ("poly", {"n": 10}, None),
        ("heston", {}, None),
    ],
)
def test_what_sources_call_a_row(workload, params, expected):
    assert problem_of(workload, params) == expected


def test_the_same_size_or_the_nearest():
    (exact,) = stated("lstm_array", {"l": 4, "c": 4096})
    assert (exact.size, exact.exact, exact.ratios[0]) == ("l=4,c=4096", True, ("codipack", 2.17))
    (near,) = stated("lstm_array", {"l": 2, "c": 16})
    assert (near.size, near.exact) == ("l=2,c=1024", False)
    (other,) = stated("adbench_gmm", {"d": 10, "k": 40, "n": 1000})
    assert (other.source.name, other.size, other.exact) == ("ADBench 2018", "10_50_10000", False)
    assert [source.source.name for source in stated("ba", {"p": 31843})] == ["ADBench 2018", "GradBench 2026-03-14"]


def test_the_smallest_comes_first():
    (all_of,) = stated("det", {"ell": 6})
    assert [ratio for _, ratio in all_of.ratios] == sorted(ratio for _, ratio in all_of.ratios)


@pytest.mark.parametrize(
    ("workload", "params"), [("poly", {"n": 10}), ("hello", {"x": 4}), ("particle", {"inner": "forward"})]
)
def test_what_nobody_has_published(workload, params):
    assert stated(workload, params) == []
