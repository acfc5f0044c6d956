"""The claims shipped with the package, found by name."""

from __future__ import annotations

import difflib
from pathlib import Path

from benchmark.errors import DataError, UsageError
from leaderboard.claims.formats import SUFFIXES
from leaderboard.claims.loader import at_line, load_claims
from leaderboard.claims.model import ClaimSet

FOLDER = Path(__file__).parent


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


def load_file(path: Path, mapping: Path | None = None) -> ClaimSet:
    """The claims in a file; the suffix says how it is written. A mapping file is for tables of text and wide CSV.

    Raises:
        DataError: no such file, an unknown suffix, or numbers that cannot be read.
        SpecError: a YAML file with problems, each with its line and column.
    """
    if path.is_dir():
        raise DataError(f"{path}: expected a claims file, found a folder; name a file in it")
    if not path.is_file():
        raise DataError(f"{path}: no such claims file")
    format = SUFFIXES.get(path.suffix.lower())
    if format is None:
        raise DataError(f"{path}: expected {', '.join(sorted(SUFFIXES))}; found '{path.suffix.lower()}'")
    return load_claims(path, format) or _imported(path, mapping)


def _imported(path: Path, mapping: Path | None) -> ClaimSet:
    """Claims read from LaTeX, Markdown, HTML or a wide CSV: the mapping's word, else the importers' own guesses."""
    from leaderboard.claims.importers import import_file

    result = import_file(path, mapping=mapping)
    lines = [place.line for place in result.places] or [0] * len(result.claims)
    claims = [at_line(claim, line) for claim, line in zip(result.claims, lines, strict=True)]
    notes = (*result.notes, *(f"{table.name}: {note}" for table in result.tables for note in table.notes))
    if count := len(result.unread_sentences):
        compare = "sentence that compares results was" if count == 1 else "sentences that compare results were"
        notes = (*notes, f"{count} {compare} not read")
    return ClaimSet(
        id=path.name,
        path=str(path),
        source=path.name,
        claims=tuple(claims),
        unread=tuple(str(item) for item in result.unread),
        notes=notes,
        captions={table.name: table.caption for table in result.tables if table.caption},
    )
