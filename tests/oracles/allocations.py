"""How often a function asks any allocator for memory, counted by memray."""

from collections.abc import Callable
from pathlib import Path

FREES = {"FREE", "MUNMAP", "PYMALLOC_FREE"}


def count(work: Callable[[], object], path: Path) -> int:
    """Allocations, Python's and native ones, while work runs."""
    import memray

    with memray.Tracker(path, trace_python_allocators=True):
        work()
    with memray.FileReader(path) as reader:
        return sum(
            record.n_allocations
            for record in reader.get_allocation_records()
            if memray.AllocatorType(record.allocator).name not in FREES
        )
