"""Stage 3: how it is measured. The orchestrator plans and keeps; a worker process measures one cell."""
