"""The suite of the literature: the functions that papers compare tools by, one file each.

A workload without a suffix is written number by number; `_array` is the same function written with arrays.
"""

from collections.abc import Mapping

# The evals of GradBench, and the workloads here that compute the same thing.
# https://github.com/gradbench/gradbench, folder `evals`, commit f26651a7.
EVALS: Mapping[str, tuple[str, ...]] = {
    "hello": ("hello",),
    "lse": ("lse", "lse_array"),
    "llsq": ("llsq", "llsq_array"),
    "ode": ("ode", "ode_array"),
    "det": ("det", "det_array"),
    "gmm": ("gmm", "gmm_array"),
    "lstm": ("lstm", "lstm_array"),
    "kmeans": ("kmeans", "kmeans_array"),
    "ba": ("ba", "ba_array"),
    "ht": ("ht", "ht_array", "ht_complicated", "ht_complicated_array"),
    "particle": ("particle",),
    "saddle": ("saddle",),
}
# ADBench's own form of its mixture of Gaussians, and problems from elsewhere.
OTHERS: tuple[str, ...] = (
    *("adbench_gmm", "adbench_gmm_array"),
    *("libor", "libor_array", "heston", "heston_array"),
    *("pinn_array", "hierarchical", "hierarchical_array"),
)
