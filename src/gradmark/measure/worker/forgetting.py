"""Forgetting: what a core has learnt about a process's branches is wiped out, so that it must learn them anew.

In: nothing. Out: nothing; half a millisecond is gone.

A processor predicts where each branch of an interpreter goes, from the branches before it. What it learns while a
process starts is a matter of luck, and stays for seconds: the same recording took 25 us in one process and 30 us in the
next, block after block, while all pilots were calm to 0.3 %. After another program has run on the core it learns again,
and nearly always the same: medians of 14 processes scattered by 0.8 % instead of 5.9 %. Decision 41 has what else was
tried.
"""

import contextlib
import os
import shutil

# A program that does nothing. Windows has none that starts within a millisecond: there nothing is forgotten.
IDLE_PROGRAM = shutil.which("true") if hasattr(os, "posix_spawn") else None


def forget() -> None:
    """Lets another process run on this core, and waits for its end. Where none may be started, nothing is forgotten."""
    if IDLE_PROGRAM is None:
        return
    with contextlib.suppress(OSError):  # too many processes; or an engine that has the ends of all of them ignored
        os.waitpid(os.posix_spawn(IDLE_PROGRAM, ["true"], {}), 0)
