"""Engines with a fault each, wrapped round tapegrad: what a laboratory must see."""

import dataclasses
import itertools
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

from gradmark import Capabilities, Session, UnsupportedError
from gradmark.engines.tapegrad import Tapegrad


class Faulty(Tapegrad):
    """tapegrad with one function of its session replaced."""

    def prepare(self, workload, inputs, params):
        session = super().prepare(workload, inputs, params)
        return dataclasses.replace(session, **self.faults(session))

    def faults(self, session):
        return {}


class WrongGradient(Faulty):
    name = "wrong"

    def faults(self, session):
        return {"gradients": lambda: [g * (1 + 1e-6) for g in session.gradients()]}


class NotANumber(Faulty):
    name = "nan"

    def faults(self, session):
        return {"gradients": lambda: [float("nan")]}


class TooFew(Faulty):
    name = "too-few"

    def faults(self, session):
        return {"gradients": list}


def changed(place, change):
    """Faults of tensors: one input's gradient is changed."""

    def faults(self, session):
        def gradients():
            found = list(session.gradients())
            return [*found[:place], change(found[place]), *found[place + 1 :]]

        return {"gradients": gradients}

    return faults


class ScaledTensor(Faulty):
    """One part in a thousand too large, with respect to one input of several."""

    name = "scaled-tensor"
    faults = changed(1, lambda g: g * (1 + 1e-3))


class TransposedTensor(Faulty):
    name = "transposed-tensor"
    faults = changed(0, lambda g: g.T)


class BroadcastSumDropped(Faulty):
    """The cotangent of a broadcast operand is cut to its shape, and not summed."""

    name = "broadcast-sum-dropped"
    faults = changed(1, lambda g: g / g.size)  # the rows are as many as the columns


class BroadcastShapeKept(Faulty):
    """The cotangent of a broadcast operand is left in the shape of the result."""

    name = "broadcast-shape-kept"
    faults = changed(1, lambda g: g + 0 * g[:, None])


class WrongTensorLater(Faulty):
    """Right for twenty calls, then wrong and fast."""

    name = "wrong-tensor-later"

    def faults(self, session):
        calls = [0]

        def total():
            calls[0] += 1
            session.total()

        return {"total": total, "gradients": lambda: [g * (1 if calls[0] < 20 else 2) for g in session.gradients()]}


class Crash(Faulty):
    name = "crash"

    def faults(self, session):
        return {"forward": lambda: os.kill(os.getpid(), signal.SIGSEGV)}


class Exit(Faulty):
    name = "exit"

    def faults(self, session):
        return {"forward": lambda: os._exit(7)}


class Hang(Faulty):
    name = "hang"

    def faults(self, session):
        return {"backward": lambda: time.sleep(1000)}


class Raises(Faulty):
    name = "raises"

    def faults(self, session):
        def forward():
            raise RuntimeError("this engine has a bad day")

        return {"forward": forward}


class OutOfMemory(Faulty):
    name = "out-of-memory"

    def faults(self, session):
        return {"forward": lambda: bytearray(1 << 40)}


class Unsupported(Faulty):
    name = "unsupported"

    def prepare(self, workload, inputs, params):
        raise UnsupportedError("this engine has no numbers")


class NoSuchDtype(Faulty):
    name = "float32-only"

    def capabilities(self):
        return Capabilities(dtypes=("float32",))


class ScalarsOnly(Faulty):
    name = "scalars-only"

    def capabilities(self):
        return Capabilities()


class Leak(Faulty):
    """Keeps 1000 bytes of each iteration."""

    name = "leak"

    def faults(self, session):
        kept = []

        def backward():
            kept.append(bytearray(1000))
            session.backward()

        return {"backward": backward}


class Allocates(Faulty):
    """One allocation for each recorded instruction."""

    name = "allocates"

    def faults(self, session):
        def backward():
            for _ in range(session.tape().instructions):
                bytes(600)
            session.backward()

        return {"backward": backward}


class Quadratic(Faulty):
    """Clears n bytes n times: one clearing for each instruction."""

    name = "quadratic"

    def faults(self, session):
        def backward():
            count = session.tape().instructions
            for _ in range(count):
                bytearray(4 * count)
            session.backward()

        return {"backward": backward}


class Late(Faulty):
    """Returns at once and does the work when somebody looks at the result."""

    name = "late"

    def faults(self, session):
        pending = [False]

        def backward():
            pending[0] = True

        def gradients():
            if pending[0]:
                time.sleep(0.005)
                session.backward()
                pending[0] = False
            return session.gradients()

        return {"backward": backward, "gradients": gradients}


