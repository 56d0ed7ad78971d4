"""Stage 1: what is differentiated."""
