"""For every primitive a way to draw problems with it: shapes, axes, broadcasts and settings, in four libraries."""

from oracles.problems import adjoints, elementwise, neural, products, reductions, shapes, windows

# By module of rules, then by primitive.
MODULES = {
    "elementwise": elementwise.PROBLEMS,
    "reductions": reductions.PROBLEMS,
    "shapes": shapes.PROBLEMS,
    "products": products.PROBLEMS,
    "windows": windows.PROBLEMS,
    "neural": neural.PROBLEMS,
    "adjoints": adjoints.PROBLEMS,
}
PROBLEMS = {name: problem for module in MODULES.values() for name, problem in module.items()}
