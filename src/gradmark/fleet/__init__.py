"""Fleets: the same plan on many machines, through Dask."""
