"""One sentence to what it says of two rows: a small grammar over a closed vocabulary, or why it is not read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from leaderboard.claims.importers import words
from leaderboard.claims.importers.prose import lexicon
from leaderboard.claims.importers.prose.names import MOST_WORDS, Names, exact
from leaderboard.claims.importers.prose.sentences import MACRO, Sentence
from leaderboard.claims.importers.vocabulary import SPLITS

OWN = "«own»"
Unit = Literal["", "points", "percent", "relative"]


@dataclass(frozen=True)
class Quantity:
    """A stated difference."""

    printed: str
    unit: Unit
    metric: str | None = None


@dataclass
class Statement:
    """What a sentence says, its tables not yet found."""

    method: str
    bases: tuple[str, ...] = ()
    """Empty: every other row."""
    kind: Literal["improves", "consistent", "best"] = "improves"
    quantities: tuple[Quantity, ...] = ()
    tasks: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    worse: bool = False
    always: bool = False
    """Whether it says "consistently"."""
    transitive: bool = False
    """Whether it improves a row, which may mean another that joins both."""
    every_metric: bool = False
    labels: tuple[str, ...] = ()
    """What it refers to, `⟦label⟧` or `Table 3`, a part's letter behind."""
    caption_words: tuple[str, ...] = ()


class NotReadError(Exception):
    """The sentence is not understood; its text says why."""


@dataclass
class _Reading:
    """A sentence on its way: names and phrases taken out, placeholders in."""

    names: Names
    methods: list[str] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    quantities: list[Quantity] = field(default_factory=list)
    splits: list[str] = field(default_factory=list)
    every: bool = False
    every_metric: bool = False
    average: bool = False

    def mark(self, kind: str, value: str) -> str:
        """Keep a name and give its placeholder."""
        kept = {"m": self.methods, "t": self.tasks, "x": self.metrics, "j": self.words, "r": self.labels}[kind]
        kept.append(value)
        return f"«{kind}{len(kept) - 1}»"


_OF_ALL = r"«[ao]»|\b(consistent|all|every|each|best|state[- ]of[- ]the[- ]art)"
_REFERENCE = re.compile(
    r"(?:[Tt]ables?|[Tt]abs?\.?)?\s?⟦(?P<label>[^⟧]*)⟧(?:\s?\((?P<part>[a-h])\)|(?P<suffix>[a-h])\b)?"
    r"|\b(?:[Tt]able|[Tt]ab\.?)\s(?P<number>\d{1,3})(?:\s?\((?P<letter>[a-h])\)|(?P<behind>[a-h])\b)?"
)
_OWN = re.compile(rf"\b(?:{lexicon.OWN})(?![\w-])", re.IGNORECASE)
_WE = re.compile(
    r"\b[Ww]e (?=(?:\w+ly |also |further )?(?:outperform|surpass|beat|exceed|improve|achieve|obtain|reach|attain|set|"
    r"gain|reduce)\b|observe an? )"
)
_ARTICLED = re.compile(r"«own»,? ?\(?«m(\d+)»\)?,?|\b[Oo]ur «m(\d+)»|\b[Tt]he proposed «m(\d+)»")
_LIST = re.compile(r"«m\d+»(?:\s?,\s?«m\d+»){0,20}\s?,?\s(?:and|or)\s«m\d+»")
_JOINT = re.compile(r"\s?,?\s(?:and|or)\s|\s?,\s?")


def read_sentence(sentence: Sentence, names: Names) -> Statement:
    """What a sentence says.

    Raises:
        NotReadError: a word, a form or a restriction that the vocabulary does not hold.
    """
    if MACRO in sentence.text:
        raise NotReadError(f"the command {sentence.text.partition(MACRO)[2]} is not defined in this file")
    reading = _Reading(names)
    text = _without_brackets(_phrases(_placed(sentence.text, reading), reading))
    tags = list(_tags(text, reading))
    statement = _statement(tags, reading)
    if statement.kind != "improves" and lexicon.EXCEPTIVE.search(sentence.after.lower()):
        raise NotReadError("the next sentence may restrict it")
    return statement


def compares(sentence: Sentence) -> bool:
    """Whether a sentence has a word of comparison."""
    return lexicon.TRIGGER.search(sentence.text) is not None


