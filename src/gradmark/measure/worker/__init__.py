"""All that runs beside an engine: one process, one engine, one cell."""
