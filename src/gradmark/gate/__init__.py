"""The gate: what changed for the worse."""
