"""A tool of GradBench as an engine: a program, named by its command, that differentiates and times itself.

In: a workload that GradBench has as an eval. Out: a session with the times that the tool reports of its own runs.
"""

import math
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gradmark.engines.gradbench.conversation import Conversation
from gradmark.engines.gradbench.messages import Answer
from gradmark.engines.protocol import Capabilities, Derivative, OwnClock, Session
from gradmark.errors import SelectionError, UnsupportedError
from gradmark.records import Param
from gradmark.records.derivative import DERIVATIVES, with_article
from gradmark.workloads.gradbench.eval import Eval, Named
from gradmark.workloads.gradbench.evals import EVALS, of_workload
from gradmark.workloads.workload import Workload

PREFIX = "gradbench"
EXAMPLE = f"-e '{PREFIX}:python run.py'"
# A tool repeats a function so often in one message and reports each run: more would be long answers of short times.
MOST_RUNS = 1000
GRADIENT = Derivative()


def words_of(command: str) -> list[str]:
    """A command as a shell would split it, without one: the program and its arguments. Raises `SelectionError`."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise SelectionError(
            f"the command of engine '{PREFIX}:{command}' cannot be split into words ({error}); close its quotes, as in "
            f"{EXAMPLE}"
        ) from None
    if not words:
        raise SelectionError(f"engine '{PREFIX}:' names no program; give its command, as in {EXAMPLE}")
    if shutil.which(words[0]) is None:
        raise SelectionError(
            f"engine '{PREFIX}:{command}': there is no program {words[0]!r} that can be run; give a command such as "
            f"{EXAMPLE}. It is run without a shell: for cd, pipes or variables give it one, as in "
            f"-e \"{PREFIX}:sh -c 'cd tools && ./run'\""
        )
    return words


class Tool:
    """One program, started for the first session, which times its runs itself."""

    def __init__(self, command: str) -> None:
        self.name = f"{PREFIX}:{command}"
        self.words = words_of(command)
        self.conversation: Conversation | None = None

    def capabilities(self) -> Capabilities:
        """What the protocol carries: which evals the tool has, it is asked when one is wanted."""
        return Capabilities(
            kinds=("scalar", "tensor"),
            dtypes=("float64",),
            derivatives=dict.fromkeys(DERIVATIVES, ""),
            compiled=True,
        )

    def prepare(
        self,
        workload: Workload,
        inputs: Sequence[Any],
        params: Mapping[str, Param],
        *,
        derivative: Derivative = GRADIENT,
    ) -> Session:
        """Starts the tool and has it define the module of the eval."""
        problem = of_workload(workload.name)
        if problem is None:
            raise UnsupportedError(
                f"GradBench has no eval that is {workload.name}; its tools can be asked for {', '.join(EVALS)}"
            )
        if problem.asks != derivative.name:
            raise UnsupportedError(
                f"{with_article(derivative.name)} cannot be asked for: GradBench's eval is "
                f"{problem.unlike or with_article(str(problem.asks))}"
            )
        if self.conversation is None or not self.conversation.close.alive:
            self.conversation = Conversation(self.words)
            self.conversation.start(problem.module)
        self.conversation.define(problem.module)
        return _Asked(self.conversation, problem, workload, inputs, params).session(derivative)

    def close(self) -> None:
        """Ends the program. A worker that ends ends it too."""
        if self.conversation is not None:
            self.conversation.close()


class _Asked:
    """One eval at these inputs: what is asked, and the last outputs."""

    def __init__(
        self,
        conversation: Conversation,
        problem: Eval,
        workload: Workload,
        inputs: Sequence[Any],
        params: Mapping[str, Param],
    ) -> None:
        self.conversation = conversation
        self.problem = problem
        self.workload = workload
        self.functions = {"primal": problem.primal, "total": problem.derivative}
        self.inputs = inputs
        self.params = params
        self.derived: Any = None
        self.first_ns: float | None = None

    def session(self, derivative: Derivative) -> Session:
        """The session: its result is read from the last output."""
        gradients = derivative.name == GRADIENT.name
        return Session(
            primal=self.value,
            total=self.total,
            value=self.value,
            gradients=(lambda: self.derived) if gradients else None,
            result=None if gradients else lambda: self.derived,
            clock=OwnClock(
                phases={name: self._timed(name) for name in self.functions},
                first_ns=lambda: self.first_ns,
                most_runs=MOST_RUNS if self.problem.repeats else 1,
            ),
        )

    def value(self) -> Any:
        """The function's value."""
        return self._read("primal", self.problem.value)

    def total(self) -> None:
        """Asks for the derivative once."""
        self.derived = self._read("total", lambda output: self._parts(self.problem.flat(output, self._named())))

    def _named(self) -> Named:
        """The inputs as they are now, by name."""
        if self.workload.kind == "scalar":
            assert self.problem.named is not None  # of evals that can be asked for
            return self.problem.named(self.inputs, self.params)
        return dict(zip(self.workload.names(len(self.inputs)), self.inputs, strict=True))

    def _parts(self, flat: Any) -> Any:
        """A derivative as a session gives it: a matrix, or numbers, or an array for each differentiated input."""
        if getattr(flat, "ndim", 1) == 2:
            return flat
        if self.workload.kind == "scalar":
            return refuse_count(list(flat), len(self.inputs))
        import numpy as np

        shapes = [self.inputs[place].shape for place in self.workload.active(self.inputs)]
        sizes = [math.prod(shape) for shape in shapes]
        parts = np.split(refuse_count(np.asarray(flat), sum(sizes)), np.cumsum(sizes)[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    def _read(self, phase: str, read: Callable[[Any], Any]) -> Any:
        answer = self._asked(phase, 1)
        if phase == "total" and self.first_ns is None:
            self.first_ns = answer.runs_ns[0]
        try:
            return read(answer.output)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as error:
            self.conversation.refuse(f"gave an output of another shape than {self.problem.module} has: {error}")

    def _timed(self, phase: str) -> Callable[[int], float]:
        """So many runs, in one message: what each took, on average. The first run of a message is kept out.

        It may compile, or record, for the inputs of this message; tools differ in whether they keep that.
        """

        def mean_ns(runs: int) -> float:
            asked = runs + 1 if self.problem.repeats else 1
            taken_ns = self._asked(phase, asked).runs_ns
            if len(taken_ns) < asked:
                self.conversation.refuse(f"timed {len(taken_ns)} of {asked} runs that it was asked for")
            counted = taken_ns[1:] or taken_ns
            return sum(counted) / len(counted)

        return mean_ns

    def _asked(self, phase: str, runs: int) -> Answer:
        assert self.problem.written is not None  # likewise
        argument = self.problem.written(self._named(), self.params)
        if self.problem.repeats:
            argument |= {"min_runs": runs, "min_seconds": 0}
        return self.conversation.evaluate(
            self.problem.module, self.functions[phase], argument, self.problem.size(self.params)
        )


def refuse_count(flat: Any, count: int) -> Any:
    """The same numbers, if they are so many."""
    if len(flat) != count:
        raise ValueError(f"expected {count:,} numbers, got {len(flat):,}")
    return flat
