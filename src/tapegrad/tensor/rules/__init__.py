"""The rules: for each primitive how it is computed and its vjp, in terms of the array's own namespace."""
