"""Files that already hold claims (YAML, Parquet, tidy CSV): read by the claims loader, within the importers' bounds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from benchmark.errors import BenchError, DataError
from leaderboard.claims.importers.bounds import MAX_CELLS, read_bytes
from leaderboard.claims.importers.result import ImportResult, Place, TableSummary
from leaderboard.claims.loader import claims_from_rows, load_yaml, read_csv, read_rows
from leaderboard.claims.model import Claim


def read_claims(path: Path, format: str) -> ImportResult:
    """Claims of a claims file; raises DataError or SpecError."""
    read_bytes(path)
    claims = _load(path, format)
    if len(claims) > MAX_CELLS:
        raise DataError(f"{path}: expected at most {MAX_CELLS} claims in one file, found {len(claims)}; split the file")
    printed = Counter(claim.where.table for claim in claims if claim.printed)
    missing = Counter(claim.where.table for claim in claims if not claim.printed)
    tables = [
        TableSummary(name, 0, "", "", 0, 0, printed[name], missing[name], "stated by the file", False)
        for name in dict.fromkeys(claim.where.table for claim in claims)
    ]
    return ImportResult(str(path), format, claims, tuple(Place(0, 0) for _ in claims), (), tuple(tables))


def _load(path: Path, format: str) -> tuple[Claim, ...]:
    try:
        if format == "yaml":
            return load_yaml(path).claims
        rows = read_rows(path) if format == "parquet" else list(read_csv(path))
        return tuple(claims_from_rows(rows, path))
    except BenchError:
        raise
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise DataError(f"{path}: expected a claims file: {type(error).__name__}: {str(error)[:300]}") from error
