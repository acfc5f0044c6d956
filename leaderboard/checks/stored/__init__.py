"""Checks of a result store; each module is found by the catalogue."""
