"""The oracles: what an engine's derivatives are checked against."""
