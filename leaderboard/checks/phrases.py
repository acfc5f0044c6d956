"""Phrases that checks look for in captions and labels: kept in `phrases.txt`, and none spelt where it is used."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

PLACES = {
    "within": r"\b({})\b",
    "anywhere": r"(?<![\w-])({})(?![\w-])",
    "start": r"(?:^|[(\[])({})(?![\w-])",
    "alone": r"^({})$",
}


@lru_cache(maxsize=1)
def _sections() -> dict[str, list[str]]:
    """Head of a section → its lines."""
    text = (Path(__file__).parent / "phrases.txt").read_text(encoding="utf-8")
    parts = (section.partition("]\n") for section in text.split("\n[")[1:])
    return {head.partition(":")[0]: body.strip().splitlines() for head, _, body in parts}


@lru_cache(maxsize=64)
def phrases(name: str) -> re.Pattern[str]:
    """What finds a phrase of that name in a text of lower case."""
    found = ((form, _sections().get(f"{name} {place}")) for place, form in PLACES.items())
    forms = [form.format("|".join(lines).replace(" ", "[- ]")) for form, lines in found if lines]
    return re.compile("|".join(forms))


@lru_cache(maxsize=1)
def idle() -> frozenset[str]:
    """Words that tell no two scopes apart."""
    return frozenset(word for line in _sections()["idle"] for word in line.split())
