"""The formats of files that hold claims or tables: one line each, the module of its reader and its suffixes."""

from __future__ import annotations

_FORMATS = {
    "latex": ("latex", ".tex .ltx .latex"),
    "markdown": ("markdown", ".md .markdown .mdx"),
    "html": ("html", ".html .htm .xhtml"),
    "csv": ("delimited", ".csv .tsv .tab"),
    "yaml": ("", ".yaml .yml"),
    "parquet": ("", ".parquet"),
}
FORMATS = tuple(_FORMATS)
READERS = {name: module for name, (module, _) in _FORMATS.items() if module}
"""Format of tables → module in `leaderboard.claims.importers` whose `read` reads it."""
SUFFIXES = {suffix: name for name, (_, suffixes) in _FORMATS.items() for suffix in suffixes.split()}
