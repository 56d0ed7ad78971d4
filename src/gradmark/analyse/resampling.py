"""Resampling: what tests that draw at random have in common, so that the same file gives the same answer again."""

# A run file must give the same p-value on every reading.
SEED = 0
# SciPy's default for permutation tests: a p-value of 0.05 then rests on 500 draws.
RESAMPLES = 9999
