"""The suffixes of files that hold claims or tables, and the format that each says."""

from __future__ import annotations

from typing import Literal, get_args

Format = Literal["latex", "markdown", "html", "csv", "yaml", "parquet"]
FORMATS: tuple[str, ...] = get_args(Format)
SUFFIXES = {
    ".tex": "latex", ".ltx": "latex", ".latex": "latex", ".md": "markdown", ".markdown": "markdown", ".mdx": "markdown",
    ".html": "html", ".htm": "html", ".xhtml": "html", ".csv": "csv", ".tsv": "csv", ".tab": "csv",
    ".yaml": "yaml", ".yml": "yaml", ".parquet": "parquet",
}  # fmt: skip


def is_tidy(head: str) -> bool:
    """Whether a CSV file holds one claim per row, with a column `printed`, by its first line."""
    return "printed" in [name.strip().strip('"').lower() for name in head.lstrip("\ufeff").split(",")]
