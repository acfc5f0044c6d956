"""The shipped probes: measurements of a prior through training."""
