"""Progress in a notebook: one line under the cell, which changes while it works and is gone when it is done.

In: the orchestrator's steps. Out: text that IPython displays. Nothing of IPython is imported unless it is there.
"""

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradmark.commands import progress

if TYPE_CHECKING:
    from gradmark.measure.orchestrator import Step

# How often the line changes: each change is a message to the browser.
CHANGE_EVERY_S = 0.2


def is_here() -> bool:
    """Whether this process is the kernel of a notebook; IPython in a terminal has none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


@contextlib.contextmanager
def line() -> Iterator[progress.Watch]:
    """A function that shows steps, while it lasts."""
    ipython: Any = sys.modules["IPython"]
    shown = ipython.display.display(_plain(""), raw=True, display_id=True)
    pace, changed_s = progress.Pace(), -CHANGE_EVERY_S

    def watch(step: "Step") -> None:
        nonlocal changed_s
        now_s = time.monotonic()
        pace.note(step, now_s)
        if now_s - changed_s >= CHANGE_EVERY_S:
            changed_s = now_s
            shown.update(_plain(progress.line(step, pace.left_s(now_s))), raw=True)

    try:
        yield watch
    finally:
        shown.update(_plain(""), raw=True)


def _plain(text: str) -> dict[str, str]:
    return {"text/plain": text}
