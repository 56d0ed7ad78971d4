import re
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.watched import never_calm, watched

from gradmark.records import Environment, Memory, Phase, Sample, Settings
from gradmark.report.exports.go import benchmark_name, render

# What unicode.IsSpace of Go accepts.
GO_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


class Result(NamedTuple):
    """A result line as benchfmt reads it: the name without `Benchmark`, iterations, values by unit."""

    name: str
    iterations: int
    values: dict[str, float]

    @property
    def parts(self) -> list[str]:
        """The base name and the parameters; a trailing -N would be taken off as the number of processors."""
        assert not re.search(r"-[0-9]+\Z", self.name)
        return self.name.split("/")


class Parsed(NamedTuple):
    config: dict[str, str]
    units: dict[str, dict[str, str]]
    results: list[Result]
    ignored: list[str]


def fields(line: str) -> list[str]:
    return [field for field in re.split(f"[{GO_SPACE}]+", line) if field]


def parse(text: str) -> Parsed:
    """x/perf/benchfmt's Reader, without its leniency: whatever it would call a syntax error fails the test."""
    text.encode()  # only UTF-8 is read
    parsed = Parsed({}, {}, [], [])
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        if line.startswith("Benchmark"):
            parsed.results.append(parse_result(line))
        elif fields(line)[:1] == ["Unit"]:
            _, unit, *pairs = fields(line)
            assert unit not in parsed.units
            parsed.units[unit] = dict(pair.split("=", 1) for pair in pairs)
        elif pair := re.fullmatch(rf"([^\W\d_A-Z][^{GO_SPACE}A-Z:]*):[ \t]+(.*)", line):
            parsed.config[pair[1]] = pair[2]
        else:
            parsed.ignored.append(line)
    return parsed


def parse_result(line: str) -> Result:
    name, iterations, *pairs = fields(line)
    name = name.removeprefix("Benchmark")
    assert name[0].isupper()
    assert re.fullmatch(r"[0-9]+", iterations)
    assert pairs
    assert len(pairs) % 2 == 0
    values = {unit: float(value) for value, unit in zip(pairs[::2], pairs[1::2], strict=True)}
    assert len(values) == len(pairs) // 2
    return Result(name, int(iterations), values)


def test_a_run(make: Any) -> None:
    samples = [make.sample(0), make.sample(1, {"primal": 900.0, "total": 154125.0})]
    run = make.run(
        make.measurement(make.cell(n=1000), samples=samples),
        make.failed("wrong-gradient", "off by\n1e-3", make.cell(engine="bad", n=1000)),
        make.failed("skipped", "", make.cell(engine="bad", n=10_000)),
    )
    assert render(run) == (
        "goos: linux\n"
        "goarch: amd64\n"
        "cpu: AMD EPYC\n"
        "pkg: gradmark\n"
        "Unit ns/op better=lower\n"
        "Unit fwd-ns/op better=lower\n"
        "Unit bwd-ns/op better=lower\n"
        "Unit GFLOP/s better=higher\n"
        "Unit MB/s better=higher\n"
        "Unit B/op better=lower assume=exact\n"
        "Unit allocs/op better=lower assume=exact\n"
        "BenchmarkPoly/n=1000/engine=tapegrad 20 2500 ns/op 2000 fwd-ns/op 500 bwd-ns/op 0 B/op 0 allocs/op\n"
        "BenchmarkPoly/n=1000/engine=tapegrad 20 154125 ns/op 0 B/op 0 allocs/op\n"
        "--- FAIL: BenchmarkPoly/n=1000/engine=bad\n"
        "    wrong gradient: off by 1e-3\n"
        "--- SKIP: BenchmarkPoly/n=10000/engine=bad\n"
        "    skipped\n"
    )


def test_it_is_read_back(make: Any) -> None:
    parsed = parse(render(make.run(make.measurement(), make.failed("crash", "goos: plan9", make.cell(n=100)))))
    assert parsed.config == {"goos": "linux", "goarch": "amd64", "cpu": "AMD EPYC", "pkg": "gradmark"}
    assert parsed.units["allocs/op"] == {"better": "lower", "assume": "exact"}
    assert parsed.units["ns/op"] == {"better": "lower"}
    (result,) = parsed.results
    assert result.parts == ["Poly", "n=10", "engine=tapegrad"]
    assert result.iterations == 20
    assert result.values == {"ns/op": 2500, "fwd-ns/op": 2000, "bwd-ns/op": 500, "B/op": 0, "allocs/op": 0}
    assert parsed.ignored == ["--- FAIL: BenchmarkPoly/n=100/engine=tapegrad", "    crashed: goos: plan9"]


