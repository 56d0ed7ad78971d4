"""Stage 4: what the samples say. In: measurements. Out: summaries, fits over sizes, comparisons of two arms."""
