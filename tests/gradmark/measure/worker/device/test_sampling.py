"""Rows on a device of known costs: what is measured comes out as it was planted, to the last nanosecond.

The same engine-independent claims are made of a real device, where there is one.
"""

import dataclasses
import importlib.util

import msgspec
import pytest

from gradmark.analyse.summary import summarise
from gradmark.engines.cuda_presence import has_cuda
from gradmark.engines.protocol import OwnQueue
from gradmark.engines.virtual import Kernel, Virtual, VirtualDevice
from gradmark.measure.job import Job
from gradmark.measure.orchestrator import measured
from gradmark.measure.worker.jobs import run
from gradmark.records import Cell, Code, Settings
from gradmark.revisions.device_faults import DEVICE_FAULTS

QUICK = Settings(blocks=4, pin=False, memory=True)
POLY = {"n": 10}


class Queued(Virtual):
    """Work in a queue of its own, as XLA's, and a way to wait for it."""

    name = "queued"
    own_queue = True

    def changed(self, session):
        def flush(times):
            for _ in range(times):
                self.device.flush(own=True)

        return dataclasses.replace(session, queue=OwnQueue(self.device.join, flush), replay=None)


class Slow(VirtualDevice):
    """Throttled for 6 ms of every 20, to half its clock."""

    period_ns, throttled_ns, factor = 20e6, 6e6, 2.0


class SlowNowAndThen(Virtual):
    name = "slow"

    def made(self):
        return Slow()


class ManyLaunches(Virtual):
    """The host needs 600 µs to ask for what the device does in 30."""

    name = "many-launches"
    forward_kernels = tuple(Kernel(f"forward {k}", 500.0, 500.0, 10_000.0) for k in range(20))
    backward_kernels = tuple(Kernel(f"backward {k}", 500.0, 500.0, 10_000.0) for k in range(40))


class Nowhere(Virtual):
    name = "nowhere"

    def changed(self, session):
        return dataclasses.replace(session, device_name=None)


class Uncapturable(Virtual):
    name = "uncapturable"

    def changed(self, session):
        def refuse():
            raise RuntimeError("a stream that is being captured cannot be waited for")

        return dataclasses.replace(session, replay=refuse)


def of_cell(cell, settings=QUICK):
    """What is inspected and timed of a cell in this process."""
    inspected = run(Job(kind="inspect", cell=cell, settings=settings))
    known = measured(cell, inspected)
    if inspected.status != "ok":
        return known
    job = Job(
        kind="time", cell=cell, settings=settings, reference=inspected.reference, expected=inspected.expected,
        reference_name=inspected.accuracy.reference if inspected.accuracy is not None else "",
    )  # fmt: skip
    timed = run(job)
    samples = [timed.sample] if timed.sample is not None else []
    return msgspec.structs.replace(known, status=timed.status, message=timed.message, samples=samples)


def on_virtual(engine, device="virtual"):
    where = "gradmark.engines.virtual" if engine == "Virtual" else __name__
    return of_cell(Cell(engine=f"{where}:{engine}", workload="poly", suite="scalar", params=POLY, device=device))


def times(measurement):
    numbers = summarise(measurement).numbers
    names = ("primal", "forward", "backward", "total", "cold", "hot", "host", "replayed")
    return {name: numbers[name].value for name in names if name in numbers}


def test_times_are_those_that_were_planted():
    """Forward is three kernels of 20 µs cold and 15 warm, backward six of 30 and 25; a launch takes the host 2 µs."""
    found = on_virtual("Virtual")
    assert (found.status, found.message) == ("ok", "")
    assert times(found) == {
        "primal": 60e3, "forward": 60e3, "backward": 180e3, "total": 240e3, "cold": 240e3, "hot": 195e3, "host": 18e3,
        "replayed": 240e3,
    }  # fmt: skip


def test_what_an_iteration_asks_for_is_counted():
    found = on_virtual("Virtual")
    work = found.device_work
    assert (work.kernels, work.apart_kernels, work.copies, work.copied_bytes, work.busy_ns) == (9, 9, 0, 0, 195e3)
    assert (work.read_bytes, work.moved_bytes) == (8.0, 16.0)  # poly has one number and one derivative
    numbers = summarise(found).numbers
    assert (numbers["kernels"].value, numbers["busy"].value) == (9, 1.0)
    assert found.memory.of_device
    assert (found.memory.retained_bytes, found.memory.peak_bytes, found.memory.allocations) == (1000, 1500, 2.0)
    assert found.samples[0].roofs == {"bytes": 1e12, "flops": 1e13}


