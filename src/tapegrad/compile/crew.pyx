# cython: binding=False
"""The crew: threads that wait for parts of kernels, shared by all compiled functions of a process.

In: nothing. Out: the address of the function that machine code calls, `run(work, context, parts)`, which returns when
work(context, part) has been done for every part. What it is made of is in crew.h.
"""

import os

cdef extern from "crew.h":
    void tapegrad_crew_begin() noexcept
    void tapegrad_crew_run(void *, void *, long long) noexcept
    long long tapegrad_member_count


def address():
    """Where `run` is."""
    return <size_t><void *>tapegrad_crew_run


def members():
    """How many threads there are beside those that call."""
    return tapegrad_member_count


def begin():
    """A crew without members."""
    tapegrad_crew_begin()


begin()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=begin)
