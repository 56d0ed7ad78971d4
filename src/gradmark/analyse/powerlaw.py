"""The curve cost(n) = a + b·n^p, fitted by least squares on the logarithms of the costs.

In: sizes, costs, and how far each cost scatters, if that is known. Out: a, b and p, with the 95 % interval of p.
Logarithms, because costs over three decades of sizes err by a share of themselves, not by an amount.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # NumPy and SciPy are imported where they are used: the command line must start fast
    import numpy as np
    from numpy.typing import NDArray

# p is sought in [0, 16]. No workload is steeper than n^4, but visits that double with each level are: 2^n over
# n = 5 … 20 looks like p = 9, and with a bound of 4 it fitted so badly that its interval was all of [0, 4].
STEEPEST = 16.0
# Three decades of n leave p uncertain by about this much through the form of the model alone: 15 % of cost, from
# caches or from steps of growth, is 0.02 in p. An exact fit must not claim more.
MODEL_ERROR = 0.02
CONFIDENCE = 0.95
# Around the two likeliest answers. Of 60 noisy curves 2 and 3 alone missed the minimum once each, all four never.
STARTS = (0.5, 1.0, 2.0, 3.0)
# Fits that end take up to 40 evaluations. Others creep along a valley towards a = 0, which is fitted by itself.
EVALUATIONS = 100
# Relative residuals below this are rounding, so the simpler of two curves is taken.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Curve:
    """A fitted curve, and the interval of its exponent."""

    a: float
    b: float
    p: float
    low: float
    high: float


@dataclass(frozen=True)
class _Points:
    """Data as the fit sees them: x = log n less its mean, y = log(cost + offset), weight = 1 / spread."""

    x: "NDArray[np.float64]"
    y: "NDArray[np.float64]"
    weight: "NDArray[np.float64]"
    offset: float


@dataclass(frozen=True)
class _Solution:
    """A minimum: the curve in units of _Points, the sum of squares, and the Jacobian with p's column first."""

    a: float
    log_b: float
    p: float
    squares: float
    jacobian: "NDArray[np.float64]"


def fitted(sizes: Sequence[float], costs: Sequence[float], spreads: Sequence[float] | None) -> Curve:
    """The best curve with a, b ≥ 0, for at least three distinct sizes and costs that are not all zero.

    With three sizes there are as many points as parameters, and residuals say nothing. Then a is fixed, at 0 or at
    the smallest cost, whichever fits better, and the interval is that of the two parameters left, from one residual.
    """
    import numpy as np

    log_n = np.log(np.asarray(sizes, dtype=float))
    cost = np.maximum(np.asarray(costs, dtype=float), 0.0)  # net of a subtraction: below zero is none
    # A cost of zero has no logarithm. The smallest other cost, added to both sides, is the scale on which it is small.
    offset = 0.0 if cost.min() > 0 else float(cost[cost > 0].min())
    weight = np.ones_like(cost) if spreads is None else 1.0 / np.asarray(spreads, dtype=float)
    points = _Points(x=log_n - log_n.mean(), y=np.log(cost + offset), weight=weight, offset=offset)
    few = len(set(sizes)) == 3
    best = _solved(points, 0.0)
    if math.sqrt(best.squares / len(cost)) > ROUNDING:
        other = _solved(points, float(cost.min()) if few else None)
        # A constant part that explains less than a thousandth of what is left over is not worth its parameter.
        best = other if other.squares < 0.999 * best.squares else best
    # With three sizes a was not fitted but chosen, and spreads cannot vouch for that: simulated intervals from them
    # held p in 82 % of cases, those from the residuals in all.
    half = _half_width(best, points, known=spreads is not None and not few)
    low = max(best.p - half, min(_least_step(points, known=spreads is not None), best.p) - MODEL_ERROR, 0.0)
    return Curve(
        a=best.a,
        b=math.exp(best.log_b - best.p * float(log_n.mean())),
        p=best.p,
        low=low,
        high=min(best.p + half, STEEPEST),
    )