class Prints(Faulty):
    """Talks to standard output, from Python and from below it."""

    name = "prints"

    def faults(self, session):
        def forward():
            print("[]")
            os.write(1, b"{}")
            session.forward()

        return {"forward": forward}


class OnlyBelow(Faulty):
    """Crashes from n = 100 on."""

    name = "only-below"

    def prepare(self, workload, inputs, params):
        if params.get("n", 0) >= 100:
            os._exit(3)
        return super().prepare(workload, inputs, params)


class OnceBackward(Faulty):
    """The second backward of a recording does nothing."""

    name = "once"

    def faults(self, session):
        fresh = [False]

        def forward():
            session.forward()
            fresh[0] = True

        def backward():
            if fresh[0]:
                session.backward()
                time.sleep(0.00002)  # far less than a block, on a busy machine too
            fresh[0] = False

        return {"forward": forward, "backward": backward}


class WrongLater(Faulty):
    """Right for twenty calls, then wrong and fast."""

    name = "wrong-later"

    def faults(self, session):
        calls = [0]

        def backward():
            calls[0] += 1
            session.backward()

        return {"backward": backward, "gradients": lambda: session.gradients() if calls[0] < 20 else [777.0]}


class Fused(Faulty):
    """Value and gradient in one call that is cheaper than forward."""

    name = "fused"

    def faults(self, session):
        def forward():
            time.sleep(0.0002)
            session.forward()

        def total():
            session.forward()
            session.backward()

        return {"forward": forward, "backward": None, "total": total}


class WarmAllocations(Faulty):
    """Allocates five blocks in each iteration, and twenty more in each of the first fifteen."""

    name = "warm-allocations"

    def faults(self, session):
        more = iter([20] * 15)

        def backward():
            for _ in itertools.repeat(None, 5 + next(more, 0)):
                bytes(600)
            session.backward()

        return {"backward": backward}


class LeavesAChild(Faulty):
    """Starts a process that outlives the worker and holds its standard error."""

    name = "leaves-a-child"

    def faults(self, session):
        subprocess.Popen(["sleep", "20"])
        return {}


class ShowsCores(Faulty):
    name = "shows-cores"

    def prepare(self, workload, inputs, params):
        raise UnsupportedError(f"{len(os.sched_getaffinity(0))} cores")


class RunsNothing(Faulty):
    name = "runs-nothing"

    def capabilities(self):
        return Capabilities(absent="no device here")


class Caches(Faulty):
    """Compiles for a fifth of a second, or finds on disk what another process compiled."""

    name = "caches"

    def capabilities(self):
        return dataclasses.replace(super().capabilities(), caches=True)

    def faults(self, session):
        compiled = Path(os.environ["TORCHINDUCTOR_CACHE_DIR"]) / "compiled"

        def forward():
            if not compiled.exists():
                time.sleep(0.2)
                compiled.touch()
            return session.forward()

        return {"forward": forward}


class HangsSomewhere(Faulty):
    """Hangs, and leaves its process's number in a folder."""

    name = "hangs-somewhere"

    def prepare(self, workload, inputs, params):
        (Path(os.environ["STARTED"]) / str(os.getpid())).touch()
        time.sleep(600)


class HangsWithAChild(Faulty):
    """Starts a process, leaves its number in a folder, and hangs."""

    name = "hangs-with-a-child"

    def prepare(self, workload, inputs, params):
        child = subprocess.Popen(["sleep", "600"])
        (Path(os.environ["STARTED"]) / str(child.pid)).touch()
        time.sleep(600)


class HasThreads(Faulty):
    """Starts a thread when it is made, so that its process must not fork."""

    name = "has-threads"

    def __init__(self):
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()


class NeedsAnArgument(Faulty):
    name = "needs-an-argument"

    def __init__(self, level, *, fast=False):
        self.level = level


class FailsWhenMade(Faulty):
    name = "fails-when-made"

    def __init__(self):
        raise RuntimeError("no licence")


class ShortPrepare(Faulty):
    name = "short-prepare"

    def prepare(self, w):
        return super().prepare(w, [1.0], {})


class NotAnEngine:
    """Has nothing of the protocol."""


class NoCapabilities(Faulty):
    name = "no-capabilities"

    def capabilities(self):
        return {"kinds": ["scalar"]}


class KindsAsAWord(Faulty):
    name = "kinds-as-a-word"

    def capabilities(self):
        return Capabilities(kinds="scalar")


