"""Pairs: which processes are compared, and what is said of them."""

import msgspec
import pytest

from gradmark.gate.configuration import Configuration
from gradmark.gate.pairs import ONCE, PHASES, PairedOnce, PairedTimes, joined, paired
from gradmark.records import Budget, Cell, Measurement, Phase, Sample

CELL = Cell(engine="e", workload="poly", suite="scalar")


def times(before, now, kind=PairedTimes):
    return kind("c", "poly", "total", before, now)


def test_the_permutation_test_is_exact_and_one_sided():
    assert times([1.0] * 12, [2.0] * 12).p_value == pytest.approx(1 / 4096)
    assert times([2.0] * 12, [1.0] * 12).p_value == 1.0
    assert times([1.0], [2.0]).p_value == 1.0
    assert times([0.0, 1.0], [1.0, 1.0]).p_value == 1.0


def test_noise_is_of_equal_things():
    calm = [100.0 + k / 10 for k in range(12)]
    assert times(calm, [1.5 * x for x in reversed(calm)]).noise < 0.01
    assert times([1.0] * 6, [7.0] * 6).noise == 0.0


def measurement(floors, phases=("total",), once_ns=None, cell=CELL):
    samples = [
        Sample(
            process=process,
            phases={phase: Phase(iterations=1, block_ns=[2 * ns, ns]) for phase in phases},
            once_ns=once_ns or {},
            harness_ns=1.0,
            clock_ns=1.0,
        )
        for process, ns in floors.items()
    ]
    return Measurement(cell=cell, status="ok", samples=samples)


def test_pairs_are_samples_of_one_process_number():
    before, now = measurement({0: 10.0, 1: 11.0, 2: 12.0}), measurement({2: 22.0, 0: 20.0, 3: 23.0})
    assert paired(before, now, range(10)) == [PairedTimes("poly@e", "poly", "total", [10.0, 12.0], [20.0, 22.0])]
    assert paired(before, now, range(1, 3)) == [PairedTimes("poly@e", "poly", "total", [12.0], [22.0])]
    assert paired(before, now, range(3, 9)) == []


def test_the_phases_that_are_gated_are_those_with_a_budget():
    assert PHASES == ("forward", "backward", "total")
    both = measurement({0: 10.0}, phases=("primal", "forward", "own phase"))
    assert [row.phase for row in paired(both, both, [0])] == ["forward"]


PROCESSES = [0, 1, 2, 3]  # fewer do not prove it


def test_a_backward_that_cannot_be_repeated_is_not_compared():
    def once(total_ns):
        made = measurement(dict.fromkeys(PROCESSES, 1000.0), phases=("forward", "backward", "total"))
        whole = Phase(iterations=1, block_ns=[total_ns])
        samples = [msgspec.structs.replace(s, phases={**s.phases, "total": whole}) for s in made.samples]
        return msgspec.structs.replace(made, samples=samples)

    assert [row.phase for row in paired(once(2000.0), once(2000.0), PROCESSES)] == ["forward", "backward", "total"]
    assert [row.phase for row in paired(once(2000.0), once(9000.0), PROCESSES)] == ["forward", "total"]


# --- what happens once in a process

MS = 1e6


def test_what_happens_once_is_paired_as_well_and_an_import_is_the_engines():
    once_ns = {"import": 30 * MS, "prepare": 2 * MS, "first_call": 3 * MS, "warm_up": 9 * MS}
    both = measurement({0: 10.0, 1: 10.0}, phases=(), once_ns=once_ns)
    assert [entry.name for entry in ONCE] == ["import", "prepare", "first_call"]
    assert paired(both, both, range(2)) == [
        PairedOnce("e", "", "import", [30 * MS] * 2, [30 * MS] * 2),
        PairedOnce("poly@e", "poly", "prepare", [2 * MS] * 2, [2 * MS] * 2),
        PairedOnce("poly@e", "poly", "first_call", [5 * MS] * 2, [5 * MS] * 2),
    ]


def test_a_process_that_did_not_say_is_in_no_pair():
    told, silent = ({"import": 30 * MS}, {})
    before = measurement({0: 10.0}, phases=(), once_ns=told)
    assert paired(before, measurement({0: 10.0}, phases=(), once_ns=silent), [0]) == []


def test_the_rows_of_an_engine_say_together_what_its_import_takes():
    first, second = PairedOnce("e", "", "import", [1.0], [2.0]), PairedOnce("e", "", "import", [3.0], [5.0])
    other = PairedOnce("c@e", "c", "prepare", [1.0], [1.0])
    assert joined([first, other, second]) == [PairedOnce("e", "", "import", [1.0, 3.0], [2.0, 5.0]), other]


def test_pairs_share_their_moment():
    """Half of the pairs met a machine that was five times slower: their differences do not tell."""
    before = [100 * MS * (1 + 4 * (k % 2)) + k for k in range(12)]
    slower = times(before, [ns + 30 * MS for ns in before], PairedOnce)
    assert slower.levels == (pytest.approx(300 * MS, abs=20), pytest.approx(330 * MS, abs=20))
    assert (slower.p_value, slower.noise) == (pytest.approx(1 / 4096), 0.0)
    assert times(before, before[::-1], PairedOnce).noise > 0.5


def test_noise_of_what_is_once_is_the_interval_of_the_median_difference():
    differences = [-9.0, -5.0, -4.0, -3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 6.0, 7.0, 90.0]
    row = times([100.0] * 12, [100.0 + ns for ns in differences], PairedOnce)
    assert row.levels == (100.0, 100.0)
    assert row.noise == 0.06  # of twelve, the third from either end; one far away says nothing
    assert times([100.0] * 2, [90.0, 130.0], PairedOnce).noise == 0.2
    assert times([100.0], [100.0], PairedOnce).noise == float("inf")


def test_beyond_the_budget_is_beyond_share_and_time():
    settings = Configuration(budgets={"import": Budget(share=0.1, added_ns=50 * MS)})

    def beyond(before, now):
        return PairedOnce("e", "", "import", [before] * 3, [now] * 3).is_beyond(settings)

    assert not beyond(100 * MS, 160 * MS)
    assert beyond(100 * MS, 161 * MS)
    assert not PairedOnce("e", "", "import", [], []).is_beyond(settings)
