"""YAML 1.2 text → a tree of plain values in which every key and value knows its place.

The tree is composed from ruamel's parser events, because everything that must be refused (equal keys, tags, cycles,
alias bombs, depth) is still visible there, and because scalars are read by YAML 1.2's core schema (§10.3.2) and
nothing else: `1e-3` is a number; `no`, `12:30` and `2026-08-22` are text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.spec.marks import InvalidSpecError, Mark, Problem, Source

Event = Any
"""A parser event of ruamel; its own types do not say which attributes each kind has."""

MAX_BYTES = 1_000_000
MAX_DEPTH = 32
MAX_NODES = 100_000
"""Values in a file once every alias is written out."""

Scalar = str | int | float | bool | None


@dataclass(eq=False)
class Node:
    """A value and its place. `value` is a scalar, a list of nodes, or a mapping from key to node."""

    mark: Mark
    value: Scalar | list[Node] | dict[str, Node]
    keys: dict[str, Mark] = field(default_factory=dict)
    """Places of a mapping's keys."""
    size: int = 1
    """Values in it, itself included, aliases written out."""

    def plain(self) -> Any:
        """The value as plain Python data."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def child(self, key: str) -> Node | None:
        """The value under `key`; None when this is no mapping or lacks it."""
        return self.value.get(key) if isinstance(self.value, dict) else None

    def items(self) -> Iterator[tuple[str, Node]]:
        """Keys and values of a mapping; nothing otherwise."""
        if isinstance(self.value, dict):
            yield from self.value.items()

    def elements(self) -> list[Node]:
        """Elements of a list; a scalar or mapping counts as a list of one, as specs allow."""
        return self.value if isinstance(self.value, list) else [self]

    def key_mark(self, key: str) -> Mark:
        """Where `key` is written; the mapping's own place when it is not."""
        return self.keys.get(key, self.mark)


def merged(base: Node | None, over: Node | None) -> Node | None:
    """`over` laid on `base`: mappings key by key, everything else replaced; each value keeps its own place."""
    if base is None or over is None:
        return over or base
    if not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    value = dict(base.value)
    for key, node in over.value.items():
        value[key] = merged(base.value.get(key), node) or node
    return Node(over.mark, value, {**base.keys, **over.keys})


def read_file(path: Path, shown: str | None = None) -> tuple[Node | None, list[Problem]]:
    """The tree of a file and what is wrong with its YAML; the tree is None when nothing could be made of it."""
    try:
        source = load_source(path, shown)
    except InvalidSpecError as error:
        return None, list(error.problems)
    return parse(source)


def load_source(path: Path, shown: str | None = None) -> Source:
    """The text of a UTF-8 file (a byte order mark is dropped).

    Raises:
        InvalidSpecError: unreadable, too large, not UTF-8, or holding control characters.
    """
    name = shown or str(path)
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise invalid(Source(name, ""), 1, 1, f"cannot be read: {error.strerror or error}") from None
    if len(raw) > MAX_BYTES:
        raise invalid(Source(name, ""), 1, 1, f"larger than {MAX_BYTES:,} bytes, which no spec needs")
    return Source(name, decode(raw, name))


def decode(raw: bytes, name: str) -> str:
    """UTF-8 bytes as text."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise invalid(Source(name, ""), 1, 1, "expected UTF-8 text, found UTF-16; save the file as UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode("utf-8-sig")
        source = Source(name, raw.decode("utf-8-sig", errors="replace"))
        place = line_and_column(before)
        raise invalid(source, *place, f"expected UTF-8 text, found byte 0x{raw[error.start]:02x}") from None
    if found := UNPRINTABLE.search(text):
        place = line_and_column(text[: found.start()])
        raise invalid(Source(name, text), *place, f"control character U+{ord(found[0]):04X}; remove it")
    return text


UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Everything outside YAML 1.2's c-printable (§5.1)."""


def line_and_column(before: str) -> tuple[int, int]:
    """Place of the character that follows `before`."""
    lines = before.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return len(lines), len(lines[-1]) + 1


def invalid(source: Source, line: int, column: int, message: str) -> InvalidSpecError:
    """An error with one problem."""
    return InvalidSpecError([Problem(Mark(source, line, column), message)])


