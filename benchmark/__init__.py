"""InitBench: the engine that turns specs into cells, cells into stored numbers."""

__version__ = "0.1.0"