class StrangeDtype(Faulty):
    name = "strange-dtype"

    def capabilities(self):
        return Capabilities(dtypes=("float16",))


class NoDevices(Faulty):
    name = "no-devices"

    def capabilities(self):
        return Capabilities(devices=())


class CannotSay(Faulty):
    name = "cannot-say"

    def capabilities(self):
        raise RuntimeError("no licence")


class TwoDevicesUntold(Faulty):
    """Has two devices, and cannot be told which to use."""

    name = "two-devices-untold"

    def capabilities(self):
        return Capabilities(devices=("cpu", "cuda"))


class TwoDevices(Faulty):
    """Has two devices, says where its numbers are, and believes what it is told."""

    name = "two-devices"

    def capabilities(self):
        return Capabilities(devices=("cpu", "cuda"))

    def prepare(self, workload, inputs, params, *, device):
        session = Tapegrad.prepare(self, workload, inputs, params)
        return dataclasses.replace(session, device_name=device)


class OnCuda(Faulty):
    """An engine of a GPU alone."""

    name = "on-cuda"

    def capabilities(self):
        return Capabilities(kinds=("scalar", "tensor"), dtypes=("float32", "float64"), devices=("cuda",))


class Elsewhere(Faulty):
    """Says that it is on a GPU, and is not."""

    name = "elsewhere"

    def capabilities(self):
        return Capabilities(devices=("cuda",))

    def faults(self, session):
        return {"device_name": "cpu"}


class Phased(Faulty):
    """Has a further phase."""

    name = "phased"

    def faults(self, session):
        return {"phases": {"update": lambda: [0.1 * g for g in session.gradients()]}}


class PlainNamespace:
    """Hands the workload an object that has one function."""

    name = "plain-namespace"

    def capabilities(self):
        return Capabilities()

    def prepare(self, workload, inputs, params):
        import math
        from types import SimpleNamespace

        ops = SimpleNamespace(sin=math.sin)

        def total():
            workload(ops, *inputs, **params)

        return Session(total=total, gradients=lambda: [math.nan for _ in inputs])


class PlainModule(PlainNamespace):
    """Hands the workload Python's own module."""

    name = "plain-module"

    def prepare(self, workload, inputs, params):
        import math

        workload(math, *inputs, **params)
        return Session(total=lambda: None, gradients=lambda: [math.nan for _ in inputs])


class TotalOnly(Faulty):
    """One call, and nothing apart."""

    name = "total-only"

    def faults(self, session):
        def total():
            session.forward()
            session.backward()

        return {"forward": None, "backward": None, "primal": None, "total": total}


class WithMethods(PlainNamespace):
    """Its numbers have a method that plain numbers lack."""

    name = "with-methods"

    def prepare(self, workload, inputs, params):
        class Number(float):
            def detach(self):
                return self

        numbers = [Number(x) for x in inputs]
        return Session(total=lambda: workload(None, *numbers, **params), gradients=lambda: [1.0 for _ in inputs])


class NoValue(Faulty):
    """Says nothing of the value."""

    name = "no-value"

    def faults(self, session):
        return {"value": None}


class ValueAsAWord(Faulty):
    name = "value-as-a-word"

    def faults(self, session):
        return {"value": lambda: "one"}


class WrongPrimal(Faulty):
    name = "wrong-primal"

    def faults(self, session):
        return {"primal": lambda: 12345.0}


class KeepsItsInputs(Tapegrad):
    """Converts the inputs when it is prepared, and cannot be told of others."""

    name = "keeps-its-inputs"

    def prepare(self, workload, inputs, params):
        return super().prepare(workload, list(inputs), params)


class LosesItsResults(KeepsItsInputs):
    """Forgets what it computed when it is told of other inputs: the work was done all the same."""

    name = "loses-its-results"

    def prepare(self, workload, inputs, params):
        kept = list(inputs)
        session = Tapegrad.prepare(self, workload, kept, params)
        lost = [False]

        def forward():
            lost[0] = False
            session.forward()

        def move(new):
            kept[:] = new
            lost[0] = True

        def gradients():
            return [0.0 if lost[0] else g for g in session.gradients()]

        return dataclasses.replace(session, forward=forward, move=move, gradients=gradients)


class Untold(Late):
    """As `Late`, and refuses every function but one: nobody can tell what its reading usually takes."""

    name = "untold"

    def prepare(self, workload, inputs, params):
        if workload.function.__name__ != "expression":
            raise UnsupportedError("this engine has one function")
        return super().prepare(workload, inputs, params)
