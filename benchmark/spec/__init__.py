"""Spec files: YAML with positions, their models, their problems, and where they are found."""
