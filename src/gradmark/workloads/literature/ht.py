"""ht: hand tracking, how far points are from the vertices of a hand whose joints are bent.

    bone b: A_b = A_parent·B_b·R_z(ζ_b)·R_x(ξ_b),  T_b = A_b·(its inverse at rest)
    vertex v: p_v = R·Σ_b w_vb·T_b·v + t,  R the rotation by |r| about r
    errors: x_i - p_v(i), or, complicated, x_i - (u₀·p + u₁·p' + (1 - u₀ - u₁)·p'') of the three corners of a triangle

Inputs are 26 numbers: r, t, and of every finger the angles ξ, ζ of one joint and ξ of two more; complicated, also the
u of every point, so its Jacobian has 26 full columns and a pair of entries beside them in each row. Source: ADBench
(section 4.3 of https://arxiv.org/abs/1807.10129, and data/hand), GradBench evals/ht.
"""

import functools
from collections.abc import Sequence
from typing import Any

from gradmark.workloads.literature import files, hand_model
from gradmark.workloads.literature.hand_model import ANGLES, BONES, FINGERS, JOINTS, Hand, Seen
from gradmark.workloads.outline import Point, Sizes
from gradmark.workloads.workload import workload

SIZES: Sizes = {"model": ["small", "big"], "c": hand_model.POINTS}
# What the bones take, whatever is seen of the hand; and a vertex, with each bone that bends, and its error.
OF_BONES, OF_VERTEX, OF_BONE, OF_ERROR, OF_PLACE = 2297, 18, 24, 3, 20


@functools.cache
def _read(model: str, c: int, complicated: bool, data: Any) -> tuple[Hand, Seen]:  # noqa: ARG001
    return hand_model.read(model, c, complicated)


def _instance(model: str, c: int, complicated: bool) -> tuple[Hand, Seen]:
    return _read(model, c, complicated, files.given())


def _bends(bone: int) -> bool:
    """Whether a bone moves against the wrist: fingers do, from their second bone on."""
    return 0 < bone < BONES - 1 and (bone - 1) % JOINTS > 0


@functools.cache
def _lists(model: str, c: int, complicated: bool, data: Any) -> tuple[list[Any], ...]:  # noqa: ARG001
    """Base and inverse transforms, of each vertex its place and its bones with weights, corners, points."""
    hand, seen = _instance(model, c, complicated)
    # bones that do not bend first: what they give is a plain number
    shares = [
        sorted([(b, w) for b, w in enumerate(row) if w], key=lambda share: _bends(share[0]))
        for row in hand.weights.tolist()
    ]
    corners = hand.triangles[seen.which] if complicated else seen.which[:, None]
    return (
        *(x.tolist() for x in (hand.base, hand.inverse, hand.vertices)),
        shares,
        corners.tolist(),
        seen.points.tolist(),
    )


# --- number by number: a transform is three rows of four; what is a plain number, and 0 or 1, is left out


def _dot(row: Sequence[Any], column: Sequence[Any]) -> Any:
    """A sum of products, without those with 0."""
    total: Any = 0.0
    for x, y in zip(row, column, strict=True):
        if (type(x) is float and x == 0.0) or (type(y) is float and y == 0.0):
            continue
        product = y if type(x) is float and x == 1.0 else x if type(y) is float and y == 1.0 else x * y
        total = product if type(total) is float and total == 0.0 else total + product
    return total


def _after(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    """The transform b, then a."""
    columns = list(zip(*b, strict=True))
    return [
        [*(_dot(row[:3], column) for column in columns[:3]), _dot([*row[:3], row[3]], [*columns[3], 1.0])] for row in a
    ]


def _bent(ops: Any, x: Any, z: Any) -> list[Any]:
    """R_z·R_x; without z, R_x."""
    cx, sx = ops.cos(x), ops.sin(x)
    if z is None:
        return [[1.0, 0.0, 0.0, 0.0], [0.0, cx, -sx, 0.0], [0.0, sx, cx, 0.0]]
    cz, sz = ops.cos(z), ops.sin(z)
    return [[cz, -(sz * cx), sz * sx, 0.0], [sz, cz * cx, -(cz * sx), 0.0], [0.0, sx, cx, 0.0]]


def _transforms(ops: Any, angles: Sequence[Any], base: Sequence[Any], inverse: Sequence[Any]) -> list[Any]:
    """From where each bone has a vertex at rest to where it takes it."""
    absolutes: list[Any] = []
    for bone, parent in enumerate(hand_model.PARENTS):
        finger, joint = divmod(bone - 1, JOINTS)
        relative = base[bone]
        if _bends(bone):
            own = angles[6 + 4 * finger : 10 + 4 * finger]
            relative = _after(relative, _bent(ops, *((own[0], own[1]) if joint == 1 else (own[joint], None))))
        absolutes.append(relative if parent < 0 else _after(absolutes[parent], relative))
    return [_after(a, b) for a, b in zip(absolutes, inverse, strict=True)]


def _rotation(ops: Any, r: Sequence[Any]) -> list[list[Any]]:
    """The rotation by |r| about r."""
    angle = ops.sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2])
    x, y, z = (number / angle for number in r)
    s, c = ops.sin(angle), ops.cos(angle)
    rest = 1.0 - c
    xy, xz, yz = x * y * rest, x * z * rest, y * z * rest
    xs, ys, zs = x * s, y * s, z * s
    return [
        [x * x + (1.0 - x * x) * c, xy - zs, xz + ys],
        [xy + zs, y * y + (1.0 - y * y) * c, yz - xs],
        [xz - ys, yz + xs, z * z + (1.0 - z * z) * c],
    ]


