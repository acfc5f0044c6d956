"""Experiments shipped with the package (YAML)."""
