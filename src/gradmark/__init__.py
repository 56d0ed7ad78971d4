"""The laboratory: measures automatic-differentiation engines through one protocol. Under construction."""