def test_an_empty_run(make: Any) -> None:
    assert parse(render(make.run())).results == []


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (None, {}),
        (Memory(reason="memray is not installed"), {}),
        (Memory(allocations=0.0), {"B/op": 0.0, "allocs/op": 0.0}),
        (Memory(allocations=12.0, peak_bytes=4096), {"allocs/op": 12.0}),
        (Memory(allocations=0.0005), {"allocs/op": 0.0005}),
    ],
)
def test_allocations_only_if_known(make: Any, memory: Memory | None, expected: dict[str, float]) -> None:
    run = make.run(make.measurement(memory=memory, samples=[make.sample(times={"total": 1.5})]))
    (result,) = parse(render(run)).results
    assert result.values == {"ns/op": 1.5, **expected}


def test_primal_stands_in_for_total(make: Any) -> None:
    run = make.run(make.measurement(samples=[make.sample(times={"primal": 1234567.25})], memory=None))
    assert render(run).splitlines()[-1] == "BenchmarkPoly/n=10/engine=tapegrad 20 1234567 ns/op"


def test_a_process_without_a_time_has_no_line(make: Any) -> None:
    untimed = Phase(how="measured", iterations=1, block_ns=[])
    odd = [
        make.sample(times={"forward": 1.0}),
        make.sample(times={"total": float("nan")}),
        Sample(process=2, phases={"total": untimed}, once_ns={}, harness_ns=0.0, clock_ns=1.0),
    ]
    assert parse(render(make.run(make.measurement(samples=odd)))).results == []


def test_every_process_has_its_own_times(make: Any) -> None:
    samples = make.totals(2500.0, 2600.0, 2400.0)
    results = parse(render(make.run(make.measurement(samples=samples)))).results
    assert [result.values["ns/op"] for result in results] == [2500, 2600, 2400]
    assert [result.values["fwd-ns/op"] for result in results] == [2000, 2080, 1920]


def test_what_an_older_file_computed_is_no_sample(make: Any) -> None:
    run = make.run(make.measurement(samples=[make.sample(derived=["backward"])]))
    (result,) = parse(render(run)).results
    assert result.values.keys() == {"ns/op", "fwd-ns/op", "B/op", "allocs/op"}


def test_what_is_not_known_of_the_machine_is_left_out(make: Any) -> None:
    environment = Environment(cpu="", cores=1, memory_bytes=0, os="Haiku", python="", packages={})
    assert parse(render(make.run(environment=environment))).config == {"pkg": "gradmark"}


@pytest.mark.parametrize(("system", "expected"), [("Darwin 23 arm64", "darwin"), ("Windows 11", "windows")])
def test_the_system(make: Any, system: str, expected: str) -> None:
    environment = Environment(cpu="x", cores=1, memory_bytes=0, os=system, python="", packages={})
    assert parse(render(make.run(environment=environment))).config["goos"] == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "BenchmarkPoly/n=10/engine=tapegrad"),
        ({"engine": "tapegrad:fresh"}, "BenchmarkPoly/n=10/engine=tapegrad:fresh"),
        ({"workload": "sum of\tpowers"}, "BenchmarkSum_of_powers/n=10/engine=tapegrad"),
        ({"workload": "2d"}, "BenchmarkW2d/n=10/engine=tapegrad"),
        ({"workload": "多"}, "BenchmarkW多/n=10/engine=tapegrad"),
        ({"workload": "élan"}, "BenchmarkÉlan/n=10/engine=tapegrad"),
        ({"workload": "a/b"}, "BenchmarkA_b/n=10/engine=tapegrad"),
        ({"workload": "", "engine": "\n"}, "BenchmarkW_/n=10/engine=_"),
        ({"params": {}}, "BenchmarkPoly/engine=tapegrad"),
        ({"params": {"n": 10, "kind": "a b"}}, "BenchmarkPoly/n=10/kind=a_b/engine=tapegrad"),
        ({"dtype": "float32", "device": "cuda:0"}, "BenchmarkPoly/n=10/engine=tapegrad/dtype=float32/device=cuda:0"),
        ({"engine": "xad-2"}, "BenchmarkPoly/n=10/engine=xad-2/threads=1"),
        ({"engine": "xad-2", "dtype": "bf16"}, "BenchmarkPoly/n=10/engine=xad-2/dtype=bf16"),
    ],
)
def test_names(make: Any, fields: dict[str, Any], expected: str) -> None:
    assert benchmark_name(make.cell(**fields)) == expected


