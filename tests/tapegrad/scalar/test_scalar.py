"""The scalar engine as a whole: what is said where it was not built."""

import shutil
import subprocess
import sys
from pathlib import Path

import tapegrad


def test_without_its_compiled_core_the_import_says_what_to_do(tmp_path):
    source = Path(tapegrad.__file__).parent
    shutil.copytree(source, tmp_path / "tapegrad", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import tapegrad"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "ImportError: tapegrad's scalar core is not built for this Python; in the repository run `pip install -e .`"
    )
