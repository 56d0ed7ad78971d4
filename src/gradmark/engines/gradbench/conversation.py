"""A conversation with one tool: its process, a message at a time, and the transcript.

In: a command and messages. Out: answers that came in time, in order, and are what the protocol says; else a `ToolError`
or `UnsupportedError` with what was said. The worker that holds it has a time and a memory limit of its own, which the
tool inherits, and ends with all that it started.
"""

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import time
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, Literal, NoReturn

from gradmark.engines.gradbench import messages
from gradmark.engines.gradbench.messages import Answer
from gradmark.errors import ToolError, UnsupportedError
from gradmark.isolation import child, inside
from gradmark.records.decoding import UndecodableError

# Of a transcript the first lines, which say who speaks, and the last, which say what went wrong.
FIRST_LINES, LAST_LINES = 4, 20
# A longer answer is not read: the derivatives of a million inputs take some ten megabytes.
MOST_ANSWERED_BYTES = child.MOST_ANSWERED_BYTES
READ_BYTES = 1 << 20
# How long a tool may take to be gone once it has closed its output.
ENDING_S = 1.0
# Of a line that is no answer, so much is shown.
SHOWN_CHARACTERS = 80


class Conversation:
    """A tool at work. Its process ends with this object at the latest."""

    def __init__(self, command: Sequence[str]) -> None:
        self.began_ns = time.perf_counter_ns()
        self.first: list[str] = []
        self.last: deque[str] = deque(maxlen=LAST_LINES)
        self.left_out = 0
        self.number = -1
        self.unread = bytearray()
        self.defined: set[str] = set()
        self.asked = "start"  # what it is at, for messages
        self.said = tempfile.TemporaryFile()  # noqa: SIM115  what it prints for people; closed with its process
        child.append(self.said)
        try:
            self.process = subprocess.Popen(
                list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.said, bufsize=0
            )
        except OSError as error:
            self.said.close()
            raise ToolError(f"{command[0]} cannot be started: {error.strerror}", status="crash") from error
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self.input, False)
        os.set_blocking(self.output, False)
        self.close = weakref.finalize(self, _end, self.process, self.said)

    # --- what is asked

    def start(self, module: str) -> Answer:
        """Whether it is there at all."""
        return self.ask(messages.start(module), "start")

    def define(self, module: str) -> None:
        """Has the tool prepare a module, once. `UnsupportedError` if it has no such module."""
        if module in self.defined:
            return
        answer = self.ask(messages.define(module), f"define {module}")
        if answer.success is None:
            self.refuse('gave no "success"; expected true or false')
        if not answer.success:
            raise UnsupportedError(f"the tool has no {module}{_because(answer.error)}")
        self.defined.add(module)

    def evaluate(self, module: str, function: str, argument: Any, description: str) -> Answer:
        """One answer with an output and the times of its runs."""
        began_ns = time.perf_counter_ns()
        answer = self.ask(messages.evaluate(module, function, argument, description), f"evaluate {module}.{function}")
        took_ns = time.perf_counter_ns() - began_ns
        if not answer.success:
            self.refuse(f"failed{_because(answer.error)}")
        runs_ns = answer.runs_ns
        if not runs_ns:
            self.refuse('gave no times; expected "timings" with an entry "evaluate" for each run')
        if sum(runs_ns) > took_ns:
            self.refuse(
                f"says that its runs took {sum(runs_ns):,.0f} ns, and answered after {took_ns:,}: its times are not "
                "nanoseconds, or not its own"
            )
        return answer

    # --- how it is said

    def ask(self, message: dict[str, Any], words: str) -> Answer:
        """Sends a message and waits for its answer."""
        self.number += 1
        self.asked = words
        message = {"id": self.number, **message}
        self.note("message", message)
        line = self._exchange(messages.encoded(message))
        try:
            plain = messages.parsed(line)
        except ValueError:
            text = line.decode(errors="replace").strip()
            self.note("response", text)
            self.refuse(
                f"said {_short(text)!r}, which is not JSON; expected one line of JSON. What a tool prints for people "
                "must go to standard error"
            )
        self.note("response", plain)
        try:
            answer = messages.answer_of(plain)
        except UndecodableError as error:
            self.refuse(f"did not answer as the protocol says: {error}")
        if answer.id != self.number:
            self.refuse(f"answered out of order: expected the id {self.number}, got {answer.id}")
        return answer

    def note(self, said: Literal["message", "response"], content: Any) -> None:
        """Keeps a line of the transcript."""
        line = messages.noted(time.perf_counter_ns() - self.began_ns, said, content)
        if len(self.first) < FIRST_LINES:
            self.first.append(line)
            return
        self.left_out += len(self.last) == LAST_LINES
        self.last.append(line)

    @property
    def transcript(self) -> list[str]:
        """The beginning and the end of what was said."""
        gap = [f"… {self.left_out:,} more lines"] if self.left_out else []
        return [*self.first, *gap, *self.last]

    def refuse(self, what: str, status: Literal["error", "crash", "timeout", "out-of-memory"] = "error") -> NoReturn:
        """Raises: what the tool did, and when. It is ended: what it says next would answer something else."""
        transcript = self.transcript
        self.close()
        raise ToolError(f"asked to {self.asked}, the tool {what}", status=status, transcript=transcript)

    def _exchange(self, line: bytes) -> bytes:
        """Writes a line and reads one, both at once: a tool may write before it has read all."""
        unsent, searched = memoryview(line), 0
        with selectors.DefaultSelector() as ready:
            ready.register(self.output, selectors.EVENT_READ)
            ready.register(self.input, selectors.EVENT_WRITE)
            while self.unread.find(b"\n", searched) < 0:
                searched = len(self.unread)
                left_s = inside.time_left_s()
                events = ready.select(min(left_s, child.LOOK_EVERY_S))
                if not events and inside.time_left_s() <= 0:
                    self.refuse("gave no answer in time", "timeout")
                for key, _ in events:
                    if key.fd == self.output:
                        self._read()
                        continue
                    unsent = unsent[self._write(unsent) :]
                    if not unsent:
                        ready.unregister(self.input)
                self._cut_off()
        answer, _, self.unread = self.unread.partition(b"\n")
        return bytes(answer)

    def _write(self, unsent: memoryview) -> int:
        try:
            return os.write(self.input, unsent)
        except BlockingIOError:
            return 0
        except OSError:  # it does not read any more: that it has ended is seen where its output ends
            return len(unsent)

    def _read(self) -> None:
        try:
            piece = os.read(self.output, READ_BYTES)
        except BlockingIOError:
            return
        if not piece:
            self._ended()
        self.unread += piece
        if len(self.unread) > MOST_ANSWERED_BYTES:
            self.refuse(f"answered with more than {MOST_ANSWERED_BYTES >> 20} MiB, which was not read")

    def _ended(self) -> NoReturn:
        """The tool has closed its output: it ended, or it will not say anything any more."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(ENDING_S)
        if self.unread:
            self.note("response", self.unread.decode(errors="replace"))
        last_words = child.last_line(child.tail(self.said))
        code = self.process.poll()
        if code is None:
            self.refuse(f"closed its output without an answer{last_words}", "crash")
        if code == -signal.SIGKILL:
            self.refuse(f"was ended by SIGKILL, most likely for its memory{last_words}", "out-of-memory")
        how = f"was ended by {child.signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
        self.refuse(f"{how}{last_words}", "crash")

    def _cut_off(self) -> None:
        """What it prints does not fill the disk."""
        if os.fstat(self.said.fileno()).st_size > child.MOST_SAID_BYTES:
            os.ftruncate(self.said.fileno(), 0)


def _end(process: "subprocess.Popen[bytes]", said: Any) -> None:
    """Ends a tool. One that reads on to the end of its input would end by itself, if it did not hang."""
    with contextlib.suppress(OSError):
        process.kill()
    for stream in (process.stdin, process.stdout, said):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    process.wait()


def _because(error: str | None) -> str:
    """What a tool says was the reason: the last line of what may be a whole traceback."""
    lines = (error or "").strip().splitlines()
    return f": {_short(lines[-1].strip())}" if lines else ""


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
