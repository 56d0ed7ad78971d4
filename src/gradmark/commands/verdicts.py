"""Verdicts on the terminal, and the exit code that they add up to."""

from collections.abc import Sequence

from gradmark.commands.terminal import Styled, say
from gradmark.records import Verdict

COLOURS = {"kept": "green", "supported": "green", "broken": "red", "refuted": "red"}


def print_verdicts(verdicts: Sequence[Verdict]) -> None:
    """One paragraph for each: verdict, claim, evidence."""
    several = len({verdict.engine for verdict in verdicts}) > 1
    for verdict in verdicts:
        word = Styled(f"{verdict.verdict:13}", COLOURS.get(verdict.verdict, "yellow"), bold=True)
        say(word, f"{f'{verdict.engine}: ' if several else ''}{verdict.claim}")
        for part in verdict.evidence:
            say(f"{'':13}{part}")


def exit_code(verdicts: Sequence[Verdict]) -> int:
    """1 if anything is broken or refuted, 3 if anything is open, else 0. Doubt is never a pass and never a fail."""
    words = {verdict.verdict for verdict in verdicts}
    if words & {"broken", "refuted"}:
        return 1
    return 3 if words & {"undecided", "not measured"} else 0
