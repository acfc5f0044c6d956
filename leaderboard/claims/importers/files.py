"""`import_file`: pick the reader by format, then interpret every table it finds."""

from __future__ import annotations

import difflib
from collections import Counter
from importlib import import_module
from pathlib import Path

from benchmark.errors import BenchError, DataError, UsageError
from leaderboard.claims.formats import FORMATS, READERS, SUFFIXES
from leaderboard.claims.importers import captions
from leaderboard.claims.importers.bounds import MAX_CELLS, MAX_TABLES, Budget, read_bytes, read_text
from leaderboard.claims.importers.grid import expand
from leaderboard.claims.importers.interpret import read_table
from leaderboard.claims.importers.mapping import Mapping, load_mapping
from leaderboard.claims.importers.result import ImportResult, Place, TableSummary
from leaderboard.claims.importers.sentences import comparing_sentences
from leaderboard.claims.loader import load_claims


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
    read_bytes(path)
    stated = _stated(path, chosen)
    return import_text(read_text(path), chosen, str(path), rules) if stated is None else stated


def import_text(text: str, format: str, source: str = "<text>", mapping: Mapping | None = None) -> ImportResult:
    """The same for text already in memory; `format` is latex, markdown, html or csv."""
    rules = mapping or Mapping()
    reader = import_module(f"leaderboard.claims.importers.{READERS[format]}")
    sources, notes = reader.read(text, source, rules)
    if len(sources) > MAX_TABLES:
        raise DataError(f"{source}: expected at most {MAX_TABLES} tables in one file, found more; split it")
    budget = Budget(source)
    grids = [expand(table, budget) for table in sources]
    found = [read_table(grid, rules.entry(grid, number)) for number, grid in enumerate(grids, start=1)]
    claims = [claim for reading in found for claim in reading.claims]
    if captions.bolds_the_own(text):
        claims = [claim.model_copy(update={"bold": None}) for claim in claims]
    said = tuple(comparing_sentences(text)) if claims and format != "csv" else ()
    return ImportResult(
        source, format, tuple(claims), tuple(place for reading in found for place in reading.places),
        tuple(item for reading in found for item in reading.unread), tuple(reading.summary for reading in found),
        tuple(notes), said,
    )  # fmt: skip


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


def _stated(path: Path, format: str) -> ImportResult | None:
    """The claims of a file that already holds claims; None for one of tables."""
    try:
        stated = load_claims(path, format)
    except BenchError:
        raise
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise DataError(f"{path}: expected a claims file: {type(error).__name__}: {str(error)[:300]}") from error
    if stated is None:
        return None
    claims = stated.claims
    if len(claims) > MAX_CELLS:
        raise DataError(f"{path}: expected at most {MAX_CELLS} claims in one file, found {len(claims)}; split the file")
    printed = Counter((claim.where.table, bool(claim.printed)) for claim in claims)
    tables = [
        TableSummary(name, 0, "", "", 0, 0, printed[name, True], printed[name, False], "stated by the file", False)
        for name in dict.fromkeys(claim.where.table for claim in claims)
    ]
    return ImportResult(str(path), format, claims, tuple(Place(0, 0) for _ in claims), (), tuple(tables))
