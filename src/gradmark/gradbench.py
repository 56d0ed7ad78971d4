"""Gradmark's engines as a tool of GradBench: `python -m gradmark.gradbench` answers an eval, line by line.

In: messages of GradBench's protocol, a line of JSON each (see engines/gradbench/messages.py). Out: an answer to each,
with the times of every run. An error is an answer too; what engines print goes to standard error.
"""

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, BinaryIO, NamedTuple

from gradmark.engines.discovery import load
from gradmark.engines.gradbench import messages
from gradmark.engines.protocol import Derivative, Engine, Session
from gradmark.errors import GradmarkError
from gradmark.isolation import inside
from gradmark.measure.worker.session import capabilities_of, number, takes
from gradmark.records import Cell, DerivativeName
from gradmark.records.derivative import FACTS, USUAL_DERIVATIVE
from gradmark.workloads.gradbench.eval import Eval
from gradmark.workloads.gradbench.evals import EVALS, of_message
from gradmark.workloads.lookup import named, where_it_failed
from gradmark.workloads.workload import Workload, input_names

# Of the number of runs that a message may ask for, and of the seconds.
MOST_RUNS, MOST_SECONDS = 1_000_000, 3600.0


class Work(NamedTuple):
    """One function at its inputs: what is run and timed, and what gives the output after it."""

    runs: Sequence[Callable[[], Any]]
    output: Callable[[Any], Any]  # of what the first of them returned last


