"""From a label to its meaning: the words of two data files, looked up whole, then in parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import cast

from leaderboard.lexicon.entries import FILES, FOLDER, Entry, lines_of, spellings
from leaderboard.lexicon.meaning import Kind, Meaning, Way

LONGEST = 60
"""Characters of a label beyond which it is a sentence."""
MOST_WORDS = 8
UP, DOWN = "↑⬆⇑▲", "↓⬇⇓▼"
_DELTAS = "δ∆"
_BLANK = str.maketrans(dict.fromkeys("_*†‡§¶$", " "))
_ARROWS = str.maketrans(dict.fromkeys(f"{UP}{DOWN}", "\x00"))
_TIGHT = str.maketrans(dict.fromkeys(" -–_'’\\{}^", None))
_RELATIVE = frozenset({"%", "rel", "relative", "abs", "absolute"})
_WITHOUT = frozenset({"w/o", "w/", "wo", "w.o", "with", "without", "only", "add", "adding", "removing", "remove",
                      "replacing", "replace", "plus", "minus", "no"})  # fmt: skip
_KNOWN = 16_384
"""Labels of which the meaning is kept."""


@lru_cache(maxsize=_KNOWN)
def key_of(text: str) -> str:
    """A name for comparison: lower case, without blanks, hyphens and dots that end an abbreviation."""
    key = text.casefold().translate(_BLANK).translate(_TIGHT)
    if "." not in key:
        return key.rstrip(":")
    ends = [at for at, letter in enumerate(key) if letter == "." and not key[at + 1 : at + 2].isdecimal()]
    return "".join(letter for at, letter in enumerate(key) if at not in ends).rstrip(":")


def words_of(text: str) -> list[str]:
    """The words of a label, lower case, without the marks around them."""
    plain = text.casefold().translate(_BLANK).replace("-", " ").replace("–", " ")
    return [word for word in (piece.strip("()[],:;") for piece in plain.split()) if word]


class Lexicon:
    """The meaning of labels."""

    def __init__(self, lines: Iterable[tuple[Entry, str]]) -> None:
        """`lines` are entries with their words; of two entries for one word the first of a kind counts."""
        self._whole: dict[str, Entry] = {}
        self._heads: dict[str, Entry] = {}
        self._axes: dict[str, str] = {}
        self._units: dict[str, Entry] = {}
        self._affixes: dict[str, set[str]] = {}
        self._names: dict[str, set[str]] = {
            "dataset": set(), "method": set(), "own": set(), "comparison": set()
        }  # fmt: skip
        self._known: dict[str, Meaning] = {}
        for entry, words in lines:
            for name in spellings(words):
                self._add(entry, name)
        self._deltas = {key for key, entry in self._whole.items() if entry.name == "delta"}
        self._spreads = sorted((key for key, found in self._whole.items() if found.name == "spread"), key=len)

    def _add(self, entry: Entry, name: str) -> None:
        if entry.kind in self._names:
            self._names[entry.kind].add(key_of(name[:-1]) + "*" if name.endswith("*") else key_of(name))
        elif entry.kind == "axis":
            self._axes.setdefault(key_of(name), entry.name)
        elif entry.kind == "unit":
            self._units.setdefault(name if entry.name == "scale" else name.casefold(), entry)
        elif entry.kind == "affix":
            self._affixes.setdefault(key_of(name), set()).add(entry.name)
        else:
            if "must-at" not in entry.flags:
                self._whole.setdefault(key_of(name), entry)
            if entry.flags & {"at", "must-at", "parts"}:
                self._heads.setdefault(key_of(name), entry)

    @classmethod
    def load(cls, extra: Path | None = None) -> Lexicon:
        """The shipped files, and before them the lines of a file of the user's own.

        Raises:
            DataError: the file cannot be read, or a line of it is no entry; the message names file and line.
        """
        files = [FOLDER / name for name in FILES]
        return cls(line for path in ([extra] if extra else []) + files for line in lines_of(path))

    def read(self, label: str) -> Meaning:
        """The meaning of a label; of kind `name` where no word says what it is."""
        found = self._known.get(label)
        if found is None:
            if len(self._known) >= _KNOWN:
                self._known.clear()
            found = self._known[label] = self._read(label[:500])
        return found

    def letters(self, labels: Iterable[str]) -> dict[str, str]:
        """`P`, `R` and `F`, or `LP`, `LR` and `LF`, stand for precision, recall and F1 where all three are there."""
        there = set(labels)
        found: dict[str, str] = {}
        for label in there:
            before, last = label[:-1], label[-1:]
            score = next((name for name in (f"{before}F", f"{before}F1", f"{before}F-1") if name in there), None)
            if last == "P" and score and f"{before}R" in there:
                found |= {label: "precision", f"{before}R": "recall", score: "F1"}
        return found

    def is_dataset(self, text: str) -> bool:
        """Whether some word of a text is the name of a known data set."""
        return self._has(text, "dataset")

    def is_method(self, text: str) -> bool:
        """Whether a text is written as methods are: a known word, a citation, `+ something`."""
        low = text[:200].casefold()
        cited = "[" in low and low.partition("[")[2][:1].isdecimal()
        return cited or low[:1] == "+" or "(20" in low or "w/" in low or self._has(text, "method")

    def is_unit(self, text: str) -> bool:
        """Whether a text in brackets is a unit: `%`, `M`, `ms`, `higher is better`; so is an empty one."""
        return not text or text in self._units or text.casefold() in self._units

    def compares(self, text: str) -> bool:
        """Whether some word of a sentence says which of two results is better."""
        return any(key_of(word.strip(".,;:()")) in self._names["comparison"] for word in text.split())

    def _has(self, text: str, kind: str) -> bool:
        names, words = self._names[kind], text[:200].replace("(", " ").replace("/", " ").split()
        keys = [key_of(word.strip("(),:;[]")) for word in words]
        pieces = [key_of(piece) for word in words for piece in word.replace("_", "-").split("-") if "-" in word]
        pairs = [a + b for a, b in pairwise(keys)]
        return any(
            key in names or any(f"{key[:size]}*" in names for size in range(3, len(key) + 1))
            for key in (*keys, *pairs, *pieces)
            if key
        )

    def _read(self, raw: str) -> Meaning:
        text, arrow = _arrow(raw)
        text, power = _power(text)
        text, unit = self._unit(text)
        text, count = _counted(text)
        axis = self._axes.get(key_of(text.strip(" .:()"))) or self._axes.get(key_of(text.partition("(")[0]), "")
        base = Meaning(text, unit=unit, power=power, count=count, arrow=arrow, axis=axis)
        if not text:
            return base
        base = replace(base, is_method=self.is_method(text), is_component=_is_component(text),
                       is_dataset=self.is_dataset(text), is_own=self._has(text, "own"))  # fmt: skip
        if len(text) > LONGEST or base.is_component:
            return base
        role = self._role(text, base)
        if role is not None and role.role in ("own", "baseline", "reference"):
            return self._spent(text, [], role)  # `Ours (s)` heads seconds
        return role or self._measured(text, base)

    def _unit(self, text: str) -> tuple[str, str]:
        """The text without the unit in brackets at its end, `(%)`, or a bare `%`; and the unit."""
        opening = max(text.rfind("("), text.rfind("["))
        inside = text[opening + 1 : -1].strip()
        if opening >= 0 and text[-1:] in (")", "]") and len(inside) <= 40 and not set("()[]") & set(inside):
            known = self._units.get(inside) or (self._units.get(inside.casefold()) if inside != "S" else None)
            if known is not None and not (known.name == "scale" and inside not in self._units):
                return text[:opening].strip(), inside
            if not inside:
                return text[:opening].strip(), ""
        if text.endswith("%") and any(letter.isalpha() for letter in (text.rstrip("% ").split() or [""])[-1]):
            return text.rstrip("% "), "%"
        return text.rstrip(":").strip(), ""

    def _role(self, text: str, base: Meaning) -> Meaning | None:
        """The roles: an average, a difference, a spread, a number of runs."""
        entry = self._whole.get(key_of(text.strip(" ()")))
        if entry is not None and entry.kind == "value":
            return replace(base, kind="value", name=entry.name)
        if entry is not None and entry.kind == "role":
            return replace(base, kind="role", name=entry.name, role=entry.name, flags=entry.flags)
        if entry is not None:
            return None
        if self._is_delta(text.casefold().translate(_BLANK).replace("%", " % ").split()):
            return replace(base, kind="role", name="delta", role="delta")
        return self._spread(text, base)

    def _is_delta(self, words: list[str]) -> bool:
        """`Δ Acc`, `gain over A`, `rel. WER reduction`, `acc drop`, `vs. best`."""
        bare = [word.strip(".()") for word in words if word.strip(".()") not in _RELATIVE | {""}]
        if not bare:
            return False
        first, last, relative = bare[0], bare[-1], len(bare) < len(words)
        if first in self._deltas and (len(bare) == 1 or first not in ("drop", "uplift", "improve", "imp")):
            return True
        if first[0] in _DELTAS and len(first) > 1 and key_of(first) not in self._whole:
            return not first[1:].isdecimal()
        if first in ("vs", "over"):
            return any(word in self._deltas or word in ("best", "baseline", "baselines", "sota") for word in bare[:4])
        if last in ("diff", "delta", "gain") or (relative and last in self._deltas):
            return len(bare) <= 5
        measured = self._metric(bare[:-1]) if len(bare) > 1 else None
        return last in ("drop", "degradation", "improvement", "increase") and measured is not None

    def _spread(self, text: str, base: Meaning) -> Meaning | None:
        """`acc_std`, `std of accuracy`, `± std`, `reward (SE)`: a spread, and what it is one of."""
        bare = text.replace("±", " ").replace("+/-", " ").strip()
        words = words_of(bare)
        if bare != text and not words:
            return None
        for size in range(min(4, len(words)), 0, -1):
            for key, others, front in (
                (key_of("".join(words[-size:])), words[:-size], False),
                (key_of("".join(words[:size])), words[size:], True),
            ):
                entry = self._whole.get(key)
                if entry is None or entry.name not in ("spread", "bound", "runs"):
                    continue
                if others and entry.name == "runs":
                    continue
                told = others[:1] == ["of"] or "(" in bare or key in ("std", "stderr", "sem", "sd")
                if front and others and not told:
                    continue
                of = " ".join(others[1:] if others[:1] == ["of"] else others)
                return replace(base, kind="role", name=entry.name, role=entry.name, flags=entry.flags, of=of)
        return None

    def _measured(self, text: str, base: Meaning) -> Meaning:
        """A metric, a cost, a count; else what describes rows; else a name."""
        words = words_of(text)
        entry = self._whole.get(key_of(text.strip(" .()")))
        if entry is None and base.is_dataset and len(text.split()) == 1:
            return base
        if entry is not None and entry.kind not in ("metric", "cost", "count"):
            if entry.kind == "split":
                return self._spent(text, [], replace(base, kind="split", name=entry.name, split=entry.name))
            return replace(base, kind=cast("Kind", entry.kind), name=entry.name, flags=entry.flags)
        if len(words) > 1 and words[-1] in ("set", "split"):
            part = self._whole.get(key_of("".join(words[:-1])))
            if part is not None and part.kind == "split":
                return replace(base, kind="split", name=part.name, split=part.name)
        found = self._metric(words, text)
        if found is not None:
            return replace(found, text=base.text, unit=base.unit, power=base.power, count=base.count, arrow=base.arrow,
                           axis=base.axis, is_dataset=base.is_dataset, is_method=base.is_method,
                           is_own=base.is_own)  # fmt: skip
        if text[:1] in "αβγεζηθλνωψτσμκρ" and len(text) <= 6:
            return replace(base, kind="setting", name="greek", flags=frozenset({"decimals"}))
        return self._spent(text, words, base)

    def _spent(self, text: str, words: list[str], base: Meaning) -> Meaning:
        """`# images`, `Number of heads used`, `Overhead (ms)`: a count or a cost by its form or unit; else a name."""
        counted = text[:1] == "#" or words[:2] in (["number", "of"], ["num", "of"], ["no", "of"]) or text[-1:] == "#"
        if counted and len(words) > 1:
            return replace(base, kind="count", name="count", flags=frozenset({"plain"}))
        unit = self._units.get(base.unit.casefold()) if len(base.unit) > 1 or base.unit in ("s", "h", "$") else None
        if unit is not None and "quantity" in unit.flags:
            return replace(base, kind="cost", name="cost", split="", flags=frozenset({"plain"}))
        return base

    def metric(self, phrase: str) -> Meaning | None:
        """The metric that a whole phrase names, without a word beside it; None when it names none."""
        words = words_of(phrase)
        if not 0 < len(words) <= MOST_WORDS or len(phrase) > LONGEST:
            return None
        found = self._head(words)
        return replace(found, text=phrase, printed=phrase) if found is not None else None

    def _metric(self, words: Sequence[str], text: str = "") -> Meaning | None:
        """The longest part of the words that names a metric, at their end or near their start, with what is beside."""
        count = len(words)
        if not 0 < count <= MOST_WORDS or "+" in words:
            return None
        for size in range(count, 0, -1):
            for start in range(count - size, -1, -1):
                if count - start - size > 2:
                    break
                found = self._head(words[start : start + size])
                if found is None:
                    continue
                found = replace(found, printed=_as_written(words[start : start + size], text))
                beside = self._beside(found, [*words[:start], *words[start + size :]], text)
                if beside is not None:
                    return beside
        return None

    def _beside(self, found: Meaning, others: list[str], text: str) -> Meaning | None:
        """The metric with the words beside it: a part of the data, an aggregation, or what is left over."""
        split = aggregation = part = ""
        changed, exact, rest = False, True, []
        spent = found.kind in ("cost", "count")
        for word in others:
            kinds: set[str] = self._affixes.get(key_of(word), set())
            known = self._whole.get(key_of(word))
            if known is not None and known.kind == "split" and not split and not spent:
                split = known.name
            elif "aggregation" in kinds and not aggregation and not spent:
                aggregation = "mean" if word.strip(".") in ("avg", "average") else word
            elif "part" in kinds and "parts" in found.flags:
                part = part or word
            elif spent and "cost" in kinds:
                continue
            else:
                changed |= "changed" in kinds
                exact &= "neutral" in kinds
                rest.append(word)
        if rest and "alone" in found.flags and not changed:
            return None
        left = _as_written(rest, text)
        exact |= self.is_dataset(left)
        return replace(found, split=split, aggregation=aggregation, rest=left, changed=changed, is_exact=exact,
                       part=found.part or part)  # fmt: skip

    def _head(self, words: Sequence[str]) -> Meaning | None:
        """A metric named by all of the words: whole, or a name with a number or a part behind it."""
        key = key_of("".join(words))
        entry = self._whole.get(key)
        if entry is not None:
            return _meaning(entry) if entry.kind in ("metric", "cost", "count") else None
        for size in range(len(key) - 1, 0, -1):
            entry = self._heads.get(key[:size])
            tail = self._tail(key[size:], entry) if entry is not None else None
            if entry is not None and tail is not None:
                return _meaning(entry, *tail)
        lead = key_of(words[0])
        inner = self._head(words[1:]) if len(words) > 1 and "part" in self._affixes.get(lead, ()) else None
        return replace(inner, part=lead) if inner is not None and "parts" in inner.flags else None

    def _tail(self, tail: str, entry: Entry) -> tuple[str, str] | None:
        """Number and part behind a name: `@10`, `50`, `b50`, `@0.5:0.95`, `@k`; None when it is neither."""
        at, rest = "", tail
        parts: list[str] = []
        while rest:
            size = _number_length(rest)
            if rest[0] in "@^()[]=":
                size = 1
            elif size and not at:
                at = rest[:size].rstrip("k%") if entry.flags & {"parts"} else rest[:size]
            elif rest[0] == "k" and not at and len(rest) == 1 and "@" in tail:
                size, at = 1, "k"
            else:
                size = next((n for n in range(min(8, len(rest)), 0, -1) if self._is_part(rest[:n], entry)), 0)
                parts += [rest[:size]] if size else []
            if not size:
                return None
            rest = rest[size:]
        if "must-at" in entry.flags and (not at or not {"@", "^"} & set(tail)):
            return None
        return at, " ".join(part for part in parts if part not in ("iou", "at"))

    def _is_part(self, text: str, entry: Entry) -> bool:
        joins = text in ("iou", "at", "tpr")
        return joins or ("parts" in entry.flags and "part" in self._affixes.get(text, ()))


def _number_length(text: str) -> int:
    """Length of a number at the start: `50`, `0.5`, `.5`, `50:95`, `0.5:0.05:0.95`, `10k`, `95%`."""
    size = 0
    while size < len(text) and (text[size].isdecimal() or (text[size] in ".:" and size + 1 < len(text))):
        size += 1
    if size and text[size : size + 1] in ("k", "%"):
        size += 1
    return size if any(letter.isdecimal() for letter in text[:size]) else 0


def _meaning(entry: Entry, at: str = "", part: str = "") -> Meaning:
    name = entry.name
    if "parts" in entry.flags and at:
        at = {"0.5": "50", ".5": "50", ".50": "50", "0.50": "50", "0.75": "75", ".75": "75", "5095": ":"}.get(at, at)
        at = "" if ":" in at else at
        name += at
    elif at:
        name = f"{name.removesuffix('@k')}@{at}"
    return Meaning(
        "", cast("Kind", entry.kind), name, better=entry.better, lower=entry.lower, upper=entry.upper,
        flags=entry.flags, entry=entry.name, at=at, part=part,
    )  # fmt: skip


def _as_written(words: Sequence[str], text: str) -> str:
    """The words as the label writes them."""
    low = text.casefold()
    first = low.find(words[0]) if words else -1
    end = low.rfind(words[-1]) + len(words[-1]) if words else -1
    together = text[first:end].strip("()[] ") if 0 <= first < end else ""
    return together if words_of(together) == list(words) else " ".join(words)


def _arrow(raw: str) -> tuple[str, Way]:
    """The label without arrows and white space around, and the way they point."""
    up, down = any(arrow in raw for arrow in UP), any(arrow in raw for arrow in DOWN)
    if not (up or down):
        return " ".join(raw.split()), "unknown"
    text = raw.translate(_ARROWS)
    for form in ("(\x00)", "[\x00]", "\x00)", "(\x00", "\x00"):
        text = text.replace(form, ")" if form == "\x00)" else "(" if form == "(\x00" else " ")
    return " ".join(text.split()), "unknown" if up and down else "max" if up else "min"


def _power(text: str) -> tuple[str, int]:
    """`MSE (×10^-2)` and `FLOP×10^23` without their power of ten, and its exponent; 0 for none."""
    for sign in ("×", "x", "\u22c5", "·"):
        before, found, behind = text.rpartition(f"{sign}10") if f"{sign}10" in text else text.rpartition(f"{sign} 10")
        digits = behind.strip("^{}() ]$").replace("−", "-")
        if found and before and 0 < len(digits) < 4 and digits.lstrip("+-").isdecimal():
            return before.rstrip(" (["), int(digits)
    return text, 0


def _counted(text: str) -> tuple[str, int | None]:
    """`Retrieval (15)` without the number in brackets behind it, and that number."""
    before, found, inside = text.rpartition("(")
    if found and before.strip() and inside[-1:] == ")" and inside[:-1].isdecimal() and len(inside) < 8:
        return before.strip(), int(inside[:-1])
    return text, None


def _is_component(text: str) -> bool:
    """`+ mask loss`, `w/o KL loss`: something added or taken away, whatever it is called."""
    first, *others = text.casefold().split()
    if text[0] in "+-−–" and text[1:].strip()[:1].isalpha():
        return True
    return first.rstrip(".") in _WITHOUT and bool(others) and others[0] != "of"


_CURRENT: list[Lexicon] = []


def default() -> Lexicon:
    """The shipped lexicon, or the one that `use` has extended."""
    if not _CURRENT:
        _CURRENT.append(Lexicon.load())
    return _CURRENT[0]


def use(extra: Path | None) -> None:
    """Let the lines of a user's file go before the shipped ones from now on; None: the shipped ones alone.

    Call it before anything is read: meanings are kept.

    Raises:
        DataError: the file cannot be read, or a line of it is no entry.
    """
    _CURRENT[:] = [Lexicon.load(extra)]


def read(label: str) -> Meaning:
    """The meaning of a label by the lexicon in use."""
    return default().read(label)