def parse(source: Source) -> tuple[Node | None, list[Problem]]:
    """The tree of a text and every problem of its YAML."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError

    composer = Composer(source, YAML(typ="safe", pure=True).parse(source.text))
    try:
        root = composer.document()
    except InvalidSpecError as error:
        return None, [*composer.problems, *error.problems]
    except MarkedYAMLError as error:
        return None, [*composer.problems, syntax_problem(source, error)]
    return root, composer.problems


def syntax_problem(source: Source, error: Any) -> Problem:
    """A parser error in our own words where the parser's are obscure."""
    mark, text = error.problem_mark or error.context_mark, str(error.problem)
    place = Mark(source, mark.line + 1, mark.column + 1)
    related: tuple[tuple[str, Mark], ...] = ()
    if error.context and error.context_mark and error.context_mark.line != mark.line:
        opened = error.context_mark
        label = next((ours for theirs, ours in CONTEXTS.items() if theirs in str(error.context)), str(error.context))
        related = ((label, Mark(source, opened.line + 1, opened.column + 1)),)
    for found, message in SYNTAX_HINTS.items():
        if found in text:
            return Problem(place, message, related)
    return Problem(place, f"not valid YAML: {text}", related)


CONTEXTS = {
    "flow sequence": "the list opened here is not closed",
    "flow mapping": "the mapping opened here is not closed",
    "flow node": "while reading this",
    "block mapping": "in the mapping that begins here",
    "block sequence": "in the list that begins here",
    "quoted scalar": "the quoted text that begins here",
    "simple key": "the key that begins here",
}
SYNTAX_HINTS = {
    "'\\t'": "a tab; YAML is indented with spaces",
    "mapping values are not allowed here": "a ':' where no key can be; check the indentation, or quote the text",
    "'@'": "text cannot start with '@'; put it in quotes",
    "'`'": "text cannot start with '`'; put it in quotes",
    "'%'": "text cannot start with '%'; put it in quotes",
    "found unexpected end of stream": "a quoted text that is never closed",
    "but found '<stream end>'": "a list or mapping that is never closed",
}


