"""What a caption says: the metric, its direction, the number of runs, the kind of spread, the data set."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Literal

from leaderboard.claims.model import Direction, SpreadKind
from leaderboard.lexicon import default, read

NUMERALS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "twenty": 20,
}  # fmt: skip
RUNS = re.compile(
    rf"(?:over|of|across|from|with|using|n ?=|[(,;:])\s{{0,2}}(?:the |all )?(\d{{1,3}}|{'|'.join(NUMERALS)})\s{{0,2}}"
    r"(?:\w{1,14} ){0,2}?(?:seeds?|runs?|trials?|repetitions?|repeats?|initiali[sz]ations|replicates?)\b"
)


def runs_in(caption: str) -> int | None:
    """`mean over five seeds` → 5; None when the caption names no or several counts."""
    text = " ".join(caption.lower().split())
    found = {match.group(1) for match in RUNS.finditer(text)} or {
        match.group(1) or match.group(2) for match in _BARE_N.finditer(text) if _SPREADS.search(text)
    }
    if not found and re.search(r"\bsingle[ -](run|seed)|\bone (run|seed)", text):
        return 1
    if len(found) != 1:
        return None
    word = found.pop()
    count = NUMERALS.get(word) or int(word)
    return count if count > 0 else None


_COUNT = rf"(\d{{1,3}}|{'|'.join(NUMERALS)})"
_BARE_N = re.compile(
    rf"[(,;] ?n ?= ?{_COUNT}\b(?! ?[a-z])"
    rf"|(?:averaged|statistics|average|mean) over {_COUNT} (?:\w+ )?(?:samples|images|instances|examples)\b"
)
_SPREADS = re.compile(r"±|std|standard|deviation|averaged|statistics|\bs\.?[de]\.?\b")


def split_in(caption: str) -> str | None:
    """The one part of the data that a caption names, `on the SST-2 test set` → test."""
    words = [word.strip(".,;:()").lower() for word in caption[:2000].split()]
    found = {read(word).split for word, after in pairwise(words) if after in ("set", "split")} - {"", "train"}
    return found.pop() if len(found) == 1 else None


def aggregation_in(caption: str) -> str | None:
    """`best of three seeds` → best, `mean over 5 runs` → mean."""
    found = set(_AGGREGATED.findall(" ".join(caption.lower().split())))
    return found.pop() if len(found) == 1 else None


_AGGREGATED = re.compile(
    r"\b(mean|best|median|worst)(?: test)?(?: \w+)? (?:of|over|across) \w+ (?:seeds|runs|trials)\b"
)
_PROPOSED = re.compile(r"\b(?:our|proposed|ours|new)\b[^.;]{0,60}\bbold|\bbold[^.;]{0,40}\b(?:our|proposed|ours)\b")


def bolds_the_own(text: str) -> bool:
    """Whether a text says that bold marks the authors' own rows, and not the best numbers."""
    said = " ".join(text.lower().split())
    return "bold" in said and _PROPOSED.search(said) is not None and not re.search(r"\bbest\b[^.]{0,40}\bbold", said)


def spread_in(caption: str) -> SpreadKind | None:
    """What the number after ± is, when the caption says so."""
    text = caption.lower()
    kinds: list[tuple[SpreadKind, str]] = [
        ("ci95", r"95 ?\\?% ?(confidence|ci\b)|confidence interval"),
        ("se", r"standard errors?|\bstderr\b|\bs\.?e\.?m?\.?\b|std\.? err"),
        ("sd", r"standard deviations?|\bstd(ev)?s?\b|\bst\.? ?dev|\bs\.?d\.?\b(?!p)"),
        ("minmax", r"min[ /-]{1,3}max|range of"),
    ]
    found = [kind for kind, pattern in kinds if re.search(pattern, text)]
    return found[0] if len(found) == 1 else None


_SPREAD_SHAPE = re.compile(
    r"\b(?:mean|average|avg\.?)s? ?[(\[] ?(?:± ?)?"
    r"(?:std\b|sd\b|s\.d\.|st\.? ?dev|standard dev|se\b|sem\b|s\.e\.|stderr|standard err)"
)
_CHANGES = r"(?:improvements?|gains?|differences?|increases?|decreases?|reductions?|changes?|drops?|deltas?|δ)"
_RELATIVE = re.compile(rf"\brel(?:\.|ative) (?:\w+ )?{_CHANGES}")


def brackets_in(caption: str) -> Literal["spread", "delta", "ignore"] | None:
    """What a caption says of bare numbers in brackets: `mean (std)`, `(std in parentheses)`, `gains in brackets`."""
    text = " ".join(caption.lower().split())
    if _SPREAD_SHAPE.search(text):
        return "spread"
    if not any(word in text for word in ("parenthes", "bracket", "subscript")):
        return None
    if re.search(r"\branks?\b|\branking\b", text):
        return "ignore"
    spread, change = spread_in(text) is not None, re.search(rf"\b{_CHANGES}", text) is not None
    return "spread" if spread and not change else "delta" if change and not spread else None


_CHANGE_OF = rf"rel(?:\.|ative) (?:\w+ ){{0,3}}{_CHANGES}"


def defines_as_relative(caption: str, name: str) -> bool:
    """Whether a caption says that a heading is a relative change: `WERR is the relative WER reduction (%) over A`."""
    text = " ".join(caption.lower().split())
    if "rel" not in text or name.lower() not in text:
        return False
    name = re.escape(name.lower())
    said = rf"(?<!\w){name}\)? ?(?:is|are|denotes?|means|stands for|indicates|gives|shows|reports|[:=])"
    behind = rf"{said} (?:the )?(?:average |mean )?{_CHANGE_OF}"
    return re.search(rf"{behind}|{_CHANGE_OF} ?\( ?{name} ?\)", text) is not None


def is_relative_in(caption: str) -> bool:
    """Whether a caption says that printed differences are relative ones."""
    return _RELATIVE.search(" ".join(caption.lower().split())) is not None


def says_percent(caption: str) -> bool:
    """Whether a caption gives percent as the unit, `Accuracy (%)`, and not only as part of `20 % noise`."""
    return re.search(r"(?<![\d\s])\s{0,3}%|^%", re.sub(r"[\d.]\s{0,3}%", "", caption)) is not None


def direction_in(caption: str) -> Direction:
    """`lower is better` for the whole table, when only one of the two is said."""
    text = caption.lower()
    up = re.search(r"(higher|larger|bigger) (values? )?(is|are) better", text) is not None
    down = re.search(r"(lower|smaller) (values? )?(is|are) better", text) is not None
    if up == down:
        return "unknown"
    return "max" if up else "min"


def dataset_in(caption: str) -> str | None:
    """The one known data set that a caption names, as it writes it; None when it names none or several."""
    found = [word.strip(".,;:()") for word in caption[:2000].split() if default().is_dataset(word)]
    return found[0] if len(set(found)) == 1 else None