def states(sentence: Sentence, names: Names) -> bool:
    """Whether a comparison of a row of the tables has a number in it, or is over everything."""
    reading = _Reading(names)
    placed = _phrases(_placed(sentence.text, reading), reading)
    mentions = reading.methods or OWN in placed or not names.parts.isdisjoint(re.findall(r"[^\s,;()]+", sentence.text))
    universal = reading.every or re.search(_OF_ALL, placed)
    return bool(mentions and (reading.quantities or universal))


def _placed(text: str, reading: _Reading) -> str:
    """The sentence in lower case, its references and names as placeholders."""
    text = text.replace("’", "'").replace("∼", "~").replace("–", "-")
    text = _REFERENCE.sub(lambda match: f" {reading.mark('r', _label(match))} ", text)
    text = _OWN.sub(OWN, _WE.sub(f"{OWN} ", text))
    text = "".join(_named(" ".join(text.split()), reading))
    text = _ARTICLED.sub(lambda match: f"«m{match[1] or match[2] or match[3]}»", text)
    text = re.sub(r"(«m\d+») \(«own»\)", r"\1", text)
    text = re.sub(r"(?:the )?baseline («m\d+»)|(?:the )?(«m\d+») (?:baseline|method|model)\b", r"\1\2", text)
    return text.lower()


def _label(match: re.Match[str]) -> str:
    part = match["part"] or match["suffix"] or match["letter"] or match["behind"]
    name = f"Table {match['number']}" if match["number"] else match["label"].strip()
    return f"{name}|{part}" if part else name


_WORD = re.compile(r"«[^»]*»|[^\s]+")


def _named(text: str, reading: _Reading) -> Iterator[str]:
    """Pieces of the text, the longest names that begin at a word replaced."""
    spans = [match.span() for match in _WORD.finditer(text)]
    at = done = 0
    while at < len(spans):
        start = spans[at][0]
        while start < spans[at][1] and text[start] in "([“\"'":
            start += 1
        found = _longest(text, spans, at, start, reading)
        if found is None:
            at += 1
            continue
        kind, name, last, end = found
        yield text[done:start]
        yield reading.mark(kind, name)
        done, at = end, last + 1
    yield text[done:]


def _longest(
    text: str, spans: list[tuple[int, int]], at: int, start: int, reading: _Reading
) -> tuple[str, str, int, int] | None:
    """Kind and name of the longest phrase that is one, its last word, and where it ends."""
    if text.startswith("«", start):
        return None
    for last in range(min(at + MOST_WORDS, len(spans)) - 1, at - 1, -1):
        for end in _ends(text, start, spans[last][1]):
            found = reading.names.find(exact(text[start:end]))
            if found is not None:
                return *found, last, end
    end = next(iter(list(_ends(text, start, spans[at][1]))[::-1]), start)
    if reading.names.caption_word(text[start:end]) and text[start:end].lower() not in lexicon.DROPPED:
        return "j", text[start:end], at, end
    return None


def _ends(text: str, start: int, end: int) -> Iterator[int]:
    """The end of a phrase, then without the punctuation behind it."""
    if end > start:
        yield end
    bare = end
    while bare > start and text[bare - 1] in ".,;:)]”\"'!?":
        bare -= 1
        if bare > start:
            yield bare
    if text[start:end].endswith("'s") and end - 2 > start:
        yield end - 2


def _phrases(text: str, reading: _Reading) -> str:
    """Tails cut, and phrases of several words as placeholders: everywhere, all others, the best other, a quantity."""
    text = lexicon.MARGIN.sub(" ", lexicon.LEADS.sub("", text.rstrip(" .!")))
    text = _cut_tail(text)

    def everywhere(match: re.Match[str]) -> str:
        reading.every = True
        reading.every_metric |= re.search(r"metrics|measures|indicators", match.group()) is not None
        return " «s» "

    text = re.sub(rf"\b(?:{lexicon.EVERYWHERE})(?![\w-])", everywhere, text)
    text = re.sub(rf"\b(?:{lexicon.BEST_OTHER})(?![\w-])", " «o» ", text)
    text = re.sub(rf"\b(?:{lexicon.ALL_OTHERS})(?![\w-])", " «a» ", text)
    relative = re.search(r"\brel(?:ative(?:ly)?\b(?! to)|\.)", text) is not None
    absolute = re.search(r"\babs(?:olute(?:ly)?\b|\.)", text) is not None

    def quantity(match: re.Match[str]) -> str:
        metric = next((reading.metrics[int(m[2:-1])] for m in (match["before"], match["behind"]) if m), None)
        reading.quantities.append(Quantity(match["number"], _unit(match, relative, absolute), metric))
        return f" «q{len(reading.quantities) - 1}» "

    text = re.sub(r"\bup to +(?=«q)", "", lexicon.QUANTITY.sub(quantity, text))
    if re.search(r"\bon average\b", text):
        reading.average = True
        text = re.sub(r",? ?\bon average\b,?", " ", text)
    return re.sub(r"\b(?:relative(?! to)|absolute)\b", " ", text)