def _solved(points: _Points, fixed: float | None) -> _Solution:
    """The best of several starts, with a fixed or, where it is None, free; a and b as logarithms, so both are ≥ 0."""
    import numpy as np
    from scipy import optimize

    x, y, weight, offset = points.x, points.y, points.weight, points.offset
    log_constant = _log(offset if fixed is None else fixed + offset)

    def log_cost(theta: "NDArray[np.float64]") -> "NDArray[np.float64]":
        total: NDArray[np.float64] = np.logaddexp(log_constant, theta[1] + theta[0] * x)
        if fixed is None:
            total = np.logaddexp(theta[2], total)
        return total

    def residuals(theta: "NDArray[np.float64]") -> "NDArray[np.float64]":
        return weight * (log_cost(theta) - y)

    def jacobian(theta: "NDArray[np.float64]") -> "NDArray[np.float64]":
        # d log(a + b·n^p) is (b·n^p / cost)·(dp·log n + d log b) + (a / cost)·d log a.
        modelled = log_cost(theta)
        share = weight * np.exp(theta[1] + theta[0] * x - modelled)
        columns = [share * x, share] if fixed is not None else [share * x, share, weight * np.exp(theta[2] - modelled)]
        return np.stack(columns, axis=1)

    last = int(np.argmax(x))
    starts = [[p, y[last] - p * x[last], y.min() - math.log(2)][: 2 if fixed is not None else 3] for p in STARTS]
    tolerances = dict.fromkeys(("xtol", "ftol", "gtol"), 1e-12)
    # MINPACK's Levenberg-Marquardt knows no bounds, but is ten times as fast, and most minima lie inside them.
    with np.errstate(over="ignore"):  # of a covariance that leastsq makes and nobody asks for
        minima = [
            optimize.leastsq(residuals, start, Dfun=jacobian, full_output=True, maxfev=EVALUATIONS, **tolerances)
            for start in (starts if fixed is None or log_constant > -math.inf else starts[:1])  # a line has one minimum
        ]
    best, squares = min(((one[0], float(one[2]["fvec"] @ one[2]["fvec"])) for one in minima), key=lambda one: one[1])
    if not 0.0 <= best[0] <= STEEPEST:
        others = len(best) - 1
        bounds = ([0.0] + [-np.inf] * others, [STEEPEST] + [np.inf] * others)
        bounded = [
            optimize.least_squares(residuals, start, jacobian, bounds, max_nfev=EVALUATIONS, **tolerances)
            for start in starts
        ]
        best, squares = min(((one.x, 2.0 * float(one.cost)) for one in bounded), key=lambda one: one[1])
    p, log_b = (float(value) for value in best[:2])
    return _Solution(
        a=math.exp(best[2]) if fixed is None else fixed,
        log_b=log_b,
        p=p,
        squares=squares,
        jacobian=jacobian(best),
    )


def _log(number: float) -> float:
    return math.log(number) if number > 0 else -math.inf


def _half_width(solution: _Solution, points: _Points, known: bool) -> float:
    """Half the 95 % interval of p, from the covariance s²·(JᵀJ)⁻¹ of the linearised model.

    Without known spreads s² is that of the residuals, and Student's t has its quantile. Where spreads are known and
    the residuals agree with them (χ² test at 5 %), the spreads give s² and the normal quantile applies: with four
    sizes and three parameters t would be 12.7, for want of information that the processes have.
    """
    import numpy as np
    from scipy import special  # not stats, which is slow to import

    # The variance of p is 1 over the square of the part of its column that no other parameter can imitate.
    column, others = solution.jacobian[:, 0], solution.jacobian[:, 1:]
    own = column - others @ np.linalg.lstsq(others, column, rcond=None)[0]
    length, own_length = float(np.linalg.norm(column)), float(np.linalg.norm(own))
    if own_length <= 1e-8 * length or length == 0.0:  # half of double precision: p cannot be told from a and b
        return STEEPEST
    freedom = len(points.y) - solution.jacobian.shape[1]
    variance = solution.squares / freedom
    if known and solution.squares <= special.chdtri(freedom, 1 - CONFIDENCE):
        quantile, variance = special.ndtri((1 + CONFIDENCE) / 2), max(variance, 1.0)
    else:
        quantile = special.stdtrit(freedom, (1 + CONFIDENCE) / 2)
    return max(float(quantile) * math.sqrt(variance) / own_length, MODEL_ERROR)


def _least_step(points: _Points, known: bool) -> float:
    """The least exponent from one size to the next, less 95 % of its error where spreads are known.

    a + b·n^p with a ≥ 0 rises by at most n^p from size to size, so p is no less than this. It speaks where the
    model fits badly and has few residuals: 2^n at four sizes, where each step is steeper than n^4, was "unclear".
    """
    import numpy as np
    from scipy import special  # not stats, which is slow to import

    order = np.argsort(points.x)
    run, rise = np.diff(points.x[order]), np.diff(points.y[order])
    if not run.all():  # a size that was measured twice: its scatter is no step
        return 0.0
    spread = 1.0 / points.weight[order] if known else np.zeros_like(points.x)
    error = special.ndtri((1 + CONFIDENCE) / 2) * np.hypot(spread[1:], spread[:-1])
    return float(np.min((rise - error) / run))
