"""The hand of `ht`: bones, vertices that move with them, triangles, and what was seen of it.

In: the name of a model and a number of points. Out: arrays, read from ADBench's files or drawn: a model that gradmark
does not have (`big`) has the bones of the small one, and vertices around them with weights of up to four bones.
"""

import functools
from dataclasses import dataclass
from typing import Any

from gradmark.errors import InvalidWorkloadError
from gradmark.workloads.literature import files
from gradmark.workloads.literature.streams import SEED

FINGERS, JOINTS = 5, 4
# wrist, five fingers of four bones each, forearm: which bone each one hangs on
PARENTS = [-1, *(0 if joint == 0 else 4 * finger + joint for finger in range(FINGERS) for joint in range(JOINTS)), 0]
BONES = len(PARENTS)
ANGLES = 26  # global rotation and translation, and four angles of each finger
# Vertices and triangles of ADBench's models.
VERTICES = {"small": 544, "big": 10_000}
TRIANGLES = 1084
# Of the published instances.
POINTS = [100, 192, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 100_000]


@dataclass(frozen=True)
class Hand:
    """A model. Transforms are matrices of 3 rows and 4 columns, the last one a translation."""

    base: Any  # of each bone against the one that it hangs on
    inverse: Any  # from where a vertex lies at rest to the bone's own coordinates
    vertices: Any
    weights: Any  # of each bone for each vertex
    triangles: Any


@dataclass(frozen=True)
class Seen:
    """Angles to start from, and points with the vertex or triangle that each is of, and where in the triangle."""

    angles: Any
    points: Any
    which: Any
    inside: Any


def _rows(path: Any, at_least: int) -> list[list[str]]:
    """The fields of each line, of which there must be so many."""
    try:
        rows = [line.split(":") for line in path.read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidWorkloadError(f"{path} cannot be read: {error}") from error
    for number, row in enumerate(rows, 1):
        if len(row) < at_least:
            raise InvalidWorkloadError(f"{path}, line {number}: expected {at_least} fields, got {len(row)}")
    return rows


def _numbers(path: Any, line: int, fields: list[str], kind: type) -> list[Any]:
    try:
        return [kind(field) for field in fields]
    except ValueError as error:
        raise InvalidWorkloadError(f"{path}, line {line}: expected numbers, got {error}") from None


@functools.cache
def read_model(folder: Any) -> Hand:
    """A model of ADBench: `bones.txt`, `vertices.txt` and `triangles.txt`."""
    import numpy as np

    path = folder / "bones.txt"
    bones = _rows(path, 34)
    parents = [int(row[1]) for row in bones]
    if parents != PARENTS:
        raise InvalidWorkloadError(
            f"{path}: expected {BONES} bones that hang on {PARENTS}, got {len(parents)} on {parents}"
        )
    numbers = np.array([_numbers(path, k, row[2:34], float) for k, row in enumerate(bones, 1)]).reshape(BONES, 2, 4, 4)
    path = folder / "vertices.txt"
    rows = _rows(path, 9)
    vertices = np.array([_numbers(path, k, row[:3], float) for k, row in enumerate(rows, 1)])
    weights = np.zeros((len(rows), BONES))
    for k, row in enumerate(rows):
        (several,) = _numbers(path, k + 1, row[8:9], int)
        pairs = row[9 : 9 + 2 * several]
        if len(pairs) != 2 * several:
            raise InvalidWorkloadError(
                f"{path}, line {k + 1}: expected {several} bones with their weights, got {len(pairs) / 2:g}"
            )
        weights[k, _numbers(path, k + 1, pairs[0::2], int)] = _numbers(path, k + 1, pairs[1::2], float)
    path = folder / "triangles.txt"
    triangles = np.array([_numbers(path, k, row, int) for k, row in enumerate(_rows(path, 3), 1)])
    return Hand(numbers[:, 0, :3], numbers[:, 1, :3], vertices, weights, triangles)


@functools.cache
def drawn_model(vertices: int) -> Hand:
    """The bones of the small model, with other vertices: near those that it has, moved by as much as they are apart."""
    import numpy as np

    small, draw = read_model(files.OWN / "hand" / "model"), np.random.RandomState(SEED)
    near = draw.randint(len(small.vertices), size=vertices)
    places = small.vertices[near] + 0.005 * draw.standard_normal((vertices, 3))
    triangles = draw.randint(vertices, size=(TRIANGLES, 3))
    return Hand(small.base, small.inverse, places, small.weights[near], triangles)


def read(model: str, c: int, complicated: bool) -> tuple[Hand, Seen]:
    """A model and what was seen of it."""
    path, kind = None, "complicated" if complicated else "simple"
    if c == 2 and model == "small":
        path = files.find("hand_complicated.txt" if complicated else "test.txt", "hand")
    elif c in POINTS:
        ending, words = f"t26_c{c}.txt", ("hand", kind)
        path = files.find(ending, *words, "_big") if model == "big" else files.find(ending, *words, but="_big")
    if path is None:
        hand = drawn_model(VERTICES[model]) if model == "big" else read_model(files.OWN / "hand" / "model")
        return hand, drawn(hand, c, complicated)
    folder = next((place / "model" for place in path.parents if (place / "model").is_dir()), path.parent / "model")
    hand = read_model(folder)
    return hand, parsed(path, hand, c, complicated)


def parsed(path: Any, hand: Hand, c: int, complicated: bool) -> Seen:
    """What a file of ADBench says."""
    import numpy as np

    lines = files.Lines(path)
    lines.header(c=c, angles=ANGLES)
    rows = lines.block(c, 4, "a vertex or triangle, and a point")
    inside = lines.block(c, 2, "a place in a triangle") if complicated else None
    angles = lines.block(ANGLES, 1, "an angle")[:, 0]
    lines.end()
    which, there = rows[:, 0].astype(int), len(hand.triangles if complicated else hand.vertices)
    if not 0 <= which.min() <= which.max() < there:
        what = "triangles" if complicated else "vertices"
        raise InvalidWorkloadError(f"{path}: expected numbers of the {there} {what} of its model, got {which.max()}")
    return Seen(angles, np.ascontiguousarray(rows[:, 1:]), which, inside)


def drawn(hand: Hand, c: int, complicated: bool) -> Seen:
    """Points near the vertices of a hand at rest, and the angles of the published instances."""
    import numpy as np

    draw = np.random.RandomState(SEED)
    known = parsed(
        files.OWN / "hand" / "simple_small" / "hand1_t26_c100.txt", drawn_model(VERTICES["small"]), 100, False
    )
    which = draw.randint(len(hand.triangles if complicated else hand.vertices), size=c)
    corners = hand.triangles[which][:, 0] if complicated else which
    points = hand.vertices[corners] + 0.1 * draw.standard_normal((c, 3))
    return Seen(known.angles, points, which, draw.random_sample((c, 2)) / 2.0 if complicated else None)
