"""Masks: numbers that somebody has marked as missing. No derivative is taken of those, and none is made up for them.

In: whatever is to become an array. Out: nothing, or an error that says how to go on.
"""

import sys
from typing import Any

from tapegrad.errors import InputError


def refuse_masked(value: Any) -> None:
    """Raises if an array, or one in a list, has masked numbers: NumPy would go on with what lies under the mask."""
    masked = sys.modules.get("numpy.ma")  # where it was never imported, nothing is masked
    if masked is None:
        return
    if isinstance(value, list | tuple):
        for item in value:
            if type(item) is not float:  # most are
                refuse_masked(item)
    elif isinstance(value, masked.MaskedArray) and masked.is_masked(value):
        raise InputError(
            f"expected numbers, got an array with {masked.count_masked(value)} of {value.size} masked; "
            "fill these (x.filled(0.0)), or leave them out (x.compressed())"
        )
