"""The sentences of a source outside of its tables, as plain text with the line where each begins."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmark.errors import DataError
from leaderboard.claims.importers.latex.cells import CellReader
from leaderboard.claims.importers.latex.macros import Expander, collect
from leaderboard.claims.importers.latex.tokens import Token, tokenize
from leaderboard.claims.importers.markdown import inline
from leaderboard.claims.importers.positions import Positions
from leaderboard.claims.importers.tags import events

LONGEST = 900
"""Characters of a sentence; what is longer compares too many things at once."""
MOST_TOKENS = 500
CITED = "\ue000"
"""Stands where a source is cited, for as long as sentences are being made."""
MACRO = "⁇"
"""Stands where a command that the file does not define has left no text."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with what stands around it in its paragraph."""

    text: str
    line: int
    before: str = ""
    """The paragraph up to here."""
    after: str = ""
    """The next sentence."""
    table: str = ""
    """The table whose caption it belongs to."""
    cites: bool = False
    """Whether it cites something."""


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


_ABBREVIATED = re.compile(
    r"(?:^|[\s(\[])(?:e\.g|i\.e|cf|vs|al|fig|figs|tab|tabs|sec|eq|no|resp|approx|w\.r\.t|p\.p|etc|acc|avg|improv|std|[A-Z])"
    r"\.$",
    re.IGNORECASE,
)
_END = re.compile(r"[.!?][)\]”\"']{0,2}$")


def ends_sentence(text: str, following: str) -> bool:
    """Whether a sentence ends with `text`, before the blank that `following` comes after."""
    if _END.search(text) is None:
        return False
    return _ABBREVIATED.search(text[-12:].rstrip(")]”\"'")) is None and not following[:1].islower()


def linked(paragraph: list[tuple[str, int]], table: str = "") -> Iterator[Sentence]:
    """Sentences of one paragraph that know their neighbours."""
    before = ""
    for at, (text, line) in enumerate(paragraph):
        after = paragraph[at + 1][0] if at + 1 < len(paragraph) else ""
        cites = CITED in text
        yield Sentence(text.replace(CITED, ""), line, before, after[:LONGEST], table, cites)
        before = f"{before} {text}"[-2 * LONGEST :]


def split(text: str) -> Iterator[tuple[str, int]]:
    """Sentences of a paragraph of plain text, each with the offset where it begins."""
    start = 0
    for match in re.finditer(r"\S+(\s+|$)", text):
        word = match.group().rstrip()
        near = text[max(start, match.start() - 8) : match.start()] + word
        if match.end() == len(text) or ends_sentence(near, text[match.end() : match.end() + 1]):
            yield text[start : match.end()].strip(), start
            start = match.end()


def of_text(parts: list[tuple[str, int]]) -> Iterator[Sentence]:
    """Sentences of one paragraph given as pieces of text, each with its line."""
    offsets, lines, text = [], [], ""
    pieces: list[str] = []
    length = 0
    for piece, line in parts:
        offsets.append(length)
        lines.append(line)
        pieces.append(piece)
        length += len(piece) + 1
    text = " ".join(pieces)
    found = [(sentence, lines[bisect_right(offsets, start) - 1]) for sentence, start in split(text)] if parts else []
    return linked([(" ".join(sentence.split()), line) for sentence, line in found])


def caption_sentences(captions: Iterable[tuple[str, str, int]]) -> Iterator[Sentence]:
    """Sentences of captions, given as table, caption and line of the table."""
    for table, caption, line in captions:
        yield from linked([(text, line) for text, _ in split(caption)], table)


# --- markdown ---------------------------------------------------------------------------------------------------------

_BREAKS = re.compile(r"\s*(#{1,6}\s|[-*+]\s|\d{1,3}[.)]\s|>|\||<|={3,}|-{3,})")
_FENCE = re.compile(r"\s*(```|~~~)")


