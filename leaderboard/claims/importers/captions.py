"""What a caption says of its table: runs, spreads, directions, differences, and the conditions of its numbers.

The phrases are data: `leaderboard/lexicon/phrases.tsv`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal, cast

from leaderboard.claims.model import Direction, Rule, SpreadKind
from leaderboard.lexicon import default, read
from leaderboard.lexicon.phrases import found, phrases, plain, says

_NUMERALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def _only(said: Iterable[str]) -> str | None:
    """The one thing that is said; None where nothing or several things are."""
    distinct = set(said)
    return distinct.pop() if len(distinct) == 1 else None


def runs_in(caption: str) -> int | None:
    """`mean over five seeds` → 5; None when the caption names no or several counts."""
    text = plain(caption)
    counts = {match[1] for _, match in found("runs", text, "over")}
    if not counts and says("spreads", text):
        counts = {match[1] for _, match in found("runs", text, "n")}
    if not counts and says("runs", text, "one"):
        return 1
    word = _only(counts) or "0"
    return (int(word) if word.isdecimal() else _NUMERALS.index(word) if word in _NUMERALS else 20) or None


def split_in(caption: str) -> str | None:
    """The one part of the data that a caption names, `on the SST-2 test set` → test."""
    words = [word.strip(".,;:()").lower() for word in caption[:2000].split()]
    return _only({read(word).split for word, after in pairwise(words) if after in ("set", "split")} - {"", "train"})


def aggregation_in(caption: str) -> str | None:
    """`best of three seeds` → best, `mean over 5 runs` → mean."""
    return _only(match[1] for _, match in found("aggregation", plain(caption)))


def bolds_the_own(text: str) -> bool:
    """Whether a whole source says that bold marks the authors' own rows, and not the best numbers."""
    said = " ".join(text.lower().split())
    own, best = (any(pattern.search(said) for _, pattern in phrases("bold", name)) for name in ("own", "best"))
    return own and not best


def spread_in(caption: str) -> SpreadKind | None:
    """What the number after ± is, when the caption says so."""
    return cast("SpreadKind | None", _only(name for name, _ in found("spread", plain(caption))))


def brackets_in(caption: str) -> Literal["spread", "delta", "ignore"] | None:
    """What a caption says of bare numbers in brackets: `mean (std)`, `(std in parentheses)`, `gains in brackets`."""
    if says("brackets", caption):
        return "spread"
    if not any(word in caption.lower() for word in ("parenthes", "bracket", "subscript")):
        return None
    if says("bracketed", caption, "ignore"):
        return "ignore"
    spread, change = spread_in(caption) is not None, says("bracketed", caption, "delta")
    return None if spread == change else "spread" if spread else "delta"


def defines_as_relative(caption: str, name: str) -> bool:
    """Whether a caption says that a heading is a relative change: `WERR is the relative WER reduction (%) over A`."""
    text, called = plain(caption), re.escape(name.lower())
    if "rel" not in text or name.lower() not in text:
        return False
    said = rf"(?<!\w){called}\)? ?(?:is|are|denotes?|means|stands for|indicates|gives|shows|reports|[:=]) (?:the )?"
    ends = [text[: match.start()] for match in re.finditer(rf" ?\( ?{called} ?\)", text)]
    starts = [text[match.end() :] for match in re.finditer(rf"{said}(?:average |mean )?", text)]
    pattern = phrases("relative", "change")[0][1]
    return any(map(pattern.match, starts)) or any(re.search(f"(?:{pattern.pattern})$", end) for end in ends)


def is_relative_in(caption: str) -> bool:
    """Whether a caption says that printed differences are relative ones."""
    return says("relative", caption, "caption")


def says_percent(caption: str) -> bool:
    """Whether a caption gives percent as the unit, `Accuracy (%)`, and not only as part of `20 % noise`."""
    return re.search(r"(?<![\d\s])\s{0,3}%|^%", re.sub(r"[\d.]\s{0,3}%", "", caption)) is not None


def direction_in(caption: str) -> Direction:
    """`lower is better` for the whole table, when only one of the two is said."""
    return cast(Direction, _only(name for name, _ in found("direction", plain(caption))) or "unknown")


def dataset_in(caption: str) -> str | None:
    """The one known data set that a caption names, as it writes it; None when it names none or several."""
    return _only(word for raw in caption[:2000].split() if default().is_dataset(word := raw.strip(".,;:()")))


def rule_in(text: str) -> Rule | None:
    """The rule by which a text says that baselines are chosen: `gain over the best competitor` → best."""
    return cast("Rule | None", next((name for name, _ in found("rule", plain(text))), None))


def is_baseline(name: str) -> bool:
    """Whether a heading can only be that of what differences are taken to."""
    return any(pattern.fullmatch(name.strip().lower()) for _, pattern in phrases("base", "heading"))


def baseline_named(caption: str, names: Iterable[str]) -> str | None:
    """The one of the names that a text says differences are taken to; it calls the row `+ SFT` SFT."""
    text = plain(caption)
    bare = {name.lower(): plain(name).lstrip("+ ") for name in names}
    named = [
        name for name, said in bare.items() if said and said in text
        and re.search(rf"{phrases('base', 'named')[0][1].pattern}\+? ?{re.escape(said)}(?!\w)", text)
    ]  # fmt: skip
    lower = _only(named)
    return next((name for name in names if name.lower() == lower), None)


def budget_in(caption: str) -> str | None:
    """`after 300 epochs` → `300 epochs`, `160k iterations` → `160000 iterations`; None for none or several."""
    return _only(_budget(match) for _, match in found("budget", plain(caption)))


def _budget(match: re.Match[str]) -> str:
    if match[3]:
        return f"{match[3].removesuffix('.0')}× schedule"
    digits = match[1].replace(",", "").replace("-", "").strip()
    number = float(digits.rstrip("kmb ")) * {"k": 1e3, "m": 1e6, "b": 1e9}.get(digits[-1], 1)
    unit = match[2].removesuffix("s")
    unit = "iteration" if unit in ("iter", "iteration") else unit
    return f"{int(number) if number == int(number) else format(number, 'g')} {unit}s"


def model_in(caption: str, labels: Sequence[str]) -> str | None:
    """The one backbone that a caption names, `ResNet-50`; None when it names several or the table's labels name any."""
    names = {re.sub(r"[\s_-]", "", match[1]): match[1] for _, match in found("model", plain(caption))}
    if len(names) != 1 or any(says("model", label) for label in labels):
        return None
    key, name = names.popitem()
    position = caption.lower().find(name)
    return caption[position : position + len(name)].rstrip(".") if position >= 0 else key


def setting_in(caption: str) -> str | None:
    """Every other condition, in alphabetical order: `20 % symmetric label noise; 5-shot`; None for none."""
    told = [match[0] for _, match in found("setting", plain(caption))]
    counts = phrases("nosetting")[0][1]
    said = {" ".join(one.replace("-", " ").split()).strip(" ,") for one in told if not counts.match(one)}
    return "; ".join(sorted(one for one in said if not any(one != other and one in other for other in said))) or None


def items_in(caption: str) -> int | None:
    """`the test set (N = 250 images)` → 250; None when the caption names no or several numbers of test items."""
    text = plain(caption)
    counts = {
        match[1].replace(",", "") for _, match in found("items", text)
        if not phrases("noitems")[0][1].search(text[: match.start()])
    }  # fmt: skip
    return int(_only(counts) or 0) or None
