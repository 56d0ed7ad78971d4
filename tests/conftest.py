"""The same random cases on every run: a failure on one machine is a failure on all."""

from hypothesis import settings

settings.register_profile("deterministic", derandomize=True, database=None)
settings.load_profile("deterministic")