def markdown_sentences(source: str) -> Iterator[Sentence]:
    """Paragraphs and list items; headings, tables and code are left out."""
    paragraph: list[tuple[str, int]] = []
    fenced = in_table = False
    for number, line in enumerate(source.split("\n"), start=1):
        if _FENCE.match(line):
            fenced = not fenced
        lower = line[:4000].lower()
        in_table = in_table or "<table" in lower
        leaves = fenced or in_table or line.lstrip().startswith(("|", "#", "```", "~~~"))
        if not line.strip() or leaves or _BREAKS.match(line):
            yield from of_text(paragraph)
            paragraph = []
        if line.strip() and not leaves:
            text = re.sub(r"^\s*(?:[-*+]\s|\d{1,3}[.)]\s|>+)", "", line[:20_000])
            paragraph.append(("".join(piece.text for piece in inline(text)).strip(), number))
        if "</table" in lower:
            in_table = False
    yield from of_text(paragraph)


# --- HTML -------------------------------------------------------------------------------------------------------------

_INLINE_TAGS = _words(
    "a b i em strong span u ins sup sub small font code abbr cite mark s del q var kbd samp label time",
)
_HEADINGS = _words(
    "h1 h2 h3 h4 h5 h6 pre math button nav select option",
)


def html_sentences(source: str) -> Iterator[Sentence]:
    """Text outside of tables, headings and code; any tag that is no inline one begins a paragraph."""
    positions = Positions(source)
    paragraph: list[tuple[str, int]] = []
    depth = 0
    for event in events(source):
        if event.kind == "text":
            if depth == 0 and event.text.strip():
                lead = len(event.text) - len(event.text.lstrip())
                paragraph.append((" ".join(event.text.split()), positions.at(event.offset + lead)[0]))
        elif event.text == "table" or event.text in _HEADINGS:
            depth = max(0, depth + (1 if event.kind == "start" else -1))
        if event.kind != "text" and event.text not in _INLINE_TAGS and paragraph:
            yield from of_text(paragraph)
            paragraph = []
    yield from of_text(paragraph)


# --- LaTeX ------------------------------------------------------------------------------------------------------------

_LEFT_OUT = _words(
    "table wraptable sidewaystable longtable subtable margintable SCtable figure wrapfigure subfigure tabular",
    "tabularx tabulary tabu longtabu NiceTabular supertabular xltabular tblr array deluxetable equation align",
    "gather multline eqnarray displaymath algorithm algorithmic tikzpicture thebibliography threeparttable",
    "axis",
)
_REFERENCES = _words(
    "\\ref \\cref \\Cref \\autoref \\tabref \\Tabref \\tref \\fref \\figref \\nameref",
)
_HEADS = _words(
    "\\title \\section \\subsection \\subsubsection \\paragraph \\subparagraph \\chapter \\caption \\author",
)
_DEFINERS = _words(
    "\\newcommand \\renewcommand \\providecommand \\def \\gdef \\edef \\DeclareRobustCommand \\newcolumntype",
    "\\DeclareMathOperator \\newrobustcmd \\newenvironment \\usepackage \\documentclass",
)


def latex_sentences(source: str, path: str) -> Iterator[Sentence]:
    """Sentences of the text outside of floats, formulas and headings, macros expanded, `\\ref{x}` as `⟦x⟧`."""
    tokens = tokenize(source, path)
    expander = Expander(collect(tokens), path)
    positions = Positions(source)
    for paragraph in _paragraphs(tokens):
        found: list[tuple[str, int]] = []
        for sentence in _cut(paragraph):
            text = _plain(sentence, expander)
            if text:
                first = next(token for token in sentence if token.kind not in ("space", "open", "break"))
                found.append((text, positions.at(first.offset)[0]))
        yield from linked(found)


