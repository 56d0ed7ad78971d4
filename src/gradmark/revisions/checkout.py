"""Another revision, built: a git worktree with an environment of its own, where workers can run.

In: what git calls it, and the build command. Out: two places for workers, there and here, with one harness.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from gradmark.errors import RevisionError
from gradmark.measure.process import Place

FOLDER = Path(".gradmark") / "revisions"
# A build that compiles takes minutes; one that takes longer than this hangs.
BUILD_S = 1800
SHOWN_LINES = 15


@dataclass(frozen=True)
class Revision:
    """The two sides: the other revision, and what is in the current folder."""

    name: str
    before: Place
    now: Place

    @property
    def places(self) -> dict[str, Place]:
        """Where the cells of each side are measured."""
        return {"before": self.before, "now": self.now}


def git(*arguments: str) -> str:
    """What git answers."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise RevisionError(f"git is needed for --against, and cannot be run: {error}") from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise RevisionError(f"`git {' '.join(arguments)}` failed: {said[-1] if said else 'without a word'}")
    return done.stdout.strip()


def commit_of(name: str) -> str:
    """The commit that a branch, a tag or a short name means now; raises `RevisionError` if there is none."""
    top = Path(git("rev-parse", "--show-toplevel"))
    try:
        return git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except RevisionError:
        raise RevisionError(
            f"no revision is called {name!r}; expected a branch, a tag or a commit of {top.name}"
        ) from None


def build(name: str, command: str) -> Revision:
    """Checks the revision out and builds it, unless that was done before; raises `RevisionError` if it cannot be."""
    commit = commit_of(name)
    top = Path(git("rev-parse", "--show-toplevel"))
    mark = hashlib.sha256(f"{command}\0{sys.version}\0{sysconfig.get_path('purelib')}".encode()).hexdigest()[:8]
    folder = FOLDER.resolve() / f"{commit[:12]}-{mark}"
    tree, environment, built = folder / "tree", folder / "environment", folder / "built"
    if not built.exists():
        shutil.rmtree(folder, ignore_errors=True)
        git("worktree", "prune")
        git("worktree", "add", "--quiet", "--force", "--detach", str(tree), commit)
        _make(environment, (top, tree), command, name)
        built.touch()
    harness = _harness(folder)
    here = Path.cwd()
    there = tree / here.resolve().relative_to(top.resolve())
    return Revision(
        name=commit[:12] if name == commit else f"{name} ({commit[:12]})",
        before=Place(str(_python(environment)), there, _path(harness, top, tree)),
        now=Place(sys.executable, here, _path(harness, top, top)),
    )


def _python(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _make(environment: Path, trees: tuple[Path, Path], command: str, name: str) -> None:
    """An environment whose own packages come first, and the present one's after them, but for this repository's own.

    Both sides then use the same NumPy, and only what the command installs differs. A path in a .pth file is not
    searched for further .pth files, so an editable install of the present revision is not seen.
    """
    top, tree = trees
    _run([sys.executable, "-m", "venv", "--without-pip", str(environment)], tree, f"the environment of {name}")
    asked = "import sys, sysconfig; print(sysconfig.get_path('purelib'), *sys.path, sep='\\n')"
    told = subprocess.run([str(_python(environment)), "-c", asked], capture_output=True, text=True, check=True)
    inside, *own = told.stdout.splitlines()
    installed = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    foreign = [entry for entry in sys.path if os.path.isabs(entry) and not Path(entry).is_relative_to(top)]
    # Not what it has itself: pip takes everything that a .pth file adds away from builds, and builds need Python's own.
    fallback = dict.fromkeys(entry for entry in (*installed, *foreign) if entry not in own)
    (Path(inside) / "present_environment.pth").write_text("\n".join(fallback) + "\n")
    filled = command.replace("{python}", shlex.quote(str(_python(environment)))).replace(
        "{tree}", shlex.quote(str(tree))
    )
    if filled.strip():
        _run(filled, tree, f"the build of {name} (`{command}`)")


def _run(command: str | list[str], folder: Path, what: str) -> None:
    try:
        done = subprocess.run(
            command, shell=isinstance(command, str), cwd=folder, timeout=BUILD_S, check=False, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RevisionError(f"{what} took more than {BUILD_S} s; that is no regression, nothing was compared") from None
    if done.returncode != 0:
        last = "\n".join(done.stdout.strip().splitlines()[-SHOWN_LINES:])
        raise RevisionError(
            f"{what} failed with exit code {done.returncode}; that is no regression, nothing was compared. Set "
            f"`build` in [tool.gradmark] to what builds it ({{python}} and {{tree}} are filled in). It said:\n{last}"
        )


def _harness(folder: Path) -> Path:
    """A copy of this gradmark, which measures both sides: a change of the harness is none of an engine."""
    source, target = Path(__file__).parents[1], folder / "harness" / "gradmark"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target.parent


def _path(harness: Path, top: Path, tree: Path) -> str:
    """PYTHONPATH: the harness, then what it was, with folders of the repository taken from the tree."""
    entries = [Path(entry).absolute() for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    moved = [tree / entry.relative_to(top) if entry.is_relative_to(top) else entry for entry in entries]
    return os.pathsep.join(map(str, [harness, *moved]))
