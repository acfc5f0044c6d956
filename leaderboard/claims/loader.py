"""Claims files: YAML laid out as the tables look, or one claim per row in CSV and Parquet."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from benchmark.errors import DataError
from benchmark.spec.marks import InvalidSpecError, Mark, Problem
from benchmark.spec.source import Composer, Node, Scalar, load_source, syntax_problem
from leaderboard.claims.layout import Table, expand, scope_fields
from leaderboard.claims.model import Acknowledgement, Aliases, Claim, ClaimSet, Record, Settings, TextClaim

BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class PlacedAcknowledgement(Acknowledgement):
    """An acknowledgement that says which cell it belongs to; without a table it concerns the whole source."""

    table: str | None = None
    row: str = ""
    column: str = ""


class Expectation(Record):
    """What a check is known to say of these numbers; keeps a file of known cases honest."""

    check: str
    verdict: str
    """PASS, PASS_IF_ROUNDING, FAIL or NOT_TESTABLE."""
    severity: str | None = None
    """Worst severity among its findings; None: not looked at."""
    explanation: str | None = None
    """Words of an explanation that must fit."""
    says: str | None = None
    """Words of the message or the arithmetic."""
    count: int | None = None
    """Findings, summed-up ones counted in full."""


class ClaimsFile(Record):
    """A claims file in YAML."""

    id: str
    title: str = ""
    source: str = ""
    shared: Mapping[str, Any] = {}
    """Settings of every claim in the file."""
    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()
    """Numbers that stand in no table."""
    text_claims: tuple[TextClaim, ...] = ()
    settings: tuple[Settings, ...] = ()
    aliases: Aliases = Aliases()
    ack: tuple[PlacedAcknowledgement, ...] = Field(default=())
    expect: tuple[Expectation, ...] = ()
    """Known verdicts, for files of test cases."""
    notes: str = ""


def at_line(claim: Claim, line: int) -> Claim:
    """The claim with its line in the file; 0 is no line."""
    return claim.model_copy(update={"where": claim.where.model_copy(update={"line": line or None})})


class TextComposer(Composer):
    """Keeps every scalar as it is written, so that `85.90` stays `85.90` without quotes."""

    def scalar(self, event: Any) -> Scalar:
        if event.style is None and event.value in {"", "~", "null"}:
            return None
        return str(event.value)

    def key(self, event: Any, depth: int) -> str:
        value = self.node(event, depth + 1).value
        if not isinstance(value, str):
            self.note(event, "expected text as key")
        return str(getattr(event, "value", ""))


def load_yaml(path: Path) -> ClaimSet:
    """A claims file in YAML."""
    root = compose(path)
    file = read_claims_file(root)
    claims = [_with_shared(claim, file.shared) for claim in file.claims]
    for position, table in enumerate(file.tables):
        try:
            records = read_csv(path.parent / table.csv) if table.csv else []
            merged = table.model_copy(update={"shared": _layered(file.shared, table.shared)})
            for claim in expand(merged, records):
                line = 0 if table.csv else place(root, ("tables", position, "cells", claim.where.row)).line
                claims.append(at_line(claim, line))
        except ValueError as error:
            raise InvalidSpecError([Problem(place(root, ("tables", position)), str(error))]) from None
    return ClaimSet(
        id=file.id,
        path=str(path),
        title=file.title,
        source=file.source,
        claims=_acknowledged(claims, file.ack, root),
        text_claims=file.text_claims,
        settings=file.settings,
        aliases=file.aliases,
        ack=tuple(entry for entry in file.ack if entry.table is None),
    )


def read_claims_file(root: Node) -> ClaimsFile:
    """The file's own layout, tables not yet expanded.

    Raises:
        SpecError: keys or values that do not belong, each at its place.
    """
    try:
        return ClaimsFile.model_validate(root.plain())
    except ValidationError as error:
        raise InvalidSpecError(_problem(root, entry) for entry in error.errors()) from None


def refuse_binary(path: Path) -> None:
    """Say that a file is no text, instead of showing its bytes.

    Raises:
        DataError: it begins with control characters that no text holds.
    """
    with path.open("rb") as stream:
        found = BINARY.search(stream.read(4096))
    if found is not None:
        byte = f"0x{found.group()[0]:02x} at offset {found.start()}"
        raise DataError(f"{path}: expected YAML text, found binary data (byte {byte})")


def compose(path: Path) -> Node:
    """The tree of a claims file, all scalars as text."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError

    refuse_binary(path)
    source = load_source(path)
    composer = TextComposer(source, YAML(typ="safe", pure=True).parse(source.text))
    try:
        root = composer.document()
    except MarkedYAMLError as error:
        raise InvalidSpecError([*composer.problems, syntax_problem(source, error)]) from None
    if composer.problems:
        raise InvalidSpecError(composer.problems)
    return root


