"""`import_file`: pick the reader by format, then interpret every table it finds."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from benchmark.errors import DataError, UsageError
from leaderboard.claims.formats import FORMATS, SUFFIXES, is_tidy
from leaderboard.claims.importers import captions
from leaderboard.claims.importers.bounds import MAX_TABLES, Budget, read_text
from leaderboard.claims.importers.claimsfile import read_claims
from leaderboard.claims.importers.delimited import read_delimited
from leaderboard.claims.importers.grid import SourceTable, expand
from leaderboard.claims.importers.html import read_html
from leaderboard.claims.importers.interpret import read_table
from leaderboard.claims.importers.latex import read_latex
from leaderboard.claims.importers.mapping import Mapping, load_mapping
from leaderboard.claims.importers.markdown import read_markdown
from leaderboard.claims.importers.result import ImportResult, Place, TableSummary, Unread
from leaderboard.claims.importers.sentences import comparing_sentences
from leaderboard.claims.model import Claim

Tables = tuple[list[SourceTable], list[str]]
_READERS: dict[str, Callable[[str, str, Mapping], Tables]] = {
    "latex": read_latex,
    "markdown": read_markdown,
    "html": read_html,
    "csv": read_delimited,
}


def import_file(
    path: str | Path, format: str | None = None, mapping: str | Path | Mapping | None = None
) -> ImportResult:
    """Claims of every table in a file; what cannot be read is in `unread` with its place and the reason.

    `format` is one of `FORMATS`, or None to go by the suffix. `mapping` says what headers mean where they cannot.

    Raises:
        DataError: the file is absent, too large, not text, or beyond the bounds on tables, cells and macros.
        SpecError: the mapping file has problems, or a YAML claims file has.
        UsageError: the format is unknown.
    """
    path = Path(path)
    chosen = format_of(path, format)
    rules = (
        mapping if isinstance(mapping, Mapping) else load_mapping(Path(mapping)) if mapping is not None else Mapping()
    )
    if chosen in ("yaml", "parquet"):
        return _claims_layout(path, chosen)
    text = read_text(path)
    if chosen == "csv" and is_tidy(text[:4000].partition("\n")[0]):
        return _claims_layout(path, chosen)
    return import_text(text, chosen, str(path), rules)


def import_text(text: str, format: str, source: str = "<text>", mapping: Mapping | None = None) -> ImportResult:
    """The same for text already in memory; `format` is latex, markdown, html or csv."""
    rules = mapping or Mapping()
    sources, notes = _READERS[format](text, source, rules)
    if len(sources) > MAX_TABLES:
        raise DataError(f"{source}: expected at most {MAX_TABLES} tables in one file, found {len(sources)}; split it")
    budget = Budget(source)
    claims: list[Claim] = []
    places: list[Place] = []
    unread: list[Unread] = []
    tables: list[TableSummary] = []
    for number, table in enumerate(sources, start=1):
        grid = expand(table, budget)
        reading = read_table(grid, rules.entry(grid, number))
        claims += reading.claims
        places += reading.places
        unread += reading.unread
        tables.append(reading.summary)
    if captions.bolds_the_own(text):
        claims = [claim.model_copy(update={"bold": None}) for claim in claims]
    said = tuple(comparing_sentences(text)) if claims and format != "csv" else ()
    return ImportResult(source, format, tuple(claims), tuple(places), tuple(unread), tuple(tables), tuple(notes), said)


def format_of(path: Path, format: str | None = None) -> str:
    """The format asked for, or the one that the suffix says; raises UsageError when neither is known."""
    if format is not None:
        if format in FORMATS:
            return format
        near = difflib.get_close_matches(format, FORMATS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"expected a format out of {', '.join(FORMATS)}, found {format!r}{hint}")
    known = SUFFIXES.get(path.suffix.lower())
    if known is None:
        raise UsageError(
            f"{path}: the suffix {path.suffix!r} says no format; give --format, one of {', '.join(FORMATS)}"
        )
    return known


def _claims_layout(path: Path, format: str) -> ImportResult:
    return read_claims(path, format)
