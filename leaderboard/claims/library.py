"""The claims shipped with the package, found by name."""

from __future__ import annotations

import difflib
from pathlib import Path

from benchmark.errors import UsageError
from leaderboard.claims.loader import load_file
from leaderboard.claims.model import ClaimSet

FOLDER = Path(__file__).parent
SUFFIXES = frozenset({".yaml", ".yml", ".csv", ".parquet", ".tex", ".md", ".markdown", ".html", ".htm"})


def names() -> tuple[str, ...]:
    """Ids of the shipped claims, sorted."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))


def load(id_or_path: str | Path, mapping: Path | None = None) -> ClaimSet:
    """Shipped claims by id, or claims from a file; `mapping` says what the headers of its tables mean.

    Raises:
        UsageError: neither a shipped id nor a file.
        DataError, SpecError: the file cannot be read as claims.
    """
    text = str(id_or_path)
    if text in names():
        return load_file(FOLDER / f"{text}.yaml")
    path = Path(text)
    if path.suffix.lower() in SUFFIXES or path.exists():
        return load_file(path, mapping)
    near = difflib.get_close_matches(text, names(), n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"shipped: {', '.join(names()) or 'none'}"
    raise UsageError(f"no claims called '{text}': expected a shipped id or a file; {hint}")
