"""Served: an engine that answers the messages of GradBench's protocol (see engines/gradbench/messages.py).

In: messages, in plain data. Out: an answer to each, with the times of every run; what goes wrong is an answer too.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO, NamedTuple

from gradmark.engines.discovery import load
from gradmark.engines.gradbench import messages
from gradmark.errors import GradmarkError
from gradmark.gradbench import descending
from gradmark.gradbench.point import Asked, Point, Run, differentiating, finished, inputs_of, reader
from gradmark.measure.worker.session import capabilities_of
from gradmark.records import Cell
from gradmark.workloads.gradbench.descents import DESCENTS
from gradmark.workloads.gradbench.eval import Eval
from gradmark.workloads.gradbench.evals import EVALS, of_message
from gradmark.workloads.lookup import named, where_it_failed
from gradmark.workloads.workload import Workload

MODULES = (*EVALS, *DESCENTS)
# Of the runs that a message may ask for, and of the seconds.
MOST_RUNS, MOST_SECONDS = 1_000_000, 3600.0


class Work(NamedTuple):
    """One function at its inputs: what is run and timed, and the output of what the first of the runs returned last."""

    runs: Sequence[Run]
    output: Callable[[Any], Any]


class Served:
    """An engine, asked for the functions of evals."""

    def __init__(self, engine: str) -> None:
        adapter = load(engine)
        self.asked = Asked(engine, adapter, capabilities_of(engine, adapter))

    def answer(self, message: Any) -> dict[str, Any]:
        """The answer to a message. Raises only if it has no id to be answered with."""
        if not isinstance(message, dict) or not isinstance(message.get("id"), int):
            raise GradmarkError(f"expected a message with an id, got {messages.abridged(message)!r}")
        try:
            return {"id": message["id"], **self._answered(message)}
        except GradmarkError as error:
            failure = str(error)
        except Exception as error:  # the input may be anything
            failure = f"the input is not that of this eval, or cannot be evaluated: {where_it_failed(error)}"
        return {"id": message["id"], "success": False, "error": failure}

    def _answered(self, message: Mapping[str, Any]) -> dict[str, Any]:
        match message.get("kind"):
            case "start":
                return {"tool": self.asked.name}
            case "define":
                module = _module(message)
                self.workload((DESCENTS[module] if module in DESCENTS else EVALS[module]).workload)
                return {"success": True}
            case "evaluate":
                return self.evaluate(message)
        return {}

    def workload(self, name: str) -> Workload:
        """The workload that answers, if the engine can have it."""
        (workload,) = named(name)
        cell = Cell(engine=self.asked.name, workload=workload.name, suite=workload.suite, kind=workload.kind)
        if lacking := self.asked.can.lacking(cell):
            raise GradmarkError(lacking)
        return workload

    def evaluate(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Runs a function as often and as long as the message asks for."""
        module, given = _module(message), message.get("input")
        repeats = module in DESCENTS or EVALS[module].repeats
        times, seconds = _wanted(given) if repeats else (1, 0.0)
        began = time.perf_counter_ns()
        work = self.work(module, message.get("function"), given)
        prepared_ns = time.perf_counter_ns() - began
        runs_ns: list[int] = []
        returned: list[Any] = []
        spent_ns = 0
        while len(runs_ns) < times or spent_ns < 1e9 * seconds:
            start = time.perf_counter_ns()
            returned = [run() for run in work.runs]
            runs_ns.append(time.perf_counter_ns() - start)
            spent_ns += runs_ns[-1]
        timings = [{"name": "prepare", "nanoseconds": prepared_ns}]
        timings += [{"name": messages.EVALUATE, "nanoseconds": ns} for ns in runs_ns]
        return {"success": True, "output": work.output(returned[0]), "timings": timings}

    def work(self, module: str, function: Any, given: Any) -> Work:
        """What is to be run for a function of an eval."""
        if module in DESCENTS:
            descent = DESCENTS[module]
            _refuse_function(module, function, descending.MODES)
            run = descending.prepared(self.asked, self.workload(descent.workload), descent, function, given)
            return Work([run], descent.output)
        problem = of_message(module, given)
        _refuse_function(module, function, (problem.primal, problem.derivative))
        return self.work_of(problem, function, given)

    def work_of(self, problem: Eval, function: str, given: Any) -> Work:
        """The function itself, or its derivatives."""
        workload = problem.variant(self.workload(problem.workload), function)
        params, values = problem.read(given)
        point = Point(self.asked, workload, inputs_of(workload, params, values), params)
        if function == problem.primal:
            session = point.evaluating()
            assert session.primal is not None  # `evaluating` has seen to it
            return Work([finished(session, [session.primal])], lambda y: problem.shown(point.value(y)))
        along = problem.along(values)
        sessions = [point.session(name, tangents) for name, tangents in along]
        readers = [reader(session, name) for session, (name, _) in zip(sessions, along, strict=True)]
        runs = [differentiating(session) for session in sessions]
        return Work(runs, lambda _first: problem.form([read() for read in readers], values))


def _module(message: Mapping[str, Any]) -> str:
    module = message.get("module")
    if not isinstance(module, str) or module not in MODULES:
        raise GradmarkError(f"there is no module {module!r}; expected one of {', '.join(MODULES)}")
    return module


def _refuse_function(module: str, function: Any, there: Sequence[str]) -> None:
    if function not in there:
        raise GradmarkError(f"{module} has no function {function!r}; expected {' or '.join(there)}")


def _wanted(given: Any) -> tuple[int, float]:
    """How often and how long a function is to be run."""
    if not isinstance(given, dict):
        raise GradmarkError(f"expected an object as input, got {messages.abridged(given)!r}")
    runs, seconds = given.get("min_runs", 1), given.get("min_seconds", 0)
    for name, asked, most in (("min_runs", runs, MOST_RUNS), ("min_seconds", seconds, MOST_SECONDS)):
        if isinstance(asked, bool) or not isinstance(asked, int | float) or not 0 <= asked <= most:
            raise GradmarkError(f"expected a number from 0 to {most:,.0f} as {name}, got {asked!r}")
    return max(1, int(runs)), float(seconds)


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
