"""What headers say, by the vocabulary: metrics, splits, averages, data sets, methods."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from leaderboard.claims.importers.metricwords import METRICS, PARTS, MetricWord
from leaderboard.claims.importers.vocabulary import (
    AVERAGE,
    BUDGET,
    DATASETS,
    DELTA,
    DESCRIPTION,
    HEADS,
    IGNORED,
    METHODS,
    QUANTITIES,
    QUANTITY_UNITS,
    SPLITS,
    UNITS,
    WITH_DECIMALS,
)
from leaderboard.claims.model import Direction

_UNIT_TAIL = re.compile(r"[(\[]\s{0,3}([^()\[\]]{0,40}?)\s{0,3}[)\]]\s*$")
_COMPONENT = re.compile(
    r"[+\-−–]\s{0,3}[^\W\d]|(w/o?|w\.?o\.?|with|without|only|add(ing)?|removing|remove|replacing|replace|plus|minus|no)\s"
    r"(?!of\b)"
)
_PLURAL = re.compile(r"(?<=rate|core|turn|ward)s$")
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
    if tail and (tail.group(1) in UNITS or (len(tail.group(1)) > 1 and tail.group(1).lower() in QUANTITY_UNITS)):
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
        match = pattern.fullmatch(words)
        if match is not None:
            part = next((found for found in match.groupdict().values() if found), "")
            return replace(word, name=word.name or _PLURAL.sub("", text.strip()), part=PARTS.get(part, part))
    return None


def _normal(text: str) -> str:
    words = re.sub(r"\.(?!\d)", " ", re.sub(r"[_*†‡§¶$]", " ", text.lower()))
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
            return qualify(found, rest, text)
    return None


def qualify(metric: MetricWord, rest: list[str], text: str) -> Compound:
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


def is_component(text: str) -> bool:
    """`+ mask loss`, `w/o KL loss`: something added or taken away, whatever it is called."""
    return _COMPONENT.match(text.lower()) is not None


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


@lru_cache(maxsize=4096)
def quantity_of(raw: str) -> MetricWord | None:
    """A cost that a heading names by its word or its unit, `Overhead (%)`, `Train (h)`; None where it names none."""
    label = label_of(raw)
    words = _normal(label.text)
    if not words or len(words) > 60 or metric_of(label.text) is not None:
        return None
    if QUANTITIES.fullmatch(words) is None and label.unit.lower() not in QUANTITY_UNITS:
        return None
    unit = f" ({label.unit})" if label.unit not in ("", "%") else ""
    return MetricWord(label.text + unit, is_cost=True, is_plain=True)


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
