"""Discovery: built-in names, module paths, and errors that help."""

import pytest

from gradmark.engines import discovery
from gradmark.errors import EngineError, SelectionError


@pytest.mark.parametrize("name", discovery.BUILT_IN)
def test_built_in_engines_have_the_name_they_are_known_by(name):
    assert discovery.load(name).name == name


def test_by_module_path():
    assert discovery.load("faults.engines:Leak").name == "leak"


@pytest.mark.parametrize(
    ("name", "message"),
    [("tapegrat", "did you mean tapegrad"), ("zzz", "there are: null, python-floats"), ("Null", "did you mean null")],
)
def test_wrong_names(name, message):
    with pytest.raises(SelectionError, match=f"no engine is called '{name}'; {message}"):
        discovery.load(name)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:X", r"cannot be imported: No module named 'no_such_module'; a name with ':'"),
        ("faults.engines:Lek", r"has no 'Lek'; it has: Leak"),
        ("tapegrad:frsh", r"has no 'frsh'"),
        ("faults.engines:NotAnEngine", r"lacks name, capabilities, prepare"),
    ],
)
def test_wrong_paths(name, message):
    with pytest.raises(EngineError, match=message):
        discovery.load(name)