def place(root: Node, loc: Sequence[str | int]) -> Mark:
    """Where the value at a pydantic location is written; the nearest enclosing value when it is absent."""
    node = root
    for part in loc:
        inner = below(node, part)
        if inner is None:
            break
        node = inner
    return node.mark


def below(node: Node, part: str | int) -> Node | None:
    """The value under a key or at a position."""
    if isinstance(part, str):
        return node.child(part)
    elements = node.value if isinstance(node.value, list) else []
    return elements[part] if part < len(elements) else None


def _problem(root: Node, entry: Any) -> Problem:
    """A pydantic error at its place in the file."""
    loc = entry["loc"]
    name = ".".join(str(part) for part in loc)
    message = "unknown key" if entry["type"] == "extra_forbidden" else entry["msg"].removeprefix("Value error, ")
    return Problem(place(root, loc), f"{name}: {message}" if name else message)


def _layered(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    scope = {**below.get("scope", {}), **above.get("scope", {})}
    return {**below, **above, "scope": scope}


def _with_shared(claim: Claim, shared: Mapping[str, Any]) -> Claim:
    """A claim of its own, with the file's settings under it."""
    stated = claim.model_dump(exclude_unset=True)
    return Claim.model_validate(_layered(shared, stated))


def _acknowledged(claims: Sequence[Claim], entries: Sequence[PlacedAcknowledgement], root: Node) -> tuple[Claim, ...]:
    """The claims with the acknowledgements that name their cell."""
    result = list(claims)
    for position, entry in enumerate(entries):
        if entry.table is None:
            continue
        cell = (entry.table, entry.row, entry.column)
        found = [i for i, c in enumerate(result) if (c.where.table, c.where.row, c.where.column) == cell]
        if not found:
            known = sorted({str(claim.where) for claim in result if claim.where.table == entry.table})[:6]
            hint = f"; cells there: {' | '.join(known)} ..." if known else ""
            message = f"no cell {', '.join(part for part in cell if part)}{hint}"
            raise InvalidSpecError([Problem(place(root, ("ack", position)), message)])
        kept = Acknowledgement(check=entry.check, reason=entry.reason, printed=entry.printed)
        for i in found:
            result[i] = result[i].model_copy(update={"ack": (*result[i].ack, kept)})
    return tuple(result)


def read_csv(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file in UTF-8.

    Raises:
        ValueError: the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path.name} cannot be read: {error}") from None


def load_claims(path: Path, format: str) -> ClaimSet | None:
    """The claims of a file in the claims layout, or with one claim per row; None for a file of tables."""
    if format == "yaml":
        return load_yaml(path)
    if format != "parquet" and not (format == "csv" and _is_tidy(path)):
        return None
    claims = tuple(claims_from_rows(read_rows(path, format), path))
    return ClaimSet(id=path.stem, path=str(path), source=path.name, claims=claims)


def _is_tidy(path: Path) -> bool:
    """Whether a CSV file holds one claim per row, with a column `printed`, by its first line."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
        return "printed" in [name.strip().strip('"').lower() for name in stream.readline(4000).split(",")]


def read_rows(path: Path, format: str) -> list[dict[str, Any]]:
    """Rows of a tidy CSV or Parquet file of claims."""
    try:
        if format == "csv":
            return list(read_csv(path))
        import pyarrow.parquet

        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
    except (ValueError, OSError) as error:
        raise DataError(f"{path}: {error}") from None
    return rows


TIDY = {
    **{name: ("scope", name) for name in scope_fields()},
    **{name: ("where", name) for name in ("table", "row", "column", "line")},
    "spread": ("spread", "printed"),
    "spread_kind": ("spread", "kind"),
    "ddof": ("spread", "ddof"),
    "delta": ("delta", "printed"),
    "delta_baseline": ("delta", "baseline"),
    "delta_task": ("delta", "task"),
    "delta_to": ("delta", "to"),
    "delta_relative": ("delta", "relative"),
    "delta_inferred": ("delta", "inferred"),
}
"""Column of a tidy file → field of a nested part of a claim; every other column is a field of the claim."""


def claims_from_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> Iterator[Claim]:
    """One claim per row; empty cells are absent fields.

    Raises:
        DataError: naming the row, when it is no claim.
    """
    for number, row in enumerate(rows, start=1):
        fields: dict[str, Any] = {"where": {"table": path.stem, "row": str(number)}}
        for name, value in row.items():
            if value is None or value == "":
                continue
            part, field = TIDY.get(name, (None, name))
            if part is None:
                fields[field] = _unflattened(field, value)
            else:
                fields.setdefault(part, {})[field] = value
        try:
            yield Claim.model_validate(fields)
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(part) for part in first["loc"])
            raise DataError(f"{path}: row {number}: {name}: {first['msg']}") from None


def _unflattened(field: str, value: Any) -> Any:
    """A list as a flat file holds it: single runs between blanks, further differences as JSON."""
    if field == "values":
        return tuple(str(value).split())
    if field == "deltas":
        try:
            return json.loads(str(value))
        except ValueError:
            return value
    return value
