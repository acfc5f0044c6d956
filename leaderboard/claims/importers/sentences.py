"""The sentences around the tables that compare results, listed because nothing is held against them."""

from __future__ import annotations

from collections.abc import Iterator

from leaderboard.claims.importers.result import UnreadSentence
from leaderboard.lexicon import default

LONGEST = 400
"""Characters of a sentence that are shown."""
_OUTSIDE = (
    "|",
    "&",
    "<t",
    "</t",
    "\\begin",
    "\\end",
    "\\caption",
    "\\newcommand",
    "#",
    "%",
    "```",
    "\\section",
    "\\title",
)
"""What begins or stands in a line of a table, of a heading, of a definition."""


def comparing_sentences(source: str) -> Iterator[UnreadSentence]:
    """Sentences as the source writes them, with a word of comparison and a number or an `all` or `every`."""
    for text, line in _sentences(source):
        words = text.lower().split()
        told = any(map(str.isdecimal, text)) or not {"all", "every", "each", "both", "consistently"}.isdisjoint(words)
        if told and default().compares(text):
            yield UnreadSentence(line, text[:LONGEST])


def _sentences(source: str) -> Iterator[tuple[str, int]]:
    """Sentences of the lines that are no part of a table, each with the line where it begins."""
    words: list[str] = []
    began = 0
    for number, line in enumerate(source.split("\n"), start=1):
        bare = line.strip()
        apart = not bare or bare.startswith(_OUTSIDE) or " & " in bare or " | " in bare
        for word in () if apart else bare.split():
            began = began if words else number
            words.append(word)
            if word.rstrip(")”\"'")[-1:] in (".", "!", "?") and len(word) > 3:
                yield " ".join(words), began
                words = []
        if apart and words:
            yield " ".join(words), began
            words = []
    if words:
        yield " ".join(words), began