def test_cells_are_never_pooled(make: Any) -> None:
    run = make.run(*(make.measurement(make.cell(name)) for name in ("a b", "a_b", "a/b")))
    names = [result.name for result in parse(render(run)).results]
    assert names == ["A_b/n=10/engine=tapegrad", "A_b/n=10/engine=tapegrad/cell=2", "A_b/n=10/engine=tapegrad/cell=3"]


anything = st.text(st.characters(), max_size=12) | st.from_regex(r"[a-z =/:-]{0,4}-[0-9]{1,3}\n?", fullmatch=True)
params = st.dictionaries(anything, anything | st.integers() | st.floats(), max_size=2)


@given(workload=anything, engine=anything, params=params, dtype=anything, message=anything, cpu=anything)
def test_whatever_the_names_every_line_is_read(make: Any, message: str, cpu: str, **names: Any) -> None:
    environment = Environment(cpu=cpu, cores=1, memory_bytes=0, os="Linux", python="", packages={})
    cell = make.cell(**names)
    run = make.run(
        make.measurement(cell, samples=[make.sample(0), make.sample(1)]),
        make.failed("error", message, cell),
        environment=environment,
        settings=Settings(threads=2),
    )
    parsed = parse(render(run))
    assert parsed.config.keys() <= {"goos", "goarch", "cpu", "pkg"}
    assert [result.values["ns/op"] for result in parsed.results] == [2500.0, 2500.0]
    first, second = parsed.results
    assert first.parts == second.parts
    assert sum("engine=" in part for part in first.parts) >= 1
    assert [line[:9] for line in parsed.ignored if not line.startswith("    ")] == ["--- FAIL:"]


@pytest.mark.parametrize(
    "line",
    ["Benchmarkpoly 1 2 ns/op", "BenchmarkPoly 1.5 2 ns/op", "BenchmarkPoly 1", "BenchmarkPoly 1 2", "BenchmarkA-8 x"],
)
def test_the_parser_of_these_tests_is_strict(line: str) -> None:
    with pytest.raises(AssertionError):
        parse_result(line)
    with pytest.raises(AssertionError):
        _ = Result("Poly/engine=xad-2", 1, {}).parts


def test_rates_of_tensors(make: Any) -> None:
    run = make.run(make.tensor(bytes=5e3), make.tensor(make.cell(n=3), flops=None))
    first, second = parse(render(run)).results
    assert first.parts == ["Mlp", "batch=128", "engine=tapegrad", "dtype=float32"]
    assert (first.values["GFLOP/s"], first.values["MB/s"]) == (4, 2000)
    assert not {"GFLOP/s", "MB/s"} & second.values.keys()


def test_processes_that_saw_no_calm_machine_have_no_line_if_others_have(make: Any) -> None:
    samples = [
        watched(sample, calm=calm) for sample, calm in zip(make.totals(2500.0, 2400.0, 2600.0), (4, 0, 4), strict=True)
    ]
    results = parse(render(make.run(make.measurement(samples=samples)))).results
    assert [result.values["ns/op"] for result in results] == [2500, 2600]
    none = never_calm(make.measurement(samples=samples))
    assert [result.values["ns/op"] for result in parse(render(make.run(none))).results] == [2500, 2400, 2600]


def test_a_part_that_was_not_calm_is_left_out_of_its_line(make: Any) -> None:
    first, second = (watched(sample) for sample in make.totals(2500.0, 2600.0))
    slow = msgspec.structs.replace(
        second, phases={**second.phases, "forward": watched(second, calm=0).phases["forward"]}
    )
    results = parse(render(make.run(make.measurement(samples=[first, slow])))).results
    assert [result.values.get("fwd-ns/op") for result in results] == [2000, None]


def test_a_derivative_is_part_of_the_name(make: Any) -> None:
    cell = make.cell(derivative="hvp")
    assert benchmark_name(cell) == "BenchmarkPoly/n=10/engine=tapegrad/derivative=hvp"
