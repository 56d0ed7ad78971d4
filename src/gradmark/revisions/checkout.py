"""Another revision, built: a git worktree with an environment of its own, where workers can run.

In: what git calls it, and the build command. Out: two places for workers, there and here, with one harness, each of
which loads its own files of the repository and none of the other's.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gradmark.errors import RevisionError
from gradmark.isolation import home
from gradmark.measure.origins import Origins, Whose
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

    def changed(self, files: Iterable[str]) -> list[str]:
        """Those of the files of which the two sides have different versions; what is new has only one."""
        copies = {file: Path(self.before.origins.own(file)) for file in files if self.before.origins is not None}
        both = {file: copy for file, copy in copies.items() if copy.is_file()}
        return [file for file, copy in both.items() if copy.read_bytes() != Path(file).read_bytes()]


def git(*arguments: str) -> str:
    """What git answers."""
    try:
        completed = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, errors="surrogateescape", check=False
        )
    except OSError as error:
        raise RevisionError(f"git is needed for --against, and cannot be run: {error}") from error
    if completed.returncode != 0:
        errors = completed.stderr.strip().splitlines()
        raise RevisionError(f"`git {' '.join(arguments)}` failed: {errors[-1] if errors else 'without a word'}")
    return completed.stdout.strip()


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
    top = Path(git("rev-parse", "--show-toplevel")).resolve()
    mark = hashlib.sha256(f"{command}\0{sys.version}\0{sysconfig.get_path('purelib')}".encode()).hexdigest()[:8]
    folder = FOLDER.resolve() / f"{commit[:12]}-{mark}"
    tree, environment, built = folder / "tree", folder / "environment", folder / "built"
    before, now = _origins(top, folder)
    if not built.exists():
        shutil.rmtree(folder, ignore_errors=True)
        git("worktree", "prune")
        git("worktree", "add", "--quiet", "--force", "--detach", str(tree), commit)
        _run([sys.executable, "-m", "venv", "--without-pip", str(environment)], tree, f"the environment of {name}")
    _see_present(environment, before)
    if not built.exists():
        _install(environment, tree, command, name)
        built.touch()
    harness = _harness(folder)
    here = Path.cwd()
    there = Path(before.own(str(here)))
    there.mkdir(parents=True, exist_ok=True)  # a folder that is new has no workloads there, but is no error
    return Revision(
        name=commit[:12] if name == commit else f"{name} ({commit[:12]})",
        before=_place(str(_python(environment)), there, harness, before),
        now=_place(sys.executable, here, harness, now),
    )


def _origins(top: Path, folder: Path) -> tuple[Origins, Origins]:
    """Whose files are whose, before and now. `folder` has the other revision; other checkouts are of neither."""
    tree = folder / "tree"
    neither: dict[str, Whose] = {str(other): "other" for other in (FOLDER.resolve(), *_worktrees())}
    paths = [sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib", "platstdlib")]
    packages = [entry for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    python = {Path(path).resolve() for path in (*paths, *packages, sys.prefix, sys.exec_prefix, sys.base_prefix)}
    # A folder that holds the repository says nothing of its files.
    used: dict[str, Whose] = {str(path): "installed" for path in python if not top.is_relative_to(path)}
    used[str(folder / "harness")] = "harness"
    there: dict[str, Whose] = {str(top): "other", str(tree): "own", str(folder / "environment"): "own"}
    return (
        Origins(top=str(top), tree=str(tree), folders={**neither, **used, **there}),
        Origins(top=str(top), tree=str(top), folders={**neither, **used, str(top): "own"}, installed=True),
    )


def _worktrees() -> list[Path]:
    """Where else this repository is checked out."""
    lines = git("worktree", "list", "--porcelain").splitlines()
    return [Path(line.partition(" ")[2]).resolve() for line in lines if line.startswith("worktree ")]


def _place(python: str, folder: Path, harness: Path, origins: Origins) -> Place:
    """A place whose PYTHONPATH is what it was, with folders of the repository taken from its own tree."""
    entries = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    own = [os.path.abspath(origins.own(entry)) for entry in entries]
    tree = Path(origins.tree)
    roots = dict.fromkeys(map(str, [*own, folder, tree, tree / "src"]))
    of_tree = [root for root in roots if origins.whose(root) == "own"]
    origins = msgspec.structs.replace(origins, roots=of_tree)
    return Place(python, folder, os.pathsep.join(map(str, [harness, *own])), origins=origins)


def _python(environment: Path) -> Path:
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _see_present(environment: Path, origins: Origins) -> None:
    """Lets an environment see the present one's packages after its own, but none of this repository's folders.

    Both sides then use the same NumPy, and only what the command installs differs. A path in a .pth file is not
    searched for further .pth files, so an editable install of the present revision is not seen.
    """
    asked = [str(_python(environment)), "-S", "-c", "import sys; print(*sys.path, sep='\\n')"]  # -S: without .pth files
    own = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
    present = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *filter(os.path.isabs, sys.path)]
    # Not what it has itself: pip takes everything that a .pth file adds away from builds, and builds need Python's own.
    fallback = dict.fromkeys(entry for entry in present if entry not in own and origins.whose(entry) != "other")
    inside = sysconfig.get_path("purelib", scheme="venv", vars={"base": str(environment), "platbase": str(environment)})
    (Path(inside) / "present_environment.pth").write_text("\n".join(fallback) + "\n")


def _install(environment: Path, tree: Path, command: str, name: str) -> None:
    filled = command.replace("{python}", shlex.quote(str(_python(environment)))).replace(
        "{tree}", shlex.quote(str(tree))
    )
    if filled.strip():
        _run(filled, tree, f"the build of {name} (`{command}`)")


def _run(command: str | list[str], folder: Path, what: str) -> None:
    try:
        completed = subprocess.run(
            command, shell=isinstance(command, str), cwd=folder, timeout=BUILD_S, check=False, text=True,
            errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=home.marked(os.environ),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise RevisionError(f"{what} took more than {BUILD_S} s; that is no regression, nothing was compared") from None
    if completed.returncode != 0:
        last = "\n".join(completed.stdout.strip().splitlines()[-SHOWN_LINES:])
        raise RevisionError(
            f"{what} failed with exit code {completed.returncode}; that is no regression, nothing was compared. Set "
            f"`build` in [tool.gradmark] to what builds it ({{python}} and {{tree}} are filled in). It said:\n{last}"
        )


def _harness(folder: Path) -> Path:
    """A copy of this gradmark, which measures both sides: a change of the harness is none of an engine."""
    source, target = Path(__file__).parents[1], folder / "harness" / "gradmark"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target.parent
