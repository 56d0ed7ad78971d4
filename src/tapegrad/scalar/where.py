# cython: binding=False, embedsignature=True, embedsignature.format=clinic
"""`where` as a function of the module: the choice that a frozen program makes anew at each point."""

from cython.cimports.tapegrad.scalar.variables import choose


def where(condition, x, y, /):
    """x where the condition holds, else y; both must be given.

    The condition may be a comparison of `Var`s, a `Var` (true where it is not zero) or a bool. A comparison is
    recorded, so that a frozen program chooses anew at each point, without a guard.

    >>> import tapegrad
    >>> tape = tapegrad.Tape()
    >>> x = tape.var(-2.0)
    >>> tapegrad.where(x > 0, x, 0.1 * x)
    Var(-0.2)
    """
    return choose(condition, x, y)
