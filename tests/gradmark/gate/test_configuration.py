from pathlib import Path

import pytest

from gradmark.errors import ConfigurationError
from gradmark.gate.configuration import BUILD, DEFAULTS, Configuration, read
from gradmark.records import Budget


@pytest.fixture
def says(tmp_path):
    def written(text, options=()):
        path = tmp_path / "pyproject.toml"
        path.write_text(text)
        return read(options, path)

    return written


def test_without_a_file_or_table_the_defaults_hold(tmp_path, says):
    assert read((), tmp_path / "none.toml") == says("[project]\nname = 'x'\n") == Configuration()
    assert Configuration().build == BUILD


def test_a_share_a_number_and_a_factor():
    assert Budget(share=0.05).limit(200) == 210
    assert Budget(added=2).limit(3) == 5
    assert Budget().limit(3) == 3
    assert Budget(factor=10).limit(1e-16) == 1e-15
    assert [str(b) for b in (Budget(share=0.05), Budget(added=2), Budget(), Budget(factor=10))] == [
        "5%",
        "2",
        "0",
        "10x",
    ]


def test_the_registry_says_what_has_a_budget():
    assert {name: str(budget) for name, budget in DEFAULTS.items()} == {
        "time": "5%",
        "allocations": "0",
        "leaked_bytes": "0",
        "peak_bytes": "5%",
        "tape_instructions": "0",
        "instructions": "1%",
        "gradient_error": "10x",
        "import": "10% + 50ms",
        "prepare": "10% + 50ms",
        "first_call": "10% + 50ms",
    }


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("10%", Budget(share=0.1)),
        ("50ms", Budget(added_ns=50e6)),
        ("0.2 s", Budget(added_ns=0.2e9)),
        ("10% + 50 ms", Budget(share=0.1, added_ns=50e6)),
        ("50ms+10%", Budget(share=0.1, added_ns=50e6)),
    ],
)
def test_what_happens_once_may_have_a_share_and_a_time(text, budget):
    assert read([f"import={text}"], Path("none")).budget("import", "poly") == budget


@pytest.mark.parametrize(
    "text", ["50", "0", "10x", "5%+5%", "1ms+1s", "10%+", "+50ms", "ms", "nan ms", "-50ms", "50kg"]
)
def test_what_is_neither_a_share_nor_a_time(text):
    with pytest.raises(ConfigurationError) as caught:
        read([f"prepare={text}"], Path("none"))
    assert 'prepare must be a share ("10%"), a time ("50ms") or both ("10% + 50ms"), got' in str(caught.value)


def test_everything_that_can_be_said(says):
    found = says(
        """
        [tool.gradmark]
        select = ["poly", "mine.py"]
        engines = ["mine:Engine"]
        build = "make {python}"
        [tool.gradmark.budgets]
        time = "3 %"
        allocations = 2
        [tool.gradmark.budgets."mlp_*"]
        time = "10%"
        [tool.gradmark.budgets.mlp_step]
        gradient_error = "2x"
        """
    )
    assert (found.select, found.engines, found.build) == (("poly", "mine.py"), ("mine:Engine",), "make {python}")
    assert found.budget("time", "poly") == Budget(share=0.03)
    assert found.budget("time", "mlp_step") == Budget(share=0.10)
    assert found.budget("allocations", "mlp_step") == Budget(added=2)
    assert found.budget("gradient_error", "mlp_step") == Budget(factor=2)
    assert found.budget("tape_instructions", "poly") == Budget()


def test_an_option_wins_over_the_file(says):
    found = says("[tool.gradmark.budgets]\ntime = '3%'\n[tool.gradmark.budgets.poly]\ntime = '9%'\n", ["time=2%"])
    assert found.budget("time", "poly") == Budget(share=0.02)


def test_an_option_for_one_metric_leaves_the_others_of_a_workload(says):
    found = says("[tool.gradmark.budgets.poly]\nallocations = 4\n", ["time=2%"])
    assert found.budget("allocations", "poly") == Budget(added=4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[tool.gradmark.budgets]\ntmie = '5%'",
            "'tmie', which is not a metric; choose from: time (default 5%), alloc",
        ),
        (
            "[tool.gradmark.budgets.poly]\nalocations = 0",
            "'poly' has 'alocations', which is not a metric; choose from:",
        ),
        ("[tool.gradmark]\nbudget = 3", "'budget', which is not a key; choose from: select: suites, workloads"),
        ("[tool.gradmark.budgets]\ntime = 'fast'", """time must be a share ("5%"), a factor ("10x") or the number"""),
        ("[tool.gradmark.budgets]\ntime = 5", 'time must be a share such as "5%", got 5'),
        ("[tool.gradmark.budgets]\nallocations = true", "got True"),
        ("[tool.gradmark.budgets]\nallocations = -1", "got -1"),
        ("[tool.gradmark.budgets]\nallocations = nan", "got nan"),
        ("[tool.gradmark]\nbudgets = 3", "must be a table, got 3"),
        (
            "[tool.gradmark]\nengines = 'tapegrad'",
            """engines must be a list of names such as ["poly"], got 'tapegrad'""",
        ),
        ("[tool.gradmark]\nbuild = 3", "build must be a command, got 3"),
        ("[tool", "is not TOML"),
        ("tool = 1", "[tool] of "),
        ("[tool]\ngradmark = [1]", "pyproject.toml must be a table, got [1]"),
        ("a = " + "[" * 5000, "is not TOML: maximum recursion depth exceeded"),
        ("a = " + "9" * 5000, "is not TOML: Exceeds the limit"),
        ("[tool.gradmark.budgets]\nallocations = 0x" + "f" * 5000, "got a value that is too long to be shown"),
        ("[tool.gradmark]\nbudgets = [" + "1," * 500 + "]", "must be a table, got [1, 1"),
        ("[tool.gradmark.budgets]\nallocations = '5%x'", "got '5%x'"),
        ('[tool.gradmark]\nbuild = "a\\u0000b"', "build must be a command, got 'a\\x00b'"),
    ],
)
def test_what_is_wrong_is_said_with_what_is_allowed(says, text, message):
    with pytest.raises(ConfigurationError) as error:
        says(text)
    assert message in str(error.value)


def test_a_wrong_option_names_itself(says):
    with pytest.raises(ConfigurationError, match="--budget tmie=3% has 'tmie'"):
        says("", ["tmie=3%"])


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "pyproject.toml"
    path.write_bytes(b"name = 'caf\xe9'")
    with pytest.raises(ConfigurationError, match="is not TOML: 'utf-8' codec can't decode byte 0xe9"):
        read(path=path)


def test_toml_is_utf8_whatever_the_locale(tmp_path, monkeypatch):
    monkeypatch.setattr("locale.getpreferredencoding", lambda _=True: "ascii")
    path = tmp_path / "pyproject.toml"
    path.write_bytes("[tool.gradmark]\nselect = ['wörk']".encode())
    assert read(path=path).select == ("wörk",)
