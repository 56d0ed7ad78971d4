"""Growth: what costs are fitted against."""

from gradmark.analyse.growth import families, growth
from gradmark.records import Cell, Environment, Measurement, Run, Settings, TapeSize

HERE = Environment(cpu="c", cores=2, memory_bytes=1, os="o", python="p", packages={})


def measured(params, tape, workload="w", dtype="float64", **more):
    return Measurement(
        cell=Cell(engine="e", workload=workload, suite="s", params=params, dtype=dtype),
        status=more.pop("status", "ok"),
        tape=TapeSize(instructions=tape),
        **more,
    )


def a_run(*measurements):
    return Run(id="i", started="s", environment=HERE, settings=Settings(), measurements=list(measurements))


def test_one_family_for_each_value_of_the_other_parameters():
    cells = [({"depth": depth, "n": n}, depth * n) for depth in (4, 16) for n in (1, 10, 100, 1000)]
    run = a_run(*(measured(params, tape, shapes={"x": [1]}, bytes=8.0 * tape) for params, tape in cells))
    assert {key: len(members) for key, members in families(run).items()} == {
        ("w/depth=4/float64 e", "n"): 4,
        ("w/depth=16/float64 e", "n"): 4,
    }
    found, suspected = growth(run)
    assert [(name, [(fit.metric, fit.verdict) for fit in fits]) for name, fits in found] == [
        ("w/depth=4/float64 e", [("tape", "linear")]),
        ("w/depth=16/float64 e", [("tape", "linear")]),
    ]
    assert suspected == []


def test_dtypes_are_not_mixed():
    run = a_run(
        *(measured({"n": n}, n, dtype=d, shapes={"x": [n]}) for d in ("float32", "float64") for n in (1, 2, 3, 4))
    )
    assert list(families(run)) == [("w/float32 e", "n"), ("w/float64 e", "n")]


def test_what_has_no_place_on_a_curve():
    run = a_run(
        *(measured({"n": n}, n) for n in (0, 1, 2, 3)),
        *(measured({"f": word}, 1, workload="words") for word in "abcd"),
        *(measured({"n": n}, n, workload="failed", status="error") for n in (1, 2, 3, 4)),
    )
    assert families(run) == {}
