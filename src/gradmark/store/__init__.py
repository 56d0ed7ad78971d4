"""Stage 5: what is kept."""
