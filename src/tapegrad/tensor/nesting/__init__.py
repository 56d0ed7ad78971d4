"""Transforms inside transforms: levels, arrays that record, and what a primitive does with them."""
