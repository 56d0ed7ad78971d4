"""Gradmark's engines as a tool of GradBench: `python -m gradmark.gradbench`."""
