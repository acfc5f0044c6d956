"""Places in spec files, problems found there, and how they are shown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from benchmark.errors import SpecError


@dataclass(frozen=True)
class Source:
    """The text of one file under the name shown to the user."""

    path: str
    text: str = field(repr=False)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Lines as YAML counts them (only CR, LF and CRLF end one)."""
        return tuple(self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))

    @cached_property
    def sha256(self) -> str:
        """Hex digest of the text in UTF-8."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class Mark:
    """A place in a file; line and column count from 1, columns in characters."""

    source: Source
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.source.path}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a spec, where it is, and other places that belong to it."""

    mark: Mark
    message: str
    related: tuple[tuple[str, Mark], ...] = ()
    """Further places, each with what is there, for example the first of two equal keys."""

    def __str__(self) -> str:
        parts = [f"{self.mark}: {self.message}", *excerpt(self.mark)]
        for label, mark in self.related:
            parts += [f"  {mark}: {label}", *excerpt(mark)]
        return "\n".join(parts)

    def as_json(self) -> dict[str, object]:
        """The problem as plain data for `--json`."""
        return {
            "path": self.mark.source.path,
            "line": self.mark.line,
            "column": self.mark.column,
            "message": self.message,
            "related": [{"label": label, "place": str(mark)} for label, mark in self.related],
        }


class InvalidSpecError(SpecError):
    """Spec files with problems; the message shows all of them, in the order of files and lines."""

    def __init__(self, problems: Iterable[Problem], where: str = "the spec") -> None:
        self.problems = in_order(problems)
        super().__init__(describe(self.problems, where))


def describe(problems: Sequence[Problem], where: str = "the spec") -> str:
    """The text of all problems under a line that counts them."""
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return "\n".join([f"{count} in {where}:", *map(str, problems)])


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sorted by file (in order of appearance) and place; a problem found twice is kept once."""
    unique = list(dict.fromkeys(problems))
    files = {problem.mark.source.path: None for problem in unique}
    rank = {path: position for position, path in enumerate(files)}
    return tuple(sorted(unique, key=lambda p: (rank[p.mark.source.path], p.mark.line, p.mark.column)))


SHOWN_WIDTH = 160


def excerpt(mark: Mark) -> list[str]:
    """The line the mark is on and a line with a caret under the place; long lines are cut around it."""
    lines = mark.source.lines
    if not 1 <= mark.line <= len(lines) or not lines[mark.line - 1].strip():
        return []
    line, column = lines[mark.line - 1], mark.column - 1
    start = max(0, column - SHOWN_WIDTH // 2) if len(line) > SHOWN_WIDTH else 0
    line, column = printable(line[start : start + SHOWN_WIDTH]), column - start
    padding = "".join("\t" if character == "\t" else " " for character in line[:column].ljust(column))
    return [f"    {line}".rstrip(), f"    {padding}^"]


def printable(line: str) -> str:
    """The line without characters that would move the cursor or hide text."""
    return "".join(character if character.isprintable() or character == "\t" else "\ufffd" for character in line)
