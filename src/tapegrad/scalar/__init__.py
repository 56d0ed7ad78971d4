"""The scalar engine: tape, variables, frozen programs."""