class Composer:
    """Builds the tree of one document from parser events."""

    def __init__(self, source: Source, events: Iterator[Event]) -> None:
        self.source = source
        self.events = events
        self.problems: list[Problem] = []
        self.anchors: dict[str, Node | None] = {}
        """None while the anchored collection is still open."""

    def document(self) -> Node:
        """The only document's root, a mapping."""
        from ruamel.yaml.events import DocumentStartEvent, ScalarEvent, StreamEndEvent

        next(self.events)
        event = next(self.events)
        if isinstance(event, StreamEndEvent):
            raise self.refuse(event, "the file is empty")
        event = next(self.events)
        if isinstance(event, ScalarEvent) and not event.value and event.style is None:
            raise self.refuse(event, "the file is empty")
        root = self.node(event, 1)
        next(self.events)
        following = next(self.events)
        if isinstance(following, DocumentStartEvent):
            self.note(following, "a second document; a spec file holds exactly one")
        if not isinstance(root.value, dict):
            raise self.refuse(event, f"expected keys such as 'task: name', found {kind_of(root.value)}")
        return root

    def node(self, event: Event, depth: int) -> Node:
        """The tree below one event."""
        from ruamel.yaml.events import AliasEvent, MappingStartEvent, SequenceStartEvent

        if isinstance(event, AliasEvent):
            return self.alias(event)
        if depth > MAX_DEPTH:
            raise self.refuse(event, f"nested more than {MAX_DEPTH} levels deep")
        if getattr(event, "tag", None) is not None:
            tag = str(event.tag).replace("tag:yaml.org,2002:", "!!")
            self.note(event, f"tags such as '{tag}' are not read; write the plain value")
        if event.anchor:
            self.anchors[event.anchor] = None
        if isinstance(event, MappingStartEvent):
            node = self.mapping(event, depth)
        elif isinstance(event, SequenceStartEvent):
            node = self.sequence(event, depth)
        else:
            node = Node(self.mark(event), self.scalar(event))
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def alias(self, event: Event) -> Node:
        """The node an alias stands for."""
        if event.anchor not in self.anchors:
            raise self.refuse(event, f"no anchor '&{event.anchor}' before this alias")
        node = self.anchors[event.anchor]
        if node is None:
            raise self.refuse(event, f"'*{event.anchor}' is inside the value it stands for")
        return node

    def sequence(self, start: Event, depth: int) -> Node:
        """A list."""
        from ruamel.yaml.events import SequenceEndEvent

        node = Node(self.mark(start), elements := [])
        while not isinstance(event := next(self.events), SequenceEndEvent):
            elements.append(self.grow(node, event, depth))
        return node

    def mapping(self, start: Event, depth: int) -> Node:
        """A mapping; keys are text, each written once."""
        from ruamel.yaml.events import MappingEndEvent

        node = Node(self.mark(start), entries := {})
        while not isinstance(event := next(self.events), MappingEndEvent):
            key = self.key(event, depth)
            value = self.grow(node, next(self.events), depth)
            if key is None:
                continue
            if key in entries:
                first = (("first written here", node.keys[key]),)
                self.problems.append(Problem(self.mark(event), f"key '{key}' is written twice", first))
            else:
                entries[key], node.keys[key] = value, self.mark(event)
        return node

    def grow(self, node: Node, event: Event, depth: int) -> Node:
        """A child of `node`, counted."""
        child = self.node(event, depth + 1)
        node.size += child.size
        if node.size > MAX_NODES:
            raise self.refuse(event, f"more than {MAX_NODES:,} values once the aliases are written out")
        return child

    def key(self, event: Event, depth: int) -> str | None:
        """The text of a key; None, and a problem, when it cannot be one."""
        value = self.node(event, depth + 1).value
        if value == "<<" and event.style is None:
            self.note(event, "merge keys '<<' are not part of YAML 1.2; write the keys out")
        elif isinstance(value, list | dict):
            self.note(event, f"expected text as key, found {kind_of(value)}")
        elif not isinstance(value, str):
            self.note(event, f"expected text as key, found {kind_of(value)}; put it in quotes")
        else:
            return value
        return None

    def scalar(self, event: Event) -> Scalar:
        """The value of a scalar by the core schema; quoted text stays text."""
        if event.style is not None:
            return self.text(event)
        try:
            value = core_schema(event.value)
        except ValueError:
            self.note(event, "a number with too many digits")
            return 0
        if isinstance(value, float) and not math.isfinite(value):
            self.note(event, f"expected a finite number, found {event.value}")
            return 0.0
        return value

    def text(self, event: Event) -> str:
        """A quoted text; two escapes that are the halves of one character, as JSON writes them, become that."""
        try:
            return str(event.value).encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            self.note(event, "half a character; an escape between \\ud800 and \\udfff needs its other half")
            return ""

    def mark(self, event: Event) -> Mark:
        """Where an event starts; an anchor or tag before the value belongs to it."""
        start = event.start_mark
        return Mark(self.source, start.line + 1, start.column + 1)

    def note(self, event: Event, message: str) -> None:
        """Keep a problem and go on."""
        self.problems.append(Problem(self.mark(event), message))

    def refuse(self, event: Event, message: str) -> InvalidSpecError:
        """A problem after which nothing can be read."""
        return InvalidSpecError([Problem(self.mark(event), message)])


def core_schema(text: str) -> Scalar:
    """A plain scalar's value by the core schema of YAML 1.2.2 (§10.3.2)."""
    if text in {"", "~", "null", "Null", "NULL"}:
        return None
    if text in {"true", "True", "TRUE", "false", "False", "FALSE"}:
        return text.lower() == "true"
    for pattern, base in ((INTEGER, 10), (OCTAL, 8), (HEXADECIMAL, 16)):
        if pattern.fullmatch(text):
            return int(text, base)
    if FLOAT.fullmatch(text):
        return float(text)
    if NOT_FINITE.fullmatch(text):
        return math.nan
    return text


INTEGER = re.compile(r"[-+]?[0-9]+")
OCTAL = re.compile(r"0o[0-7]+")
HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def kind_of(value: object) -> str:
    """What a value is, in the words of an error message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"{str(value).lower()} (true or false)"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text '{value if len(value) <= 40 else value[:37] + '...'}'"
    return "a list" if isinstance(value, list) else "a mapping"
