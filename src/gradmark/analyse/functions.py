"""Functions of one name that are not the same: two runs may have measured different code under it.

In: an older and a newer run. Out: a `Namesake` for each workload of a file that changed in between, or that the runs
took from two files. Files without a digest, and functions that are installed, say nothing.
"""

from gradmark.records import Record, Run


class Namesake(Record, frozen=True, kw_only=True):
    """One name, and the files that two runs took it from; the same file twice if its text changed."""

    workload: str
    old: str
    new: str

    @property
    def changed(self) -> bool:
        """Whether it is one file, edited between the runs; its rows are compared. Those of two files are not."""
        return self.old == self.new


def namesakes(old: Run, new: Run) -> list[Namesake]:
    """Every workload that is other code in the newer run, by name."""
    before, after = _files(old), _files(new)
    pairs = []
    for name in dict.fromkeys([*before, *after]):
        ours, theirs = before.get(name, set()), after.get(name, set())
        edited = [file for file in sorted(ours & theirs) if _edited(file, old, new)]
        pairs += [Namesake(workload=name, old=file, new=file) for file in edited]
        if not ours & theirs:
            pairs += [Namesake(workload=name, old=a, new=b) for a in sorted(ours) for b in sorted(theirs)]
    return pairs


def edited_files(old: Run, new: Run) -> list[str]:
    """Files of engines that changed between the runs."""
    functions = {file for run in (old, new) for files in _files(run).values() for file in files}
    return [file for file in sorted(old.sources) if file not in functions and _edited(file, old, new)]


def _files(run: Run) -> dict[str, set[str]]:
    files: dict[str, set[str]] = {}
    for cell in (m.cell for m in run.measurements):
        if cell.file is not None:
            files.setdefault(cell.workload, set()).add(cell.file)
    return files


def _edited(file: str, old: Run, new: Run) -> bool:
    return file in old.sources and file in new.sources and old.sources[file] != new.sources[file]
