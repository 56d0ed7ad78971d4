"""ba: bundle adjustment, how far the points that cameras saw are from where they should have seen them.

A camera is a rotation r (an axis times an angle), a centre C, a focal length f, a principal point u, and two
distortions κ:

    X' = rotation by |r| about r of (X - C),  q = (X'₀, X'₁) / X'₂,  proj = f·(1 + κ₀·|q|² + κ₁·|q|⁴)·q + u
    errors: w·(proj - feature), two for each observation;  then 1 - w², one for each

Observation i is of camera i mod n and point i mod m, so each row of the Jacobian has at most 15 entries. Source:
ADBench (https://arxiv.org/abs/1807.10129, section 4.2, and data/ba), GradBench evals/ba: n cameras, m points and p
weights are all those of the file; rotation by nothing, which ADBench treats apart, does not occur.
"""

import functools
from typing import Any

from gradmark.workloads.literature import files
from gradmark.workloads.workload import workload

# Cameras and points for each number of observations: instances 1 to 20 of ADBench, of which GradBench takes 14.
INSTANCES = {
    31843: (49, 7776), 36455: (21, 11315), 182072: (161, 48126), 204472: (372, 47423), 225911: (257, 65132),
    277273: (539, 65220), 287451: (93, 61203), 383937: (88, 64298), 393775: (810, 88814), 563734: (1197, 126327),
    678718: (1723, 156502), 899155: (253, 163691), 1091386: (245, 198739), 1255268: (356, 226730),
    4052340: (1102, 780462), 4750193: (1544, 942409), 5001946: (1778, 993923), 5213733: (1936, 649673),
    9125125: (4585, 1324582), 28987644: (13682, 4456117),
}  # fmt: skip
SIZES = {"p": list(INSTANCES)[:14]}
TEST = 10  # observations of the unit test
CAMERA = 11  # numbers
# Operations of one observation: its error and the one of its weight.
OPERATIONS = 68


def counts(p: int) -> tuple[int, int]:
    """Cameras and points: those of an instance, or as many as the first one has for so many observations."""
    if p == TEST:
        return 2, 10
    return INSTANCES.get(p, (max(2, p // 650), max(2, p // 4)))


@functools.cache
def read(p: int, data: Any = None) -> list[list[float]]:  # noqa: ARG001  the key
    """The camera, the point, the weight and the feature that an instance repeats."""
    n, m = counts(p)
    known = p in INSTANCES and (files.given() is not None or p == SIZES["p"][0])
    path = files.find(f"_n{n}_m{m}_p{p}.txt") if known else None
    if p == TEST:
        path, name = files.find("test.txt", "ba"), (n, m, p)
    elif path is None:  # every instance has the numbers of the first
        path, name = files.OWN / "ba" / "ba1_n49_m7776_p31843.txt", (49, 7776, 31843)
    else:
        name = (n, m, p)
    assert path is not None
    lines = files.Lines(path)
    lines.header(**dict(zip("nmp", name, strict=True)))
    parts = [lines.take(*line) for line in ((CAMERA, "a camera"), (3, "a point"), (1, "a weight"), (2, "a feature"))]
    lines.end()
    return parts


def _numbers(p: int) -> list[float]:
    (n, m), (camera, point, weight, _) = counts(p), read(p, files.given())
    return [*camera * n, *point * m, *weight * p]


def _projected(ops: Any, camera: Any, point: Any) -> tuple[Any, Any]:
    """Where a camera sees a point. Numbers, or arrays with one for each observation."""
    r0, r1, r2, c0, c1, c2, focal, u0, u1, k0, k1 = camera
    x, y, z = point[0] - c0, point[1] - c1, point[2] - c2
    angle = ops.sqrt(r0 * r0 + r1 * r1 + r2 * r2)
    cos, sin, inverse = ops.cos(angle), ops.sin(angle), 1.0 / angle
    a, b, c = r0 * inverse, r1 * inverse, r2 * inverse
    along = (a * x + b * y + c * z) * (1.0 - cos)
    seen_x = x * cos + (b * z - c * y) * sin + a * along
    seen_y = y * cos + (c * x - a * z) * sin + b * along
    seen_z = z * cos + (a * y - b * x) * sin + c * along
    q0, q1 = seen_x / seen_z, seen_y / seen_z
    square = q0 * q0 + q1 * q1
    stretch = 1.0 + k0 * square + k1 * square * square
    return focal * (q0 * stretch) + u0, focal * (q1 * stretch) + u1


@workload(
    suite="literature",
    stresses="a large sparse Jacobian: many small blocks",
    sizes=SIZES,
    quick={"p": [50]},
    inputs=lambda draw, p: _numbers(p),  # noqa: ARG005
    operations=lambda p: OPERATIONS * p,
    result="array",
    derivatives=["jvp", "sparse-jacobian"],
)
def ba(ops: Any, *numbers: Any, p: int) -> Any:
    """Bundle adjustment, number by number: all errors of projections, then those of weights."""
    n, m = counts(p)
    feature = read(p, files.given())[3]
    start = CAMERA * n + 3 * m
    errors, of_weights = [], []
    for i in range(p):
        camera = numbers[CAMERA * (i % n) : CAMERA * (i % n + 1)]
        place = CAMERA * n + 3 * (i % m)
        weight = numbers[start + i]
        seen = _projected(ops, camera, numbers[place : place + 3])
        errors += [weight * (number - at) for number, at in zip(seen, feature, strict=True)]
        of_weights.append(1.0 - weight * weight)
    return [*errors, *of_weights]


def _arrays(p: int) -> list[Any]:
    import numpy as np

    (n, m), (camera, point, weight, feature) = counts(p), read(p, files.given())
    which = np.arange(p)
    return [
        *[which % n, which % m, np.tile(feature, (p, 1))],
        *[np.tile(camera, (n, 1)), np.tile(point, (m, 1)), np.full(p, weight[0])],
    ]


@workload(
    suite="literature",
    stresses="rows looked up by number, many operations on columns: bandwidth",
    sizes=SIZES,
    quick={"p": [1000]},
    arrays=lambda draw, p: _arrays(p),  # noqa: ARG005
    dtypes=("float64",),
    fixed=["features"],
    operations=lambda: OPERATIONS + 20,
    result="array",
    derivatives=["jvp", "vjp"],
)
def ba_array(
    ops: Any, of_camera: Any, of_point: Any, features: Any, cameras: Any, points: Any, weights: Any, **_sizes: Any
) -> Any:
    """Bundle adjustment with arrays, a number for each observation. A compressed Jacobian is 15 of its jvps."""
    camera, point = ops.transpose(cameras[of_camera]), ops.transpose(points[of_point])
    seen = _projected(ops, [camera[k] for k in range(CAMERA)], [point[k] for k in range(3)])
    errors = ops.stack([weights * (number - features[:, k]) for k, number in enumerate(seen)], axis=1)
    return ops.concatenate([ops.reshape(errors, (-1,)), 1.0 - weights * weights])
