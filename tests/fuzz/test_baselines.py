"""Baselines, mutated: each gives a baseline that the gate can use, or one error that names the file. Never exit 1."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from fuzz import everything
from fuzz.budget import inputs
from fuzz.mutations import mutated
from gradmark.errors import StoreError
from gradmark.store import baselines, runs

RUN = runs.load(Path(__file__).parents[1] / "data" / "runs" / "format-4.jsonl")


def made() -> bytes:
    """As it is written today."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.json"
        baselines.save(baselines.baseline(RUN.measurements, RUN.environment), path)
        return path.read_bytes()


# As the first ones were, with the names that rows had then.
OLD = b"""{
 "cells": {
  "chain/f=exp/float64/cpu@tapegrad": {"metrics": {"allocations": 0, "gradient_error": 4.7e-16, "leaked_bytes": 0}},
  "poly/n=100/float64/cpu@tapegrad": {"metrics": {"allocations": 0, "peak_bytes": 20300, "tape_instructions": 200}},
  "tree/depth=2/float64/cpu@tapegrad": {"metrics": {}, "status": "crash"}
 },
 "environment": {"cpu": "AMD EPYC", "libc": "glibc 2.36", "machine": "x86_64", "python": "CPython 3.11"},
 "format_version": 1,
 "times": {"machine": "AMD EPYC, 2 cores", "total_ns": {"poly/n=100/float64/cpu@tapegrad": 4030, "x": 1.5}}
}
"""
VALID = [made(), OLD]


@pytest.mark.parametrize("data", VALID)
def test_the_valid_ones_are_valid(data, tmp_path):
    (tmp_path / "b.json").write_bytes(data)
    assert len(baselines.load(tmp_path / "b.json").cells) >= 3


@inputs(few=80, share=0.08)
@given(data=mutated(*VALID))
def test_a_baseline_is_read_or_refused(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "b.json"
    path.write_bytes(data)
    try:
        baseline = baselines.load(path)
    except StoreError as error:
        assert str(path) in str(error)
        return
    everything.gated(baseline, RUN)
    baselines.save(baseline, path)
    assert baselines.load(path) == baseline
