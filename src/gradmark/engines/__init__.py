"""Stage 2: who differentiates. One adapter per file, one protocol."""
