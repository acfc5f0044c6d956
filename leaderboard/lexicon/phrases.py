"""Phrases of captions and headings, by the patterns of a data file; each is compiled when it is first asked for."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

LONGEST = 2000
"""Characters of a text that are looked at."""


@lru_cache(maxsize=1)
def _lines() -> list[tuple[str, str, str]]:
    """Kind, name and pattern of each line, with its parts put in."""
    lines: list[tuple[str, str, str]] = []
    parts: dict[str, str] = {}
    for line in Path(__file__).with_name("phrases.tsv").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            kind, name, pattern = line.split("\t")
            for part, text in parts.items():
                pattern = pattern.replace(f"<{part}>", text)
            if kind == "part":
                parts[name] = pattern
            else:
                lines.append((kind, name, pattern))
    return lines


@lru_cache(maxsize=256)
def phrases(kind: str, name: str | None = None) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Names and patterns of a kind, those of one name if it is given, in the order of the file."""
    return tuple((said, re.compile(text)) for of, said, text in _lines() if of == kind and name in (None, said))


@lru_cache(maxsize=64)
def words(name: str) -> frozenset[str]:
    """The single words of a list, lower case."""
    return frozenset(word for kind, of, text in _lines() if (kind, of) == ("words", name) for word in text.split())


def found(kind: str, text: str, name: str | None = None) -> list[tuple[str, re.Match[str]]]:
    """Every place of a plain text where a phrase of the kind stands, with its name."""
    patterns = phrases(kind, name) if text else ()
    return [(said, match) for said, pattern in patterns for match in pattern.finditer(text)]


def says(kind: str, text: str, name: str | None = None) -> bool:
    """Whether a text holds a phrase of the kind."""
    return bool(text) and any(pattern.search(plain(text)) for _, pattern in phrases(kind, name))


@lru_cache(maxsize=256)
def plain(text: str) -> str:
    """Lower case, all kinds of blanks and dashes alike, a blank before each percent sign behind a digit."""
    spaced = " ".join(text[:LONGEST].lower().replace("–", "-").replace("‑", "-").split())
    return re.sub(r"(?<=\d)(?=%)", " ", spaced)
