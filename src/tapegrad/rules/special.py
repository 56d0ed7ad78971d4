"""The special points: what comes out where a value or derivative is not finite, not defined, or a matter of choice.

A row is `arguments: value, derivatives`. test_rules.py holds tapes, programs and batches to it; the reference shows it.
"""

SPECIAL: dict[str, str] = {
    "neg": """
        0.0: -0.0, -1.0
        -0.0: 0.0, -1.0
        inf: -inf, -1.0
        -inf: inf, -1.0
        nan: nan, -1.0
    """,
    "exp": """
        0.0: 1.0, 1.0
        -0.0: 1.0, 1.0
        inf: inf, inf
        -inf: 0.0, 0.0
        nan: nan, nan
        1000.0: inf, inf
        -1000.0: 0.0, 0.0
    """,
    "expm1": """
        0.0: 0.0, 1.0
        -0.0: -0.0, 1.0
        inf: inf, inf
        -inf: -1.0, 0.0
        nan: nan, nan
    """,
    "log": """
        0.0: -inf, inf
        -0.0: -inf, -inf
        inf: inf, 0.0
        -inf: nan, 0.0
        nan: nan, nan
        -1.0: nan, -1.0
    """,
    "log1p": """
        0.0: 0.0, 1.0
        -0.0: -0.0, 1.0
        inf: inf, 0.0
        -inf: nan, 0.0
        nan: nan, nan
        -1.0: -inf, inf
        -2.0: nan, -1.0
    """,
    "sqrt": """
        0.0: 0.0, inf
        -0.0: -0.0, -inf
        inf: inf, 0.0
        -inf: nan, nan
        nan: nan, nan
        -1.0: nan, nan
    """,
    "sin": """
        0.0: 0.0, 1.0
        -0.0: -0.0, 1.0
        inf: nan, nan
        -inf: nan, nan
        nan: nan, nan
    """,
    "cos": """
        0.0: 1.0, 0.0
        -0.0: 1.0, 0.0
        inf: nan, nan
        -inf: nan, nan
        nan: nan, nan
    """,
    "tan": """
        0.0: 0.0, 1.0
        -0.0: -0.0, 1.0
        inf: nan, nan
        -inf: nan, nan
        nan: nan, nan
    """,
    "asin": """
        0.0: 0.0, 1.0
        1.0: 1.5707963267948966, inf
        -1.0: -1.5707963267948966, inf
        2.0: nan, nan
        inf: nan, nan
        nan: nan, nan
        -0.0: -0.0, 1.0
        -inf: nan, nan
    """,
    "acos": """
        0.0: 1.5707963267948966, -1.0
        1.0: 0.0, -inf
        -1.0: 3.141592653589793, -inf
        2.0: nan, nan
        inf: nan, nan
        nan: nan, nan
        -0.0: 1.5707963267948966, -1.0
        -inf: nan, nan
    """,
    "atan": """
        0.0: 0.0, 1.0
        -0.0: -0.0, 1.0
        inf: 1.5707963267948966, 0.0
        -inf: -1.5707963267948966, 0.0
        nan: nan, nan
    """,
    "sinh": """
        0.0: 0.0, 1.0
        -0.0: -0.0, 1.0
        inf: inf, inf
        -inf: -inf, inf
        nan: nan, nan
        1000.0: inf, inf
        -1000.0: -inf, inf
    """,
    "cosh": """
        0.0: 1.0, 0.0
        -0.0: 1.0, 0.0
        inf: inf, inf
        -inf: inf, -inf
        nan: nan, nan
        1000.0: inf, inf
        -1000.0: inf, -inf
    """,
    "tanh": """
        0.0: 0.0, 1.0
        -0.0: -0.0, 1.0
        inf: 1.0, 0.0
        -inf: -1.0, 0.0
        nan: nan, nan
    """,
    "sigmoid": """
        0.0: 0.5, 0.25
        -0.0: 0.5, 0.25
        inf: 1.0, 0.0
        -inf: 0.0, 0.0
        nan: nan, nan
    """,
    "softplus": """
        0.0: 0.6931471805599453, 0.5
        -0.0: 0.6931471805599453, 0.5
        inf: inf, 1.0
        -inf: 0.0, 0.0
        nan: nan, nan
    """,
    "relu": """
        0.0: 0.0, 0.0
        -0.0: 0.0, 0.0
        inf: inf, 1.0
        -inf: 0.0, 0.0
        nan: nan, nan
    """,
    "erf": """
        0.0: 0.0, 1.1283791670955126
        -0.0: -0.0, 1.1283791670955126
        inf: 1.0, 0.0
        -inf: -1.0, 0.0
        nan: nan, nan
    """,
    "abs": """
        0.0: 0.0, 0.0
        -0.0: 0.0, 0.0
        inf: inf, 1.0
        -inf: inf, -1.0
        nan: nan, nan
    """,
    "add": """
        inf, -inf: nan, 1.0, 1.0
        0.0, -0.0: 0.0, 1.0, 1.0
        nan, 1.0: nan, 1.0, 1.0
        -0.0, 0.0: 0.0, 1.0, 1.0
    """,
    "sub": """
        inf, inf: nan, 1.0, -1.0
        0.0, 0.0: 0.0, 1.0, -1.0
        -0.0, 0.0: -0.0, 1.0, -1.0
        -inf, 1.0: -inf, 1.0, -1.0
        nan, 1.0: nan, 1.0, -1.0
    """,
    "mul": """
        0.0, inf: nan, inf, 0.0
        inf, 2.0: inf, 2.0, inf
        nan, 0.0: nan, 0.0, nan
        -0.0, 2.0: -0.0, 2.0, 0.0
        -inf, 2.0: -inf, 2.0, -inf
        0.0, -inf: nan, -inf, 0.0
    """,
    "div": """
        1.0, 0.0: inf, inf, -inf
        -1.0, 0.0: -inf, inf, inf
        0.0, 0.0: nan, inf, nan
        1.0, -0.0: -inf, -inf, -inf
        inf, inf: nan, 0.0, nan
        1.0, inf: 0.0, 0.0, 0.0
        -inf, 2.0: -inf, 0.5, inf
        1.0, -inf: -0.0, 0.0, 0.0
        nan, 1.0: nan, 1.0, nan
    """,
    "pow": """
        0.0, 0.0: 1.0, 0.0, -inf
        0.0, 1.0: 0.0, 1.0, 0.0
        0.0, 2.5: 0.0, 0.0, 0.0
        0.0, 0.5: 0.0, inf, 0.0
        0.0, -1.0: inf, -inf, -inf
        -0.0, 3.0: -0.0, 0.0, 0.0
        -0.0, -3.0: -inf, -inf, inf
        -2.0, 3.0: -8.0, 12.0, nan
        -2.0, 0.5: nan, nan, nan
        2.0, 0.0: 1.0, 0.0, 0.6931471805599453
        inf, 2.0: inf, inf, inf
        inf, -2.0: 0.0, 0.0, 0.0
        inf, 0.0: 1.0, 0.0, inf
        0.0, inf: 0.0, nan, 0.0
        nan, 0.0: 1.0, 0.0, nan
        1.0, nan: 1.0, nan, 0.0
        nan, 2.0: nan, nan, nan
        1e+200, 2.5: inf, 2.4999999999999998e+300, inf
        1e-200, 2.5: 0.0, 2.5e-300, 0.0
        1.0, 5.0: 1.0, 5.0, 0.0
        0.5, inf: 0.0, nan, 0.0
        2.0, inf: inf, inf, inf
        -inf, 3.0: -inf, inf, nan
        2.0, -inf: 0.0, nan, 0.0
        0.5, -inf: inf, -inf, -inf
    """,
    "atan2": """
        0.0, 0.0: 0.0, nan, nan
        -0.0, -1.0: -3.141592653589793, -1.0, 0.0
        1.0, 0.0: 1.5707963267948966, 0.0, -1.0
        0.0, -1.0: 3.141592653589793, -1.0, 0.0
        inf, 1.0: 1.5707963267948966, 0.0, nan
        1.0, inf: 0.0, nan, 0.0
        inf, inf: 0.7853981633974483, nan, nan
        nan, 1.0: nan, nan, nan
        -inf, 1.0: -1.5707963267948966, 0.0, nan
        1.0, -inf: 3.141592653589793, nan, 0.0
    """,
    "hypot": """
        0.0, 0.0: 0.0, nan, nan
        3.0, 0.0: 3.0, 1.0, 0.0
        inf, 1.0: inf, nan, 0.0
        inf, nan: inf, nan, nan
        nan, 1.0: nan, nan, nan
        -0.0, 0.0: 0.0, nan, nan
        -inf, 1.0: inf, nan, 0.0
        -3.0, -0.0: 3.0, -1.0, 0.0
    """,
    "maximum": """
        2.0, 2.0: 2.0, 0.5, 0.5
        0.0, -0.0: -0.0, 0.5, 0.5
        nan, 1.0: nan, nan, nan
        1.0, nan: nan, nan, nan
        inf, 1.0: inf, 1.0, 0.0
        inf, inf: inf, 0.5, 0.5
        -inf, 1.0: 1.0, 0.0, 1.0
    """,
    "minimum": """
        2.0, 2.0: 2.0, 0.5, 0.5
        0.0, -0.0: -0.0, 0.5, 0.5
        nan, 1.0: nan, nan, nan
        1.0, nan: nan, nan, nan
        -inf, 1.0: -inf, 1.0, 0.0
        -inf, -inf: -inf, 0.5, 0.5
        inf, 1.0: 1.0, 0.0, 1.0
    """,
}