class Served:
    """An engine, asked for the functions of evals."""

    def __init__(self, engine: str) -> None:
        self.name = engine
        self.engine: Engine = load(engine)
        self.can = capabilities_of(engine, self.engine)

    def answer(self, message: Any) -> dict[str, Any]:
        """The answer to a message, whatever is in it."""
        if not isinstance(message, dict) or not isinstance(message.get("id"), int):
            raise GradmarkError(f"expected a message with an id, got {messages.abridged(message)!r}")
        try:
            return {"id": message["id"], **self._answered(message)}
        except GradmarkError as error:
            failure = str(error)
        except MemoryError as error:
            failure = f"out of memory: {error}"
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            failure = f"the input is not that of this eval, or cannot be evaluated: {where_it_failed(error)}"
        return {"id": message["id"], "success": False, "error": failure}

    def _answered(self, message: Mapping[str, Any]) -> dict[str, Any]:
        match message.get("kind"):
            case "start":
                return {"tool": self.name}
            case "define":
                self.workload(self.problem(message))
                return {"success": True}
            case "evaluate":
                return self.evaluate(message)
        return {}

    def problem(self, message: Mapping[str, Any]) -> Eval:
        """The eval of a message."""
        module = message.get("module")
        if not isinstance(module, str) or module not in EVALS:
            raise GradmarkError(f"there is no module {module!r}; expected one of {', '.join(EVALS)}")
        return of_message(module, message.get("input"))

    def workload(self, problem: Eval) -> Workload:
        """The workload that answers, if the engine can have it."""
        (workload,) = named(problem.workload)
        cell = Cell(engine=self.name, workload=workload.name, suite=workload.suite, kind=workload.kind)
        if lacking := self.can.lacking(cell):
            raise GradmarkError(lacking)
        return workload

    def evaluate(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Runs a function as often and as long as the message asks for."""
        problem, given = self.problem(message), message.get("input")
        times, seconds = _wanted(given) if problem.repeats else (1, 0.0)
        began = time.perf_counter_ns()
        work = self.work(problem, message.get("function"), given)
        prepared_ns = time.perf_counter_ns() - began
        runs_ns: list[int] = []
        returned: list[Any] = []
        spent_s = 0.0
        while len(runs_ns) < times or spent_s < seconds:
            start = time.perf_counter_ns()
            returned = [run() for run in work.runs]
            runs_ns.append(time.perf_counter_ns() - start)
            spent_s += runs_ns[-1] / 1e9
        timings = [{"name": "prepare", "nanoseconds": prepared_ns}]
        timings += [{"name": messages.EVALUATE, "nanoseconds": ns} for ns in runs_ns]
        return {"success": True, "output": work.output(returned[0]), "timings": timings}

    def work(self, problem: Eval, function: Any, given: Any) -> Work:
        """What is to be run for one function of an eval."""
        if not isinstance(function, str) or function not in (problem.primal, problem.derivative):
            raise GradmarkError(
                f"{problem.module} has no function {function!r}; expected {problem.primal} or {problem.derivative}"
            )
        workload = problem.variant(self.workload(problem), function)
        params, values = problem.read(given)
        point = Point(workload, _inputs(workload, params, values), params)
        if function == problem.primal:
            session = self.session(point, *_usual(point))
            if session.primal is None:
                raise GradmarkError(f"{self.name} does not evaluate without differentiating")
            return Work([_finished(session, (session.primal,))], lambda y: problem.shown(_result(point.workload, y)))
        asked = problem.along(values)
        sessions = [self.session(point, name, tangents) for name, tangents in asked]
        runs = [_finished(session, _calls(session)) for session in sessions]
        readers = [_reader(session, name) for session, (name, _) in zip(sessions, asked, strict=True)]
        return Work(runs, lambda _returned: problem.form([read() for read in readers], values))

    def session(self, point: "Point", name: DerivativeName, tangents: Sequence[Any]) -> Session:
        """A session of the engine for one derivative."""
        told: dict[str, Any] = {"device": self.can.devices[0]} if takes(self.engine, "device") else {}
        if takes(self.engine, "derivative"):
            told["derivative"] = Derivative(name=name, tangents=tangents, shape=point.shape)
        elif name != USUAL_DERIVATIVE:
            raise GradmarkError(f"{self.name} has no {name}")
        return self.engine.prepare(point.workload, point.inputs, point.params, **told)


class Point:
    """A function at its inputs."""

    def __init__(self, workload: Workload, inputs: list[Any], params: Mapping[str, Any]) -> None:
        self.workload, self.inputs, self.params = workload, inputs, params

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """That of the function's result; of one number ()."""
        if self.workload.result == "number":
            return ()
        import numpy as np

        from gradmark.measure.worker.asked import plain_result

        cell = Cell(engine="", workload=self.workload.name, suite="", params=dict(self.params))
        return tuple(np.shape(plain_result(self.workload, self.inputs, cell)))


def _wanted(given: Any) -> tuple[int, float]:
    """How often and how long a function is to be run."""
    runs, seconds = (given.get(name, usual) for name, usual in (("min_runs", 1), ("min_seconds", 0)))
    for name, asked, most in (("min_runs", runs, MOST_RUNS), ("min_seconds", seconds, MOST_SECONDS)):
        if isinstance(asked, bool) or not isinstance(asked, int | float) or not 0 <= asked <= most:
            raise GradmarkError(f"expected a number up to {most:,.0f} as {name}, got {asked!r}")
    return max(1, int(runs)), float(seconds)


def _calls(session: Session) -> Sequence[Callable[[], Any]]:
    if session.total is not None:
        return (session.total,)
    return [call for call in (session.forward, session.backward) if call is not None]


def _finished(session: Session, calls: Sequence[Callable[[], Any]]) -> Callable[[], Any]:
    """One run: the calls, and waiting for them."""

    def run() -> Any:
        returned = [call() for call in calls]
        session.synchronize()
        return returned[0]

    return run


def _reader(session: Session, name: DerivativeName) -> Callable[[], Any]:
    """What gives a derivative after a run: a vector, or a matrix."""
    import numpy as np

    read = session.gradients if name == "gradient" else session.result
    assert read is not None
    if FACTS[name].form != "inputs":
        return lambda: np.asarray(read())
    return lambda: np.concatenate([np.ravel(part) for part in read()])


def _inputs(workload: Workload, params: Mapping[str, Any], values: Mapping[str, Any]) -> list[Any]:
    """The inputs of a workload from those of a message. Tables that follow from the sizes are made as for a run."""
    if workload.arrays is None:
        return [float(x) for value in values.values() for x in _numbers(value)]
    names = input_names(workload.function)
    if all(name in values for name in names):
        return [values[name] for name in names]
    drawn = workload.draw(0, params)
    return [values.get(name, x) for name, x in zip(names, drawn, strict=True)]


def _numbers(value: Any) -> Any:
    return value.ravel().tolist() if hasattr(value, "ravel") else value


def _result(workload: Workload, returned: Any) -> Any:
    """What an engine returned, in numbers: one, or an array."""
    if workload.result == "number":
        return number(returned)
    from gradmark.measure.reference.flat import joined

    return joined(returned if isinstance(returned, list) else [returned])


def _usual(point: Point) -> tuple[DerivativeName, Sequence[Any]]:
    """A derivative that the function has: sessions are of one, also where only the function is called."""
    if point.workload.result == "number":
        return USUAL_DERIVATIVE, ()
    return "jvp", [0.0 * point.inputs[place] for place in point.workload.active(point.inputs)]


def serve(engine: str, lines: BinaryIO, answers: BinaryIO) -> None:
    """Answers each line until there is none."""
    served = Served(engine)
    for line in lines:
        if not line.strip():
            continue
        try:
            message = messages.parsed(line)
        except ValueError as error:
            raise GradmarkError(f"expected a line of JSON, got {line[:80]!r}: {error}") from None
        answers.write(messages.encoded(served.answer(message)))
        answers.flush()


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(prog="python -m gradmark.gradbench", description=__doc__.splitlines()[0])
    parser.add_argument("-e", "--engine", default="tapegrad", help="Engine that answers. Default: tapegrad.")
    given = parser.parse_args()
    lines, answers = inside.private_streams()
    try:
        serve(given.engine, lines, answers)
    except GradmarkError as error:
        sys.exit(f"gradmark.gradbench: {error}")
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(1)


if __name__ == "__main__":
    main()
