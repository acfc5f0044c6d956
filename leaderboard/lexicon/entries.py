"""The lexicon's files: one meaning a line, with the words that stand for it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from benchmark.errors import DataError
from leaderboard.lexicon.meaning import Kind, Way

FOLDER = Path(__file__).parent
FILES = ("metrics.csv", "words.csv")
COLUMNS = ("kind", "name", "words", "better", "lower", "upper", "flags")
KINDS = frozenset(get_args(Kind)) - {"name"} | {"affix", "unit", "dataset", "method", "own", "comparison"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a file, for each of its words."""

    kind: str
    name: str
    better: Way
    lower: float | None
    upper: float | None
    flags: frozenset[str]


def spellings(text: str) -> Iterator[str]:
    """Every name that `[mean] iou | acc[uracy]` stands for: what is in brackets may be one of those, or absent."""
    for name in text.split(" | "):
        yield from _spelt(name.strip())


def _spelt(name: str) -> Iterator[str]:
    close = name.find("]")
    if close < 0:
        yield name
        return
    opening = name.rfind("[", 0, close)
    for middle in ("", *name[opening + 1 : close].split("|")):
        yield from _spelt(name[:opening] + middle + name[close + 1 :])


def lines_of(path: Path) -> Iterator[tuple[Entry, str]]:
    """The entries of a file with their words."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = ((number, row) for number, row in enumerate(csv.reader(stream), 1) if row and row[0][:1] != "#")
            head = next(rows, (1, []))[1]
            if tuple(head) != COLUMNS:
                raise DataError(f"{path}: expected the columns {','.join(COLUMNS)}, found {','.join(head)}")
            for number, row in rows:
                yield _entry(row, f"{path}:{number}"), row[2]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as a lexicon: {error}") from None


def _entry(row: list[str], place: str) -> Entry:
    if len(row) != len(COLUMNS):
        raise DataError(f"{place}: expected {len(COLUMNS)} cells ({','.join(COLUMNS)}), found {len(row)}")
    kind, name, words, better, lower, upper, flags = (cell.strip() for cell in row)
    if kind not in KINDS:
        raise DataError(f"{place}: expected a kind out of {', '.join(sorted(KINDS))}, found {kind!r}")
    if better not in ("", "max", "min"):
        raise DataError(f"{place}: expected max, min or nothing as better, found {better!r}")
    if not name or not words or words.count("[") != words.count("]"):
        raise DataError(f"{place}: expected a name and words with closed brackets, found {name!r}, {words!r}")
    try:
        bounds = [float(bound) if bound else None for bound in (lower, upper)]
    except ValueError:
        raise DataError(f"{place}: expected numbers as lower and upper, found {lower!r}, {upper!r}") from None
    return Entry(kind, name, cast("Way", better or "unknown"), bounds[0], bounds[1], frozenset(flags.split()))