def test_a_queue_of_its_own_is_timed_like_others():
    """Its caches are flushed where its work is queued, and so its host is ahead of it."""
    expected = times(on_virtual("Virtual"))
    del expected["replayed"]
    assert times(on_virtual("Queued")) == expected


class CompilesEach(Virtual):
    """The first call of each of its functions takes the host 100 ms: twice as long as a phase is timed."""

    name = "compiles-each"

    def changed(self, session):
        def compiled(call):
            seen = []

            def called():
                if not seen:
                    self.device.now_ns += 100e6
                seen.append(None)
                return call()

            return called

        names = ("primal", "forward", "backward", "total")
        return dataclasses.replace(session, **{name: compiled(getattr(session, name)) for name in names})


def test_what_compiles_when_it_is_first_called_is_called_before_it_is_timed():
    found = on_virtual("CompilesEach")
    assert times(found) == times(on_virtual("Virtual"))
    (sample,) = found.samples
    assert {name: max(phase.block_ns) for name, phase in sample.phases.items()} == times(found)
    assert {len(phase.block_ns) for name, phase in sample.phases.items() if name != "hot"} == {64}


def test_a_host_that_is_slow_is_no_time_of_the_device():
    """An iteration takes as long as the host needs to ask for it; the device by itself is 20 times as fast."""
    found = on_virtual("ManyLaunches")
    assert times(found) == {
        "primal": 200e3, "forward": 200e3, "backward": 400e3, "total": 600e3, "cold": 30e3, "hot": 600e3,
        "host": 600e3, "replayed": 30e3,
    }  # fmt: skip
    assert summarise(found).numbers["busy"].value == 0.05
    assert [warning.code for warning in summarise(found).warnings] == [Code.LAUNCH_BOUND]


def test_throttled_samples_are_dropped_and_counted():
    found = on_virtual("SlowNowAndThen")
    assert times(found) == times(on_virtual("Virtual"))
    (cold,) = (sample.phases["cold"] for sample in found.samples)
    slow = [ns for ns in cold.block_ns if ns > 240e3]
    assert slow
    assert set(cold.calm_ns) == {240e3}
    (warning,) = summarise(found).warnings
    assert warning.code is Code.THROTTLED
    assert warning.numbers == {"dropped": len(cold.block_ns) - len(cold.calm), "samples": len(cold.block_ns)}
    assert warning.numbers["dropped"] >= len(slow)


class Clockless(VirtualDevice):
    """Nobody knows its clock. Throttled as the other."""

    period_ns, throttled_ns, factor = 20e6, 6e6, 2.0

    def clock_ns(self):
        return None


class NobodyKnows(Queued):
    name = "nobody-knows"

    def made(self):
        return Clockless()


def test_without_a_clock_a_flush_tells():
    found = on_virtual("NobodyKnows")
    expected = times(on_virtual("Virtual"))
    del expected["replayed"]
    assert times(found) == expected
    pilots = {ns for phase in found.samples[0].phases.values() for pair in phase.pilots["device"] for ns in pair}
    assert {60e3, 120e3} <= pilots <= {60e3, 120e3, 90e3}  # between them, where the clock changed meanwhile
    assert found.samples[0].phases["cold"].reference["device"] == pytest.approx(60e3, rel=1e-3)
    assert [warning.code for warning in summarise(found).warnings] == [Code.THROTTLED]


def test_what_cannot_be_captured_is_not_replayed():
    found = on_virtual("Uncapturable")
    assert times(found) == {name: ns for name, ns in times(on_virtual("Virtual")).items() if name != "replayed"}
    assert summarise(found).reasons["replayed"] == "the engine cannot capture an iteration as a graph"


@pytest.mark.parametrize("fault", DEVICE_FAULTS, ids=lambda fault: fault.engine)
def test_every_fault_is_named_and_nothing_else(fault):
    found = of_cell(fault.cell)
    status = [] if found.status == "ok" else [found.status]
    said = status + [warning.code for warning in summarise(found).warnings]
    assert said == ([fault.verdict] if fault.verdict is not None else []), found.message


