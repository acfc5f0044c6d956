"""HTML source to tags and text in one linear pass, also where tags, quotes and comments are never closed."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

MAX_TAG = 4_000
"""Characters of one tag of which the attributes are read; what is longer counts as a tag without attributes."""
_TAG = re.compile(r"""<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})((?:[^<>"']|"[^"]*"|'[^']*')*)>""")
_NAME = re.compile(r"</?([a-zA-Z][a-zA-Z0-9:-]{0,40})")
_ATTRIBUTE = re.compile(r"""([a-zA-Z_:][\w:.-]{0,40})(?:\s{0,20}=\s{0,20}("[^"]*"|'[^']*'|[^\s"'<>=]+))?""")
_RAW = frozenset({"script", "style", "textarea", "title", "template", "noscript", "svg"})


@dataclass(frozen=True, slots=True)
class Event:
    """A tag (`kind` start or end, `text` its name) or a run of text with its character references resolved."""

    kind: str
    text: str
    offset: int
    attributes: str = ""


def events(source: str) -> Iterator[Event]:
    """Tags and text in order. Comments, declarations and the content of scripts and styles are left out."""
    at = 0
    while at < len(source):
        opening = source.find("<", at)
        if opening < 0:
            opening = len(source)
        if opening > at:
            yield Event("text", html.unescape(source[at:opening]), at)
        if opening == len(source):
            return
        at, event = _markup(source, opening)
        if event is not None:
            yield event
            if event.kind == "start" and event.text in _RAW:
                at = _raw_end(source, at, event.text)


def _markup(source: str, at: int) -> tuple[int, Event | None]:
    """The markup at `<`, and the offset behind it; a lone `<` is text."""
    if source.startswith("<!--", at):
        return _behind(source, "-->", at + 4), None
    if source.startswith(("<!", "<?"), at):
        return _behind(source, ">", at + 2), None
    match = _TAG.match(source, at, at + MAX_TAG)
    if match is not None:
        kind = "end" if match.group(1) else "start"
        return match.end(), Event(kind, match.group(2).lower(), at, match.group(3))
    name = _NAME.match(source, at)
    if name is None:
        return at + 1, Event("text", "<", at)
    end = source.find(">", at)
    kind = "end" if source[at + 1] == "/" else "start"
    return (len(source) if end < 0 else end + 1), Event(kind, name.group(1).lower(), at)


def _behind(source: str, closing: str, at: int) -> int:
    """Offset behind `closing`; the end of the source when it never comes, as browsers do."""
    found = source.find(closing, at)
    return len(source) if found < 0 else found + len(closing)


def _raw_end(source: str, at: int, name: str) -> int:
    """Offset of the end tag of a raw element."""
    match = re.compile(rf"</{name}", re.IGNORECASE).search(source, at)
    return len(source) if match is None else match.start()


def attributes_of(text: str) -> dict[str, str]:
    """Attributes by lower-case name, quotes and character references resolved; the first of equal names counts."""
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(text):
        value = match.group(2) or ""
        found.setdefault(match.group(1).lower(), html.unescape(value.strip("\"'")))
    return found
