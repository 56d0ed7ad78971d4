"""The home: one folder for all children, marks that add up, and nothing of it when its owner is over."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gradmark.isolation import home, janitor


def test_folders_of_all_children_are_in_one_place():
    with home.fresh_folder() as one, home.fresh_folder() as other:
        assert Path(one).parent == Path(other).parent
        assert Path(one).parent.name.startswith("gradmark-")
        assert Path(one).parent.stat().st_mode & 0o777 == 0o700
    assert not Path(one).exists()


def test_marks_add_up():
    first = home.marked({"A": "1"})
    second = home.marked(first)
    assert first["A"] == second["A"] == "1"
    assert second[home.MARKS].startswith(first[home.MARKS])
    assert second[home.MARKS].count(";") == 2
    assert home.marked({}, "m;") == {home.MARKS: "m;"}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the processes")
@pytest.mark.parametrize("end", ["", "import os; os._exit(0)", "import os; os.kill(os.getpid(), 9)"])
def test_the_folder_does_not_outlive_its_owner(tmp_path, end):
    code = f"from gradmark.isolation import home; home.fresh_folder().name; print(home._home().janitor.pid)\n{end}\n"
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", code], stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    pid, _ = process.communicate()
    while int(pid) in janitor.running():  # whose remains may stay for seconds: they have come to somebody else
        time.sleep(0.01)
    assert list(tmp_path.iterdir()) == []


def test_a_fork_has_a_home_of_its_own(tmp_path):
    code = (
        "import os; from gradmark.isolation import home\n"
        "ours = home._home().folder\n"
        "if os.fork() == 0:\n"
        "    assert home._home().folder != ours\n"
        "    raise SystemExit\n"
        "assert os.wait()[1] == 0\n"
        "assert os.path.isdir(ours) and os.listdir(os.environ['TMPDIR']) == [os.path.basename(ours)]\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.iterdir()) == []
