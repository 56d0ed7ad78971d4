"""Builds the wheel and the source distribution, and tries both in empty environments: `make dist`.

The wheel is installed where no compiler is on the path: once as the engine alone, once with the laboratory. The source
distribution is built with a compiler. In: nothing. Out: dist/, and a line for each trial.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
# What a compiler is called; none of these may be found beside a wheel.
COMPILERS = ("cc", "gcc", "clang", "cl", "c99", "c++", "g++")


def main() -> None:
    """Builds, installs, tries."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", DIST, ROOT], check=True, stdout=subprocess.DEVNULL)
    (wheel,), (source,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    for what, package, extra, compiler in (
        ("wheel, the engine alone, no compiler", wheel, "", False),
        ("wheel with the laboratory, no compiler", wheel, "[lab]", False),
        ("source distribution with a compiler", source, "", True),
    ):
        begun_s = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="gradmark-") as folder:
            size = tried(Path(folder), f"{package}{extra}", compiler=compiler)
        print(f"{what}: ok, {size >> 20} MiB installed, {time.monotonic() - begun_s:.0f} s")


def tried(folder: Path, package: str, *, compiler: bool) -> int:
    """Installs into an empty environment and runs the smoke test there; gives the bytes that were installed."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    path = os.environ["PATH"] if compiler else without_compilers(folder / "bin")
    environment = {**os.environ, "PATH": path}
    for name in ("PYTHONPATH", "CC", "CFLAGS"):
        environment.pop(name, None)
    before = size_of(folder / "venv")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
    subprocess.run([*install, "--constraint", ROOT / "constraints.txt"], env=environment, check=True, cwd=folder)
    done = subprocess.run(
        [python, ROOT / "tests" / "smoke.py"], env=environment, cwd=folder, check=True, capture_output=True, text=True
    )
    assert str(ROOT / "src") not in done.stdout, done.stdout
    return size_of(folder / "venv") - before


def without_compilers(folder: Path) -> str:
    """A folder that has all programs of the path but compilers, as the path of an environment."""
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            name = program.name.removesuffix(".exe")
            link = folder / program.name
            if not name.endswith(COMPILERS) and not link.exists() and not link.is_symlink():
                link.symlink_to(program)
    assert not any(shutil.which(name, path=str(folder)) for name in COMPILERS)
    return str(folder)


def size_of(folder: Path) -> int:
    """All bytes below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


if __name__ == "__main__":
    main()