def _vertices(
    ops: Any, angles: Sequence[Any], base: Any, inverse: Any, places: Any, shares: Any, wanted: Sequence[int]
) -> dict[int, list[Any]]:
    """Where the wanted vertices are."""
    transforms, rotation = _transforms(ops, angles, base, inverse), _rotation(ops, angles[:3])
    moved = {}
    for vertex in dict.fromkeys(wanted):
        x, y, z = places[vertex]
        place: list[Any] = [0.0, 0.0, 0.0]
        for bone, weight in shares[vertex]:
            rows = transforms[bone]
            place = [p + (a * x + b * y + c * z + d) * weight for p, (a, b, c, d) in zip(place, rows, strict=True)]
        moved[vertex] = [
            a * place[0] + b * place[1] + c * place[2] + shift
            for (a, b, c), shift in zip(rotation, angles[3:6], strict=True)
        ]
    return moved


def _count(model: str, c: int, complicated: bool) -> int:
    *_, shares, corners, _ = _lists(model, c, complicated, files.given())
    wanted = dict.fromkeys(corner for row in corners for corner in row)
    of_bones = OF_BONE * sum(_bends(bone) for vertex in wanted for bone, _ in shares[vertex])
    return OF_BONES + OF_VERTEX * len(wanted) + of_bones + (OF_PLACE if complicated else OF_ERROR) * c


@workload(
    suite="literature",
    stresses="a dense Jacobian of 26 columns, of products of small matrices number by number",
    sizes=SIZES,
    quick=[{"model": "small", "c": 20}],
    inputs=lambda draw, model, c: _instance(model, c, False)[1].angles.tolist(),  # noqa: ARG005
    operations=lambda model, c: _count(model, c, False),
    result="array",
    derivatives=["jacobian"],
)
def ht(ops: Any, *angles: Any, model: str, c: int) -> Any:
    """Hand tracking, number by number."""
    base, inverse, places, shares, corners, points = _lists(model, c, False, files.given())
    moved = _vertices(ops, angles, base, inverse, places, shares, [row[0] for row in corners])
    return [
        x - p
        for (vertex,), point in zip(corners, points, strict=True)
        for x, p in zip(point, moved[vertex], strict=True)
    ]


@workload(
    suite="literature",
    stresses="a sparse Jacobian with 26 full columns, number by number",
    sizes=SIZES,
    quick=[{"model": "small", "c": 20}],
    inputs=lambda draw, model, c: _complicated(model, c),  # noqa: ARG005
    operations=lambda model, c: _count(model, c, True),
    result="array",
    derivatives=["jvp", "sparse-jacobian"],
)
def ht_complicated(ops: Any, *numbers: Any, model: str, c: int) -> Any:
    """Hand tracking with points inside triangles, number by number."""
    base, inverse, places, shares, corners, points = _lists(model, c, True, files.given())
    wanted = [corner for row in corners for corner in row]
    moved = _vertices(ops, numbers[:ANGLES], base, inverse, places, shares, wanted)
    errors = []
    for k, (row, point) in enumerate(zip(corners, points, strict=True)):
        u, v = numbers[ANGLES + 2 * k], numbers[ANGLES + 2 * k + 1]
        rest = 1.0 - u - v
        one, other, third = (moved[corner] for corner in row)
        errors += [x - (u * a + v * b + rest * d) for x, a, b, d in zip(point, one, other, third, strict=True)]
    return errors


def _complicated(model: str, c: int) -> list[float]:
    seen = _instance(model, c, True)[1]
    return [*seen.angles.tolist(), *seen.inside.ravel().tolist()]


# --- with arrays: all bones of a finger's joint at once, and one product for all vertices


def angle_places() -> list[Any]:
    """Where the angles ξ and ζ of each bone stand among the inputs and a zero behind them."""
    import numpy as np

    x, z = np.full(BONES, ANGLES), np.full(BONES, ANGLES)
    for finger in range(FINGERS):
        first = 1 + JOINTS * finger
        x[first + 1 : first + 4] = 6 + 4 * finger + np.array([0, 2, 3])
        z[first + 1] = 7 + 4 * finger
    return [x, z]