def test_a_session_says_where_its_arrays_are():
    found = on_virtual("Nowhere")
    assert found.status == "error"
    assert "its session does not say where its arrays are, and virtual was planned" in found.message


@pytest.mark.peers
@pytest.mark.skipif(not has_cuda(), reason="there is no CUDA device")
@pytest.mark.parametrize("engine", ["torch", "torch:compile", "jax", "tapegrad"])
def test_a_real_device(engine):
    package = {"tapegrad": "cupy"}.get(engine, engine.partition(":")[0])
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    params = {"depth": 4, "n": 1_000_000}
    found = of_cell(
        Cell(engine=engine, workload="elementwise", suite="tensor", params=params, kind="tensor", dtype="float32",
             device="cuda")
    )  # fmt: skip
    assert (found.status, found.message) == ("ok", "")
    numbers = summarise(found).numbers
    assert {"total", "cold", "hot", "host"} <= set(numbers)
    assert numbers["total"].value >= numbers["cold"].value > 0
    assert found.memory.of_device
    assert found.samples[0].roofs["bytes"] > 1e11
    if found.device_work.kernels is not None:
        assert found.device_work.kernels >= 1


class CopiesWhatItTakes(Virtual):
    """Takes inputs over by kernels that take as long as the function: so it does for any function."""

    name = "copies"

    def changed(self, session):
        def move(new):
            self.device.launch(Kernel("copy", 400e3, 400e3))
            session.move(new)

        return dataclasses.replace(session, move=move)


class ComputesWhenMoved(Virtual):
    """Does its work when it takes new inputs over, but not for the small function that it is compared with."""

    name = "computes-when-moved"

    def prepare(self, workload, inputs, params):
        session = super().prepare(workload, inputs, params)
        if workload.function.__name__ != "poly":
            return session

        def move(new):
            for kernel in (*self.forward_kernels, *self.backward_kernels):
                self.device.launch(kernel)
            session.move(new)

        return dataclasses.replace(session, move=move)


class Keeps(Virtual):
    """Asks the device for new inputs only."""

    name = "keeps"

    def changed(self, session):
        fresh = [True]

        def move(new):
            fresh[0] = True
            session.move(new)

        def total():
            kept = {} if fresh[0] else {"launch": lambda *_kernel, **_own: None}
            fresh[0] = False
            vars(self.device).update(kept)
            try:
                return session.total()
            finally:
                vars(self.device).pop("launch", None)

        return dataclasses.replace(session, move=move, total=total, forward=None, backward=None)


class GivesViews(Virtual):
    """Its gradient is made an array by a kernel, whenever it is read."""

    name = "gives-views"

    def changed(self, session):
        def gradients():
            for kernel in self.backward_kernels:
                self.device.launch(kernel)
            return session.gradients()

        return dataclasses.replace(session, gradients=gradients)


class ComputesWhenRead(Virtual):
    """Its gradient is computed when it is first read after a call."""

    name = "computes-when-read"

    def changed(self, session):
        waiting = [False]

        def total():
            waiting[0] = True
            return session.total()

        def gradients():
            for kernel in self.backward_kernels if waiting[0] else ():
                self.device.launch(kernel)
            waiting[0] = False
            return session.gradients()

        return dataclasses.replace(session, total=total, gradients=gradients, forward=None, backward=None)


def test_a_view_that_becomes_an_array_whenever_it_is_read_is_not_work():
    assert on_virtual("GivesViews").status == "ok"


def test_work_that_is_done_when_the_result_is_first_read():
    found = on_virtual("ComputesWhenRead")
    assert found.status == "untimed-work"
    assert found.message.endswith("while the result is read, 195 µs in the calls that are timed")


def test_inputs_that_are_copied_on_the_device_are_not_work():
    assert on_virtual("CopiesWhatItTakes").status == "ok"


def test_work_that_is_done_while_inputs_are_taken():
    found = on_virtual("ComputesWhenMoved")
    assert (found.status, found.message) == (
        "untimed-work",
        "kernels take 195 µs while new inputs are taken over, 195 µs in the calls that are timed",
    )


def test_a_result_that_is_kept():
    found = on_virtual("Keeps")
    assert (found.status, found.message) == (
        "untimed-work",
        "kernels take 195 µs for new inputs, 0 ns for the same ones: a result is kept",
    )
