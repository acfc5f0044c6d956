"""The digest of a table's data, the stamp that carries it in a file, and the check that both still agree."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from benchmark.errors import UsageError

if TYPE_CHECKING:
    from leaderboard.tables import Entry, Leaderboard, Table

BEGIN = "initbench table begin"
END = "initbench table end"

Key = tuple[str, str, str]
"""(task, initialiser, metric)"""


@dataclass(frozen=True)
class Number:
    """One entry as a file holds it."""

    mean: float | None
    std: float | None
    n: int
    counts: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.mean is None:
            shown = "no value"
        else:
            shown = repr(self.mean) if self.std is None else f"{self.mean!r} ± {self.std!r}"
        counts = "".join(f", {count} {status}" for status, count in sorted(self.counts.items()))
        return f"{shown} (n={self.n}{counts})"


@dataclass(frozen=True)
class Stamp:
    """What a file says about the data it was made from."""

    digest: str
    experiment: str
    profile: str
    numbers: Mapping[Key, Number]
    selection: Mapping[str, Any] | None = None
    """None where the format has no place for it (csv): then the digest is of no known selection."""
    part: Mapping[str, Any] | None = None
    """The part of the experiment the tables are of; None where it is not known."""
    body: str | None = None
    """sha256 of the text between the markers, so that an edit by hand is seen."""


def digest(experiment: str, profile: str, tables: Iterable[Table]) -> str:
    """sha256 of the canonical JSON of what the tables show: every value with its seed and cell id, and every status.

    Rounding and layout are not in it. Equal numbers of other cells have another digest.
    """
    shown = sorted(
        [*key, sorted((str(seed), entry.cells.get(seed, ""), value) for seed, value in entry.values.items()),
         dict(entry.counts), entry.skipped]
        for key, entry in measured(tables)
    )  # fmt: skip
    document = {"experiment": experiment, "profile": profile, "entries": shown}
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def measured(tables: Iterable[Table]) -> Iterator[tuple[Key, Entry]]:
    """Every measured entry with its key."""
    for table in tables:
        for row in table.rows:
            for column, entry in zip(table.columns, row.entries, strict=True):
                if row.kind == "measured" and entry is not None:
                    yield (column.task, row.name, column.metric.name), entry


def numbers(tables: Iterable[Table]) -> dict[Key, Number]:
    """Mean, std, n and troubles of every measured entry."""
    return {key: Number(e.mean, e.std, e.n, dict(e.counts)) for key, e in measured(tables)}


# --- writing ---------------------------------------------------------------------------------------------------


def stamped(body: str, leaderboard: Leaderboard, comment: tuple[str, str]) -> str:
    """`body` between two comments (opening, closing characters of the format), the second one with the stamp."""
    opening, closing = comment
    stamp = json.dumps(document(leaderboard, body), sort_keys=True, allow_nan=False).replace("--", "-\\u002d")
    return f"{opening}{BEGIN}{closing}\n{body.rstrip()}\n{opening}{END} {stamp}{closing}\n"


def document(leaderboard: Leaderboard, body: str | None = None) -> dict[str, Any]:
    """The stamp as JSON."""
    found = numbers(leaderboard.tables)
    return {
        "digest": leaderboard.digest,
        "experiment": leaderboard.experiment,
        "profile": leaderboard.profile,
        "selection": asdict(leaderboard.selection),
        "part": None if leaderboard.part is None else asdict(leaderboard.part),
        "numbers": [[*key, n.mean, n.std, n.n, n.counts] for key, n in found.items()],
        **({} if body is None else {"body": _body_hash(body)}),
    }


def _body_hash(body: str) -> str:
    return hashlib.sha256(body.strip().replace("\r\n", "\n").encode()).hexdigest()


# --- reading ---------------------------------------------------------------------------------------------------


def read_stamps(text: str) -> list[tuple[Stamp, bool]]:
    """Every stamp in a file's text, and whether the text under it is as it was written.

    Raises UsageError when there is none: the file was not written by `bench leaderboard`.
    """
    stripped = text.lstrip("\ufeff \n\r\t")
    if stripped.startswith("{"):
        return [(_from_json(stripped), True)]
    first_line = stripped.partition("\n")[0]
    if "db_digest" in first_line.split(","):
        return [(_from_csv(stripped), True)]
    return _from_blocks(text)


_BLOCK = re.compile(
    rf"{BEGIN}[^\n]*\n(?P<body>.*?)\n[^\n]*{END} (?P<stamp>\{{[^\n]*\}})[^\n]*$", re.DOTALL | re.MULTILINE
)


def _from_blocks(text: str) -> list[tuple[Stamp, bool]]:
    found = []
    for match in _BLOCK.finditer(text.replace("\r\n", "\n")):
        stamp = _parse(json.loads(match["stamp"]))
        found.append((stamp, stamp.body == _body_hash(match["body"])))
    if not found:
        raise UsageError(
            "no table of `bench leaderboard` in this file: expected the comment "
            f"'{BEGIN}' and its end, or a csv or json export"
        )
    return found


def _from_json(text: str) -> Stamp:
    try:
        return _parse(json.loads(text)["stamp"])
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise UsageError(f"not a JSON export of `bench leaderboard` (expected the key 'stamp'): {error}") from None


def _parse(document: Mapping[str, Any]) -> Stamp:
    return Stamp(
        digest=document["digest"],
        experiment=document["experiment"],
        profile=document["profile"],
        numbers={(t, i, m): Number(mean, std, n, counts) for t, i, m, mean, std, n, counts in document["numbers"]},
        selection=document["selection"],
        part=document.get("part"),
        body=document.get("body"),
    )


def _from_csv(text: str) -> Stamp:
    rows = list(csv.DictReader(io.StringIO(text)))
    try:
        measured_rows = [row for row in rows if row["kind"] == "measured"]
        if not measured_rows:
            raise UsageError("the csv has no measured row: nothing to check")
        first = measured_rows[0]
        found = {(row["task"], row["initializer"], row["metric"]): _csv_number(row) for row in measured_rows}
        return Stamp(first["db_digest"], first["experiment"], first["profile"], found)
    except KeyError as error:
        raise UsageError(f"not a csv export of `bench leaderboard`: no column {error}") from None


def _csv_number(row: Mapping[str, str]) -> Number:
    counts = dict(part.split("=") for part in row["status"].split(";") if part)
    mean, std = (float(row[name]) if row[name] else None for name in ("mean", "spread"))
    return Number(mean, std, int(row["n"]), {status: int(count) for status, count in counts.items()})


# --- comparing -------------------------------------------------------------------------------------------------


def moved(stamp: Stamp, untouched: bool, current: Leaderboard) -> list[str]:
    """One sentence for everything in which a file has parted from the store; empty when nothing has.

    `current` holds at least the entries of the stamp; it has the stamp's selection where that is known.
    """
    found = numbers(current.tables)
    problems = [] if untouched else ["the text was edited after it was written: it is not what its stamp says"]
    for key, number in stamp.numbers.items():
        name = " / ".join(key)
        if key not in found:
            problems.append(f"{name}: file {number}, store has no such entry")
        elif not _same(number, found[key]):
            problems.append(f"{name}: file {number}, store {found[key]}")
    if stamp.selection is None:
        return problems
    problems += [f"{' / '.join(key)}: not in the file, store {found[key]}" for key in found if key not in stamp.numbers]
    if not problems and stamp.digest != current.digest:
        problems.append(
            "values of single seeds changed, or they are of other cells, although no mean, deviation or count did"
        )
    return problems


def _same(a: Number, b: Number) -> bool:
    """Equal to the last bits: the order of seeds must not matter, a changed seed must."""

    def close(x: float | None, y: float | None) -> bool:
        return x == y if x is None or y is None else math.isclose(x, y, rel_tol=1e-12, abs_tol=1e-300)

    return close(a.mean, b.mean) and close(a.std, b.std) and (a.n, dict(a.counts)) == (b.n, dict(b.counts))
