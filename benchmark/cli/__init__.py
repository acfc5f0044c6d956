"""`bench`, the command line: one module per verb, and the only place that knows click."""

from benchmark.cli.shell import main

__all__ = ["main"]
