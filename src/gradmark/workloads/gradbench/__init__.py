"""GradBench's evals: what our workloads are called there, and how their inputs and results are written in JSON."""