def _cut_tail(text: str) -> str:
    text = lexicon.WITH_GAINS.sub(" by ", text)
    match = lexicon.TAILS.search(text)
    if match is None or re.search(r"(?<![«\w-])\d", match.group()) or lexicon.EXCEPTIVE.search(match.group()):
        return text
    return text[: match.start()]


def _unit(match: re.Match[str], relative: bool, absolute: bool) -> Unit:
    if relative and not absolute:
        return "relative"
    named = match["before"] or match["behind"]
    if absolute or match["points"] or (named and not match["percent"]):
        return "points"
    return "percent" if match["percent"] else ""


_BRACKET = re.compile(r"\(([^()]*)\)")
_BESIDE = re.compile(
    r"(?:«[qr]\d+»|[\d.,%+\-−→/=]|\b(?:vs\.?|v\.?s\.?|to|from|versus|and|see|in|also|cf\.?|pp|by)\b|\s)*"
)


def _without_brackets(text: str) -> str:
    """Brackets that only hold numbers or references are dropped, others lose their brackets."""
    return _BRACKET.sub(lambda match: " " if _BESIDE.fullmatch(match[1]) else f" ( {match[1]} ) ", text)


def _tags(text: str, reading: _Reading) -> Iterator[tuple[str, str]]:
    """The words that matter, each as a tag and its placeholder.

    Raises:
        NotReadError: a word that is not in the vocabulary.
    """
    text = _LIST.sub(lambda match: _JOINT.sub(" & ", match.group()), " ".join(text.split()))
    at = 0
    while at < len(text):
        if text[at] in " ,":
            at += 1
            continue
        placeholder = re.compile(r"«([a-z]+)(\d*)»").match(text, at)
        if placeholder is not None:
            yield placeholder[1] if placeholder[1] == "own" else placeholder[1][0], placeholder.group()
            at = placeholder.end()
            continue
        match = lexicon.TAGGER.match(text, at)
        if match is not None:
            yield ("&" if match.lastgroup == "AND" else match.lastgroup or ""), match.group()
            at = match.end()
            continue
        if text[at] == "&":
            yield "&", "&"
            at += 1
            continue
        end = at + len(re.compile(r"[^\s,]+").match(text, at).group())  # type: ignore[union-attr]
        _accept(text[at:end].strip(".:"), reading)
        at = end


def _accept(word: str, reading: _Reading) -> None:
    split = words.split_of(word) if word in SPLITS else None
    if split is not None:
        reading.splits.append(split)
    elif word and word not in lexicon.DROPPED:
        raise NotReadError(f"“{word}” is not in the vocabulary of comparisons")


