"""pyproject.toml, mutated and generated: each gives a configuration, or one error that names the file."""

from hypothesis import given
from hypothesis import strategies as st

from fuzz.budget import inputs
from fuzz.mutations import mutated
from gradmark.errors import ConfigurationError
from gradmark.gate.configuration import DEFAULTS, KEYS, read
from gradmark.records import Budget

VALID = b"""\
[project]
name = "mine"

[tool.gradmark]
select = ["poly", "mine.py"]
engines = ["tapegrad", "mine:Engine"]
build = "{python} -m pip install {tree}"

[tool.gradmark.budgets]
time = "3%"
allocations = 2

[tool.gradmark.budgets.mlp_step]
gradient_error = "2x"
"""
WORDS = st.one_of(st.sampled_from([*KEYS, *DEFAULTS, "tool", "gradmark", "poly", "*", "[", "a.b"]), st.text(max_size=4))
SCALARS = st.one_of(
    st.sampled_from(
        ["1", "-1", "0.5", "inf", "nan", "true", "'5%'", "'10x'", "''", "'%'", "'5%x'", "1979-05-27", "0x" + "f" * 5000]
    ),
    st.integers().map(str),
    WORDS.map(lambda word: repr(word.replace("'", ""))),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda parts: f"[{', '.join(parts)}]"),
        st.dictionaries(WORDS, inner, max_size=3).map(
            lambda table: "{" + ", ".join(f"{key!r} = {value}" for key, value in table.items()) + "}"
        ),
    ),
    max_leaves=5,
)
TABLES = st.sampled_from(["tool", "tool.gradmark", "tool.gradmark.budgets", "tool.gradmark.budgets.poly", "tool.other"])
GENERATED = st.lists(st.tuples(TABLES, st.dictionaries(WORDS, VALUES, max_size=3)), max_size=4).map(
    lambda tables: "\n".join(
        [f"[{name}]\n" + "\n".join(f"{key!r} = {value}" for key, value in table.items()) for name, table in tables]
    ).encode("utf-8", "surrogatepass")
)


@inputs(few=120, share=0.08)
@given(data=st.one_of(mutated(VALID), GENERATED), option=st.one_of(st.none(), st.text(max_size=8)))
def test_a_configuration_is_read_or_refused(data, option, tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "pyproject.toml"
    path.write_bytes(data)
    try:
        found = read([] if option is None else [option], path)
    except ConfigurationError as error:
        assert str(path) in str(error) or f"--budget {option}" in str(error)
        assert len(str(error)) < 3000
        return
    for metric in DEFAULTS:
        budget = found.budget(metric, "poly")
        assert isinstance(budget, Budget)
        assert budget.limit(1.0) >= 0.0
    assert all(isinstance(word, str) for word in (*found.select, *found.engines, found.build))
