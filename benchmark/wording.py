"""Words that several places share: numbers with their nouns, names that were meant, paths, and errors in a line."""

from __future__ import annotations

import difflib
import os
import re
import sysconfig
from collections.abc import Iterable
from pathlib import Path


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """`1 cell`, `2 cells`; `plural` where it is not the noun with an s."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


LISTED = 15
"""So many valid names are listed; of more, only near ones are named."""


def hint(name: str, known: Iterable[str], what: str = "known") -> str:
    """`; did you mean ...?`, or the known names when they are few."""
    names = list(known)
    if near := suggestion(name, names):
        return near
    if 0 < len(names) <= LISTED:
        return f"; {what}: {', '.join(sorted(names))}"
    return ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """`; did you mean ...?` when a known name is near."""
    names = list(known)
    folded = {candidate.lower(): candidate for candidate in names}
    near = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return f"; did you mean '{folded[near[0]]}'?" if near else ""


def shown_path(path: Path) -> str:
    """Relative to the current folder when inside it, absolute otherwise."""
    absolute, here = os.path.abspath(path), os.getcwd()  # noqa: PTH100, PTH109 - links are kept as the user wrote them
    return os.path.relpath(absolute, here) if absolute.startswith(here + os.sep) else absolute


LAST_WORDS = "It last wrote:"
"""Begins what a process that died had written; nothing after it is why it died."""


def reason_of(error: str) -> str:
    """Why, in one line, out of an error as it is stored: the exception that a traceback ends with, by the first line of
    its message (compilers and validators add pages); otherwise the first line, which says how a process died."""
    lines = error.partition(f"\n{LAST_WORDS}\n")[0].strip().splitlines()
    headers = [k for k, line in enumerate(lines) if "Traceback (most recent call last)" in line]
    after = [line.strip() for line in lines[headers[-1] + 1 :] if line and not line[0].isspace()] if headers else lines
    told = [line for line in after if line.strip()] or lines or [""]
    return " ".join(told[:2] if told[0].endswith(":") else told[:1]).strip().removesuffix(".")


def placed_reason(error: str) -> str:
    """`reason_of`, and in which line of a user's file."""
    told = error.partition(f"\n{LAST_WORDS}\n")[0]
    return reason_of(error) + place_in(told.rpartition("Traceback (most recent call last)")[2])


FRAME = re.compile(r'^ *File "([^"<]+)", line (\d+)', re.MULTILINE)


def place_in(trace: str, *, innermost_first: bool = False) -> str:
    """` (FILE:LINE)`: the innermost place of a traceback that is neither the engine's, Python's nor a package's.

    `innermost_first`: as `faulthandler` writes it.
    """
    installed = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    others = tuple(os.path.join(folder, "") for folder in (*installed, os.path.dirname(__file__)))  # noqa: PTH118, PTH120
    packages = os.path.join("", "site-packages", "")  # noqa: PTH118 - of an environment that this one builds on
    frames = [
        (file, line) for file, line in FRAME.findall(trace) if not file.startswith(others) and packages not in file
    ]
    if not frames:
        return ""
    here = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118
    file, line = frames[0 if innermost_first else -1]
    return f" ({file.removeprefix(here)}:{line})"
