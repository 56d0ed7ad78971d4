"""Files for other tools: CSV, JSON, markdown, Go's benchmark format, JUnit, Bencher."""
