"""Write claims to a file that the claims loader reads back to the same claims."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmark.errors import DataError, UsageError
from benchmark.spec.source import MAX_BYTES, MAX_NODES
from leaderboard.claims.loader import TIDY
from leaderboard.claims.model import Claim

SUFFIXES = (".yaml", ".yml", ".csv", ".parquet")


def write_claims(
    claims: Sequence[Claim],
    path: Path,
    source: str,
    notes: Iterable[str] = (),
) -> None:
    """Write YAML, tidy CSV or Parquet, by the suffix. `notes` become comments of the YAML.

    The file is complete or untouched: it is written beside its place and moved there.

    Raises:
        UsageError: another suffix.
        DataError: the place cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise UsageError(f"{path}: expected one of {', '.join(SUFFIXES)} to write claims to, found {suffix!r}")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if suffix == ".parquet":
            _write_parquet(claims, temporary)
        else:
            text = tidy_csv(claims) if suffix == ".csv" else claims_yaml(claims, path.stem, source, notes)
            temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)


def claims_yaml(claims: Sequence[Claim], name: str, source: str, notes: Iterable[str] = ()) -> str:
    """A claims file: one claim per line, every number as text, so that `85.90` stays `85.90`."""
    lines = [f"# {' '.join(note.split())}" for note in notes]
    lines += [f"id: {json.dumps(name, ensure_ascii=False)}", f"source: {json.dumps(source, ensure_ascii=False)}"]
    lines.append("claims:" if claims else "claims: []")
    lines += [f"  - {_flow(claim.model_dump(mode='json', exclude_defaults=True))}" for claim in claims]
    text = "\n".join(lines) + "\n"
    if len(text.encode()) > MAX_BYTES or text.count(": ") + text.count("[") > MAX_NODES:
        raise UsageError(f"{len(claims)} claims are more than a YAML file may hold; write them to .csv or .parquet")
    return text


def _flow(value: Any) -> str:
    """YAML flow style: bare keys, strings quoted as in JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def tidy_rows(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """One flat row per claim; nested parts in the columns that the claims loader names, absent fields left out."""
    columns = {place: name for name, place in TIDY.items()}
    rows: list[dict[str, Any]] = []
    for claim in claims:
        row: dict[str, Any] = {}
        for field, value in claim.model_dump(mode="json", exclude_defaults=True, exclude={"ack"}).items():
            if isinstance(value, dict):
                row.update({columns[(field, key)]: item for key, item in value.items()})
            else:
                row[field] = _flat(field, value)
        rows.append(row)
    return rows


def _flat(field: str, value: Any) -> Any:
    """A list in one cell: single runs between blanks, further differences as JSON."""
    if field == "deltas":
        return json.dumps(value, ensure_ascii=False)
    return " ".join(value) if isinstance(value, list) else value


def tidy_csv(claims: Sequence[Claim]) -> str:
    """Tidy CSV with one claim per row and only the columns that some claim fills."""
    rows = tidy_rows(claims)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, _columns(rows), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _columns(rows: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(["printed", *(name for row in rows for name in row)]))


def _write_parquet(claims: Sequence[Claim], path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = tidy_rows(claims)
    data = {name: pa.array([row.get(name) for row in rows]) for name in _columns(rows)}
    pq.write_table(pa.table(data), path)
