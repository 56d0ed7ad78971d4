import pytest

from gradmark.records.finding import EXIT_CODES, Finding, Gate, merged


def gate(*words):
    return Gate(against="b", findings=[Finding(cell=str(k), metric="m", word=word) for k, word in enumerate(words)])


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 0),
        (["pass", "improved", "new", "not compared"], 0),
        (["pass", "inconclusive"], 3),
        (["inconclusive", "fail", "pass"], 1),
    ],
)
def test_the_answer_and_its_exit_code(words, code):
    assert EXIT_CODES[gate(*words).answer] == code


def test_what_was_looked_at_again_takes_its_place():
    first = gate("fail", "pass").findings
    again = [Finding(cell="0", metric="m", word="pass")]
    assert [finding.word for finding in merged(first, again)] == ["pass", "pass"]
