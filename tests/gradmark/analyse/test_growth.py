"""Growth: what costs are fitted against."""

from gradmark.analyse.growth import families, growth
from gradmark.analyse.suspects import sentence
from gradmark.records import Cell, Environment, Measurement, Run, Settings, TapeSize

HERE = Environment(cpu="c", cores=2, memory_bytes=1, os="o", python="p", packages={})


def measured(params, tape, workload="w", kind="scalar", dtype="float64", device="cpu", **more):
    return Measurement(
        cell=Cell(engine="e", workload=workload, suite="s", params=params, kind=kind, dtype=dtype, device=device),
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
        ("w/depth=4/n=*@e", "n"): 4,
        ("w/depth=16/n=*@e", "n"): 4,
    }
    found, suspected = growth(run)
    assert [(family.name, [(fit.metric, fit.verdict) for fit in family.fits]) for family in found] == [
        ("w/depth=4/n=*@e", [("tape_instructions", "linear")]),
        ("w/depth=16/n=*@e", [("tape_instructions", "linear")]),
    ]
    assert suspected == []


def test_dtypes_and_devices_are_not_mixed():
    kinds = [("float32", "cpu"), ("float64", "cpu"), ("float32", "cuda")]
    run = a_run(
        *(
            measured({"n": n}, n, kind="tensor", dtype=dtype, device=device, shapes={"x": [n]})
            for dtype, device in kinds
            for n in (1, 2, 3, 4)
        )
    )
    assert list(families(run)) == [
        ("w/n=*@e", "n"),
        ("w/n=*/dtype=float64@e", "n"),
        ("w/n=*/device=cuda@e", "n"),
    ]


def test_a_suspect_names_its_family():
    run = a_run(*(measured({"n": n}, n * n) for n in (1, 10, 100, 1000)))
    (suspect,) = growth(run).suspects
    assert (suspect.family, suspect.metric, suspect.key) == ("w/n=*@e", "tape_instructions", "tape_instructions")
    assert sentence(suspect).startswith("w/n=*@e: tape grows as n^2.00 (1.98 to 2.02): suspect")


def test_what_has_no_place_on_a_curve():
    run = a_run(
        *(measured({"n": n}, n) for n in (0, 1, 2, 3)),
        *(measured({"f": word}, 1, workload="words") for word in "abcd"),
        *(measured({"n": n}, n, workload="failed", status="error") for n in (1, 2, 3, 4)),
    )
    assert families(run) == {}
