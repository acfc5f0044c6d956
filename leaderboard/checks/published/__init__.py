"""Checks of published numbers; each module is found by the catalogue."""
