"""Stage 7: what is shown. `view` makes plain data of a run; `terminal`, `go` and `text` only print it."""