def _paragraphs(tokens: list[Token]) -> Iterator[list[Token]]:
    """Tokens of running text, cut at blank lines, headings, items and environments; not of related work."""
    paragraph: list[Token] = []
    depth = 0
    others = False
    at = _body(tokens)
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.kind == "command" and token.text in ("\\begin", "\\end"):
            name, at = _name(tokens, at)
            if name.rstrip("*") in _LEFT_OUT:
                depth = max(0, depth + (1 if token.text == "\\begin" else -1))
            if token.text == "\\end" and name == "document":
                break
        elif depth:
            continue
        elif token.kind == "command" and token.text in _DEFINERS:
            at = _behind_line(tokens, at)
        elif token.kind == "command" and token.text in _HEADS:
            heading, at = _name(tokens, at)
            if token.text in ("\\section", "\\chapter"):
                others = _OF_OTHERS.search(heading) is not None
        elif others:
            continue
        elif token.kind not in ("break", "newline") and token.text not in ("\\item", "\\par", "\\\\"):
            paragraph.append(token)
            continue
        if paragraph:
            yield paragraph
        paragraph = []
    if paragraph:
        yield paragraph


_OF_OTHERS = re.compile(r"related|background|prior work|preliminar|literature", re.IGNORECASE)
"""Headings of sections about the work of others."""


def _body(tokens: list[Token]) -> int:
    """Index behind \\begin{document}; 0 where there is none."""
    for at, token in enumerate(tokens):
        if token.kind == "command" and token.text == "\\begin":
            name, behind = _name(tokens, at + 1)
            if name == "document":
                return behind
    return 0


def _name(tokens: list[Token], at: int) -> tuple[str, int]:
    """Text of the group at or behind `at`, and the index behind it; only the first 200 tokens are looked at."""
    start = at
    while at < len(tokens) and at - start < 12 and tokens[at].kind in ("space", "text") and tokens[at].kind != "open":
        at += 1
    if at >= len(tokens) or tokens[at].kind != "open":
        return "", start
    depth = 0
    parts: list[str] = []
    for index in range(at, min(at + 200, len(tokens))):
        depth += (tokens[index].kind == "open") - (tokens[index].kind == "close")
        if depth == 0:
            return "".join(parts[1:]).strip(), index + 1
        parts.append(tokens[index].text)
    return "", start


def _behind_line(tokens: list[Token], at: int) -> int:
    """Index behind the groups of a definition; a definition that never ends ends with its paragraph."""
    depth = 0
    while at < len(tokens) and tokens[at].kind != "break":
        token = tokens[at]
        depth += (token.kind == "open") - (token.kind == "close")
        if depth == 0 and token.kind == "space" and "\n" in token.text:
            break
        at += 1
    return at


def _cut(paragraph: list[Token]) -> Iterator[list[Token]]:
    """Sentences as runs of tokens."""
    start = 0
    near = ""
    for at, token in enumerate(paragraph):
        if token.kind == "space":
            follows = paragraph[at + 1].text if at + 1 < len(paragraph) else ""
            if ends_sentence(near, follows):
                yield paragraph[start:at]
                start = at + 1
            near = (near + " ")[-12:]
        elif token.kind in ("text", "command"):
            near = (near + token.text)[-12:]
    yield paragraph[start:]


def _plain(tokens: list[Token], expander: Expander) -> str:
    """Text of a sentence; empty for one that is too long."""
    if len(tokens) > MOST_TOKENS or not any(token.kind == "text" for token in tokens):
        return ""
    try:
        expanded = expander.expand(_with_references(tokens))
    except DataError:
        return ""
    if len(expanded) > 2 * MOST_TOKENS:
        return ""
    reader = CellReader({})
    text = reader.read(expanded, 0, 0).text.replace("\u2009", " ").replace("``", "“").replace("''", "”")
    return f"{text} {MACRO}{reader.unknown[0]}" if reader.unknown else text


_CITES = re.compile(r"\\(?:paren|text|auto|foot)?[Cc]ite")


def _with_references(tokens: list[Token]) -> list[Token]:
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.kind == "command" and token.text in _REFERENCES:
            label, at = _name(tokens, at)
            out.append(Token("text", f"⟦{label[:100]}⟧", token.offset))
        elif token.kind == "command" and _CITES.match(token.text):
            out += [Token("text", CITED, token.offset), token]
        else:
            out.append(token)
    return out
