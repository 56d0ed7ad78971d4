"""Stage 7: two builds measured side by side, and planted faults."""