def _arrays(model: str, c: int, complicated: bool) -> list[Any]:
    hand, seen = _instance(model, c, complicated)
    corners = hand.triangles[seen.which].T.copy() if complicated else seen.which
    inputs = [*angle_places(), hand.base, hand.inverse, hand.vertices, hand.weights, corners, seen.points, seen.angles]
    return [*inputs, seen.inside] if complicated else inputs


def _moved(ops: Any, of_x: Any, of_z: Any, base: Any, inverse: Any, vertices: Any, weights: Any, angles: Any) -> Any:
    """Where all vertices are."""
    every = ops.concatenate([angles, 0.0 * angles[:1]])
    x, z = every[of_x], every[of_z]
    cx, sx, cz, sz = ops.cos(x), ops.sin(x), ops.cos(z), ops.sin(z)
    entries = [cz, -(sz * cx), sz * sx, sz, cz * cx, -(cz * sx), 0.0 * cx, sx, cx]
    turned = base[:, :, :3] @ ops.reshape(ops.stack(entries, axis=1), (BONES, 3, 3))
    shifted = base[:, :, 3:]
    shape = (FINGERS, JOINTS, 3)
    turned_fingers = ops.reshape(turned[1 : BONES - 1], (*shape, 3))
    shifted_fingers = ops.reshape(shifted[1 : BONES - 1], (*shape, 1))
    turn, shift = turned[0], shifted[0]
    turns, shifts = [], []
    for joint in range(JOINTS):
        turn, shift = turn @ turned_fingers[:, joint], turn @ shifted_fingers[:, joint] + shift
        turns.append(turn)
        shifts.append(shift)
    turn = ops.concatenate(
        [turned[:1], ops.reshape(ops.stack(turns, axis=1), (-1, 3, 3)), turned[:1] @ turned[BONES - 1 :]]
    )
    shift = ops.concatenate(
        [
            shifted[:1],
            ops.reshape(ops.stack(shifts, axis=1), (-1, 3, 1)),
            turned[:1] @ shifted[BONES - 1 :] + shifted[:1],
        ]
    )
    turn, shift = turn @ inverse[:, :, :3], turn @ inverse[:, :, 3:] + shift
    transforms = ops.reshape(ops.concatenate([turn, shift], axis=2), (BONES, 12))
    blended = ops.reshape(weights @ transforms, (-1, 3, 4))
    places = ops.sum(blended[:, :, :3] * ops.expand_dims(vertices, 1), axis=2) + blended[:, :, 3]
    rows = _rotation(ops, [angles[k] for k in range(3)])
    rotation = ops.reshape(ops.stack([entry for row in zip(*rows, strict=True) for entry in row]), (3, 3))
    return places @ rotation + angles[3:6]


FIXED = ["base", "inverse", "vertices", "weights", "points"]
QUICK_ARRAYS: list[Point] = [{"model": "small", "c": 100}]


@workload(
    suite="literature",
    stresses="a dense Jacobian of 26 columns, of products of small matrices and one large one",
    sizes=SIZES,
    quick=QUICK_ARRAYS,
    arrays=lambda draw, model, c: _arrays(model, c, False),  # noqa: ARG005
    dtypes=("float64",),
    fixed=FIXED,
    operations=lambda: 105,
    result="array",
    derivatives=["jacobian"],
)
def ht_array(
    ops: Any, of_x: Any, of_z: Any, base: Any, inverse: Any, vertices: Any, weights: Any, which: Any, points: Any,
    angles: Any, **_sizes: Any,
) -> Any:  # fmt: skip
    """Hand tracking, with arrays."""
    moved = _moved(ops, of_x, of_z, base, inverse, vertices, weights, angles)
    return ops.reshape(points - moved[which], (-1,))


@workload(
    suite="literature",
    stresses="tangents and cotangents through products of small matrices and one large one",
    sizes=SIZES,
    quick=QUICK_ARRAYS,
    arrays=lambda draw, model, c: _arrays(model, c, True),  # noqa: ARG005
    dtypes=("float64",),
    fixed=FIXED,
    operations=lambda: 118,
    result="array",
    derivatives=["jvp", "vjp"],
)
def ht_complicated_array(
    ops: Any, of_x: Any, of_z: Any, base: Any, inverse: Any, vertices: Any, weights: Any, corners: Any, points: Any,
    angles: Any, inside: Any, **_sizes: Any,
) -> Any:  # fmt: skip
    """Hand tracking with points inside triangles, with arrays. A compressed Jacobian is 28 of its jvps."""
    moved = _moved(ops, of_x, of_z, base, inverse, vertices, weights, angles)
    u, v = inside[:, :1], inside[:, 1:]
    places = u * moved[corners[0]] + v * moved[corners[1]] + (1.0 - u - v) * moved[corners[2]]
    return ops.reshape(points - places, (-1,))
