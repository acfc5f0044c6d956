"""What headers and captions say, by the vocabulary: metrics, splits, averages, data sets, methods, run counts."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from leaderboard.claims.importers.vocabulary import (
    AVERAGE,
    BUDGET,
    DATASETS,
    DELTA,
    DESCRIPTION,
    HEADS,
    IGNORED,
    METHODS,
    METRICS,
    NUMERALS,
    RUNS,
    SPLITS,
    UNITS,
    WITH_DECIMALS,
    MetricWord,
)
from leaderboard.claims.model import Direction, SpreadKind

_UNIT_TAIL = re.compile(r"[(\[]\s{0,3}([^()\[\]]{0,40}?)\s{0,3}[)\]]\s*$")
_ARROWS_UP = "↑⬆⇑▲"
_ARROWS_DOWN = "↓⬇⇓▼"


@dataclass(frozen=True, slots=True)
class Label:
    """A header taken apart: `CIFAR-10 Acc. (%) ↑` → text `CIFAR-10 Acc.`, unit `%`, direction max."""

    text: str
    unit: str = ""
    direction: Direction = "unknown"


@lru_cache(maxsize=4096)
def label_of(raw: str) -> Label:
    """Split arrows and a unit in brackets off a header."""
    direction: Direction = "unknown"
    if any(arrow in raw for arrow in _ARROWS_UP):
        direction = "max"
    if any(arrow in raw for arrow in _ARROWS_DOWN):
        direction = "unknown" if direction == "max" else "min"
    text = re.sub(f"[(\\[]?[{_ARROWS_UP}{_ARROWS_DOWN}][)\\]]?", " ", raw[:500])
    text = " ".join(text.split())
    unit = ""
    tail = _UNIT_TAIL.search(text)
    if tail and tail.group(1) in UNITS:
        unit, text = tail.group(1), text[: tail.start()].strip()
    if text.endswith("%") and not text.rstrip("% ")[-1:].isdecimal():
        unit, text = "%", text.rstrip("% ")
    return Label(text.rstrip(":").strip(), unit, direction)


@lru_cache(maxsize=4096)
def metric_of(text: str) -> MetricWord | None:
    """The metric that a whole label names, `Acc.` → accuracy; None when it names none."""
    words = _normal(text)
    if not words or len(words) > 60:
        return None
    for pattern, word in METRICS:
        if pattern.fullmatch(words):
            return word if word.name else replace(word, name=text.strip())
    return None


def _normal(text: str) -> str:
    words = re.sub(r"[_*†‡§¶$]", " ", text.lower()).replace(".", " ")
    return " ".join(words.split()).strip(" :-")


@dataclass(frozen=True, slots=True)
class Compound:
    """A label that joins a metric with something else: `Test loss`, `CIFAR-10 Acc.`, `Seq acc`."""

    metric: MetricWord
    name: str
    split: str | None = None
    task: str | None = None
    aggregation: str | None = None


@lru_cache(maxsize=4096)
def compound_of(text: str) -> Compound | None:
    """Take a label with a metric word at its end or start apart; None when no part of it is one."""
    whole = metric_of(text)
    if whole is not None:
        return Compound(whole, whole.name)
    words = text.replace("_", " ").split()
    if not 2 <= len(words) <= 7:
        return None
    for cut in range(1, len(words)):
        found = metric_of(" ".join(words[cut:]))
        rest = words[:cut]
        if found is None and cut >= len(words) - 2:
            found, rest = metric_of(" ".join(words[:cut])), words[cut:]
        if found is not None:
            return _qualify(found, rest, text)
    return None


def _qualify(metric: MetricWord, rest: list[str], text: str) -> Compound:
    """`rest` stands beside the metric word: splits and `best` are taken out, a data set is the task."""
    split = aggregation = None
    left: list[str] = []
    for word in rest:
        plain = word.lower().strip(".,()")
        if plain in SPLITS and split is None:
            split = SPLITS[plain]
        elif plain in {"best", "mean", "final", "last", "avg", "average", "max"} and aggregation is None:
            aggregation = "mean" if plain in {"avg", "average"} else plain
        else:
            left.append(word)
    remaining = " ".join(left).strip("-: ,")
    if not remaining:
        return Compound(metric, metric.name, split, None, aggregation)
    if is_dataset(remaining):
        return Compound(metric, metric.name, split, remaining.strip("()"), aggregation)
    return Compound(metric, " ".join(text.split()), split, None, aggregation)


def split_of(text: str) -> str | None:
    """The split that a whole label names."""
    return SPLITS.get(text.lower().strip(" .()").removesuffix(" set").removesuffix(" split"))


def is_average(text: str) -> bool:
    return AVERAGE.fullmatch(text.lower().strip(" ()")) is not None


def is_delta(text: str) -> bool:
    return len(text) < 60 and DELTA.fullmatch(text.lower().strip(" ()")) is not None


def is_description(text: str) -> bool:
    """A header of a column that describes the row (epochs, resolution, seed ...) instead of measuring it."""
    words = text.lower().strip(" .()").replace("_", " ")
    return len(text) < 60 and (DESCRIPTION.fullmatch(words) is not None or BUDGET.fullmatch(words) is not None)


def is_ignored(text: str) -> bool:
    """A header of a column that says nothing about the numbers: ranks, links, licences."""
    words = text.lower().strip(" .()").replace("_", " ")
    return len(text) < 60 and IGNORED.fullmatch(words) is not None


def describes_in_decimals(text: str) -> bool:
    """A header such as `Dropout` over values with decimals that still only describe the row."""
    return len(text) < 60 and WITH_DECIMALS.fullmatch(text.lower().strip(" .()").replace("_", " ")) is not None


def is_budget(text: str) -> bool:
    return len(text) < 60 and BUDGET.fullmatch(text.lower().strip(" .()")) is not None


def is_dataset(text: str) -> bool:
    return DATASETS.search(text.lower()[:200]) is not None


def is_method(text: str) -> bool:
    return METHODS.search(text.lower()[:200]) is not None


def is_own(text: str) -> bool:
    """`Ours`, `Baseline`: can only be a method."""
    return re.search(r"\b(ours?|proposed|baselines?)\b", text.lower()[:200]) is not None


def head_kind(text: str) -> str | None:
    """What the header over a label column says its labels are: method, model, task, metric, split."""
    words = text.lower().strip(" .:()")
    return next((kind for kind, pattern in HEADS if pattern.fullmatch(words)), None)


def runs_in(caption: str) -> int | None:
    """`mean over five seeds` → 5; None when the caption names no or several counts."""
    text = caption.lower()
    found = {match.group(1) for match in RUNS.finditer(text)}
    if not found and re.search(r"\bsingle[ -](run|seed)|\bone (run|seed)", text):
        return 1
    if len(found) != 1:
        return None
    word = found.pop()
    count = NUMERALS.get(word) or int(word)
    return count if count > 0 else None


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


def brackets_in(caption: str) -> Literal["spread", "delta"] | None:
    """What a caption says of bare numbers in brackets: `mean (std)`, `(std in parentheses)`, `gains in brackets`."""
    text = " ".join(caption.lower().split())
    if _SPREAD_SHAPE.search(text):
        return "spread"
    if not any(word in text for word in ("parenthes", "bracket", "subscript")):
        return None
    spread, change = spread_in(text) is not None, re.search(rf"\b{_CHANGES}", text) is not None
    return "spread" if spread and not change else "delta" if change and not spread else None


def is_relative_in(caption: str) -> bool:
    """Whether a caption says that printed differences are relative ones."""
    return _RELATIVE.search(" ".join(caption.lower().split())) is not None


def direction_in(caption: str) -> Direction:
    """`lower is better` for the whole table, when only one of the two is said."""
    text = caption.lower()
    up = re.search(r"(higher|larger|bigger) (values? )?(is|are) better", text) is not None
    down = re.search(r"(lower|smaller) (values? )?(is|are) better", text) is not None
    if up == down:
        return "unknown"
    return "max" if up else "min"


def metrics_in(caption: str) -> list[Compound]:
    """Metrics that a caption speaks of, in order: `test loss / accuracy` → loss, accuracy, both on test."""
    words = re.sub(r"[,;:()|/]", " ", caption[:2000]).split()
    found: list[Compound] = []
    at = 0
    last_end = -1
    while at < len(words):
        length, metric = _metric_at(words, at)
        if metric is not None:
            before = [
                word for word in words[max(0, at - 2) : at] if split_of(word) or word.lower() in {"best", "final"}
            ]
            item = _qualify(metric, before, metric.name)
            joined = found and not before and all(word in ("and", "&", "%", "or") for word in words[last_end:at])
            found.append(replace(item, split=found[-1].split, aggregation=found[-1].aggregation) if joined else item)
            last_end = at + length
        at += length
    first: dict[str, Compound] = {}
    for item in found:
        first.setdefault(item.name, item)
    return list(first.values())


def _metric_at(words: list[str], at: int) -> tuple[int, MetricWord | None]:
    """The longest metric name of up to four words that starts here, and its length in words."""
    for length in (4, 3, 2, 1):
        phrase = " ".join(words[at : at + length]).rstrip(".")
        metric = metric_of(phrase)
        if metric is not None and _names_itself(phrase, metric):
            return min(length, len(words) - at), metric
    return 1, None


def _names_itself(phrase: str, metric: MetricWord) -> bool:
    """Whether the phrase can only be the metric: short words such as `rec` or `map` must be in capitals."""
    named = metric.name != phrase.strip() or phrase in {
        "loss",
        "accuracy",
        "error",
        "perplexity",
        "precision",
        "recall",
        "top-1",
        "top-5",
    }
    return not metric.is_cost and named and (len(phrase) > 3 or phrase.isupper())


def dataset_in(caption: str) -> str | None:
    """The one known data set that a caption names, as it writes it; None when it names none or several."""
    found = [word.strip(".,;:()") for word in caption[:2000].split() if is_dataset(word)]
    return found[0] if len(set(found)) == 1 else None