_OBJECT = r"(?:M(?:&M)*|A|O)"
_QUANTITIES = r"Q(?:&?Y?Q)*"
_FORMS = [
    re.compile(form)
    for form in (
        rf"M(?:HQ?&?)?(?P<verb>[VW])(?P<object>{_OBJECT})(?:Y(?P<by>{_QUANTITIES}))?",
        rf"P(?P<object>{_OBJECT})(?P<me>M)(?:HG?|G|I)Y?(?P<by>{_QUANTITIES})G?",
        rf"P(?P<object>{_OBJECT})(?P<me>M)EC?(?P<by>{_QUANTITIES})C",
        rf"M(?P<verb>I)(?P<object>{_OBJECT})",
        r"M(?:HQ?&?)?(?P<verb>[VW])(?P<pairs>(?:MYQ&?)+)",
        rf"M(?:HQ?&?)?(?P<verb>I)(?:P?(?P<object>{_OBJECT}))?Y(?P<by>{_QUANTITIES})",
        rf"M(?:HQ?&?)?IY(?P<by>{_QUANTITIES})P(?P<object>{_OBJECT})",
        rf"M(?:HQ?&?)?IP(?P<object>{_OBJECT})",
        rf"M(?:H|E)?G?(?P<by>{_QUANTITIES})G?P(?P<object>{_OBJECT})",
        rf"MHGP(?P<object>{_OBJECT})(?:Y?(?P<by>{_QUANTITIES}))?",
        rf"ME(?P<by>{_QUANTITIES})C?P(?P<object>{_OBJECT})",
        rf"M[EH]CP(?P<object>{_OBJECT})(?:Y(?P<by>{_QUANTITIES}))?",
        r"M[HE](?P<best>B)",
    )
]
_SILENT = frozenset("txsrjk")


def _statement(tags: list[tuple[str, str]], reading: _Reading) -> Statement:
    """The one form that the tags have."""
    always = any(tag == "K" for tag, _ in tags)
    consistent = always or reading.every
    kept = [pair for pair in tags if pair[0] not in _SILENT and pair[0] != "K"]
    kept = [("M" if tag == "own" else tag.upper(), value) for tag, value in kept]
    while kept and kept[0][0] in "HE&":
        kept.pop(0)
    kept = _without_loose_and(kept)
    shape = "".join(tag for tag, _ in kept)
    match = next((found for form in _FORMS if (found := form.fullmatch(shape))), None) if len(shape) < 40 else None
    if match is None:
        raise NotReadError("its form is not one of those that are read")
    silent = [value for tag, value in tags if tag in _SILENT]
    return replace(_filled(match, kept, silent, consistent, reading), always=always)


def _without_loose_and(tags: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without the `and` that joined data sets or metrics."""
    return [
        pair
        for at, pair in enumerate(tags)
        if pair[0] != "&" or (0 < at < len(tags) - 1 and tags[at - 1][0] in "MQ" and tags[at + 1][0] in "MQYV")
    ]


def _filled(
    match: re.Match[str], tags: list[tuple[str, str]], silent: list[str], consistent: bool, reading: _Reading
) -> Statement:
    groups = match.groupdict()

    def said(kind: str, names: list[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(names[int(value[2:-1])] for value in silent if value[1] == kind and len(value) > 3))

    def within(name: str, tag: str) -> list[str]:
        if groups.get(name) is None:
            return []
        return [value for kind, value in tags[match.start(name) : match.end(name)] if kind == tag]

    def named(value: str) -> str:
        return OWN if value == OWN else reading.methods[int(value[2:-1])]

    bases = tuple(named(value) for value in within("object", "M") + within("pairs", "M"))
    stated = tuple(reading.quantities[int(value[2:-1])] for value in within("by", "Q") + within("pairs", "Q"))
    best = groups.get("best") is not None
    if groups.get("object") is None and groups.get("pairs") is None and not best:
        raise NotReadError("it does not say over which row")
    if groups.get("verb") == "W" and not bases:
        raise NotReadError("its form is not one of those that are read")
    against_all = groups.get("object") in ("A", "O")
    kind: Literal["improves", "consistent", "best"] = "improves"
    if consistent or ((said("t", reading.tasks) or reading.splits) and not stated):
        kind = "best" if best or (against_all and not stated) else "consistent"
    if groups.get("verb") == "I" and kind == "improves" and not stated:
        raise NotReadError("its form is not one of those that are read")
    if reading.average and (not stated or consistent):
        raise NotReadError("it is about an average")
    return Statement(
        method=named(tags[match.start("me") if groups.get("me") else 0][1]),
        bases=bases,
        kind=kind,
        quantities=stated,
        tasks=said("t", reading.tasks),
        metrics=said("x", reading.metrics),
        splits=tuple(dict.fromkeys(reading.splits)),
        worse=groups.get("verb") == "W",
        transitive=groups.get("verb") == "I",
        every_metric=reading.every_metric,
        labels=tuple(dict.fromkeys(reading.labels)),
        caption_words=said("j", reading.words),
    )
