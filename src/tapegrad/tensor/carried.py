"""What loops carry from step to step: its structure, in which None is nothing, and errors where it changes.

In: what a body got and what it gave. Out: the items in order, or an error that says what to do.
"""

from collections.abc import Iterable
from typing import Any

from tapegrad.errors import InputError, ShapeError
from tapegrad.tensor.trees import flat, matched, rebuilt


def leaves(tree: Any) -> list[Any]:
    """The arrays and numbers of a structure."""
    return [item for item in flat(tree) if item is not None]


def filled(tree: Any, items: Iterable[Any]) -> Any:
    """The structure with other arrays and numbers."""
    remaining = iter(items)
    return rebuilt(tree, iter([None if item is None else next(remaining) for item in flat(tree)]))


def pair(result: Any) -> tuple[Any, Any]:
    """What a scan's function has returned, if it is two things."""
    if not isinstance(result, tuple) or len(result) != 2:
        got = f"a tuple of {len(result)}" if isinstance(result, tuple) else type(result).__name__
        raise InputError(
            f"expected the function of scan to return (carry, y), got {got}; without a result of each step write "
            "`return carry, None`"
        )
    return result


def carried_items(following: Any, before: Any) -> list[Any]:
    """The items, None among them, of what a body gave to be carried on, in the structure of what it got."""
    items = matched(following, before, "the carry")
    for k, (new, old) in enumerate(zip(items, flat(before), strict=True)):
        if isinstance(new, (list, tuple, dict)) or (new is None) != (old is None):
            got, wanted = ("None" if x is None else type(x).__name__ for x in (new, old))
            raise InputError(
                f"expected item {k} of the carry to stay what it was, {wanted}, got {got}; a body returns what it "
                "carries in the structure in which it gets it"
            )
    return items


def check_alike(new: tuple[Any, Any], old: tuple[Any, Any], k: int, loop: str) -> None:
    """An error if one item of what is carried is unlike the one before."""
    if new == old:
        return
    if new[0] != old[0]:
        advice = "broadcast or reshape init to what the body returns"
    elif new[0]:
        advice = f"convert it: init.astype({new[1]}), or what the body returns to {old[1]}"
    else:
        advice = f"start with a number of {new[1]}, or convert what the body returns to {old[1]}"
    raise ShapeError(
        f"expected the body of {loop} to keep the shape and dtype of what it carries: item {k} went in as "
        f"{described(old)} and came out as {described(new)}; {advice}"
    )


def described(kind: tuple[Any, Any]) -> str:
    """A shape and dtype for people."""
    return f"{kind[1]}{list(kind[0])}"
