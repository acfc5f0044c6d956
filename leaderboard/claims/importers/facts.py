"""What one header says about the numbers beside or below it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import lru_cache

from leaderboard.claims.importers import words
from leaderboard.claims.importers.metricwords import MetricWord
from leaderboard.claims.importers.vocabulary import VALUES
from leaderboard.claims.model import Direction


@dataclass(frozen=True)
class Facts:
    """Scope fields and properties that a header gives. `parts` are those of a cell with several numbers, in order."""

    fields: dict[str, str] = field(default_factory=dict)
    metric: MetricWord | None = None
    direction: Direction = "unknown"
    percent: bool = False
    role: str | None = None
    is_average: bool = False
    residual: str = ""
    """The label when no rule says what it is; it is the method or the task, depending on the axis."""
    parts: tuple[Facts, ...] = ()

    def over(self, other: Facts) -> Facts:
        """These facts, completed by `other` where they say nothing."""
        merged = {**other.fields, **self.fields}
        for key in ("task", "subset"):
            mine, theirs = self.fields.get(key), other.fields.get(key)
            if mine and theirs and mine != theirs:
                merged[key] = f"{theirs} / {mine}"
        return Facts(
            merged,
            self.metric or other.metric,
            self.direction if self.direction != "unknown" else other.direction,
            self.percent or other.percent,
            self.role or other.role,
            self.is_average or other.is_average,
            "",
            self.parts or other.parts,
        )


@lru_cache(maxsize=8192)
def facts_of(raw: str) -> Facts:
    """Facts of one header, for example `CIFAR-10 Acc. (%) ↑`; what is not understood is left as `residual`."""
    label = words.label_of(raw)
    base = Facts(direction=label.direction, percent=_says_percent(label.unit))
    if not label.text:
        return base
    found = _whole(label.text) or _bracketed(label.text) or _pair(label.text)
    if found is not None:
        return replace(found, direction=label.direction if label.direction != "unknown" else found.direction,
                       percent=found.percent or base.percent)  # fmt: skip
    if words.is_dataset(label.text):
        return replace(base, fields={"task": label.text})
    return replace(base, residual=label.text)


def _says_percent(unit: str) -> bool:
    return unit.lower() in {"%", "in %", "pct", "percent"}


def _whole(text: str) -> Facts | None:
    if text.lower() in VALUES:
        return Facts()
    if words.is_component(text):
        return None
    if words.is_average(text):
        return Facts(fields={"task": text}, is_average=True)
    if words.is_delta(text):
        return Facts(fields={"metric": text}, role="delta")
    split = words.split_of(text)
    if split is not None:
        return Facts(fields={"split": split})
    compound = words.compound_of(text)
    described = words.is_description(text) or words.is_ignored(text)
    if compound is None or (described and words.metric_of(text) is None):
        return None
    fields = {"metric": compound.name}
    for key in ("split", "task", "aggregation"):
        value = getattr(compound, key)
        if value:
            fields[key] = value
    if compound.metric.part:
        fields["subset"] = compound.metric.part
    return Facts(fields=fields, metric=compound.metric, direction=compound.metric.direction)


def _pair(text: str) -> Facts | None:
    """`loss | acc`, `val / test`, `Top-1/Top-5`: every part must be a metric or a split."""
    pieces = [piece.strip() for piece in re.split(r"[/|]", text)]
    if not 2 <= len(pieces) <= 4 or not all(pieces):
        return None
    known = [_whole(words.label_of(piece).text) for piece in pieces]
    if all(known):
        directions = [words.label_of(piece) for piece in pieces]
        return Facts(parts=tuple(
            replace(part, direction=label.direction, percent=_says_percent(label.unit))
            for part, label in zip(known, directions, strict=True) if part is not None
        ))  # fmt: skip
    lead, _, tail = text.partition(" ")
    rest = _pair(tail.strip("() ")) if tail and ("/" not in lead and "|" not in lead) else None
    return replace(_outer(lead), parts=rest.parts) if rest is not None else None


_BRACKETS = re.compile(r"(?P<head>[^()\[\]]{1,80}?)\s?[(\[](?P<inner>[^()\[\]]{1,60})[)\]]")


def _bracketed(text: str) -> Facts | None:
    """`PPL (val / test)`, `WikiText-2 (PPL)`, `ImageNet (top-1)`, `Accuracy (test)`."""
    match = _BRACKETS.fullmatch(text)
    if match is None:
        return None
    inner = words.label_of(match["inner"]).text
    inside = _whole(inner) or _pair(inner)
    if inside is None or inside.role is not None or inside.is_average:
        return None
    head = _outer(match["head"].strip())
    merged = inside.over(head)
    return replace(merged, residual=head.residual)


def _outer(head: str) -> Facts:
    known = _whole(head)
    if known is not None:
        return known
    if words.is_dataset(head):
        return Facts(fields={"task": head})
    return Facts(residual=head)


def relative_cost(facts: Facts) -> Facts:
    """`FLOPs ↓ (%)` may be what is left or what was saved, so that nothing says which way is better."""
    name = facts.fields.get("metric", "")
    if facts.direction == "max" or name.endswith(" ratio"):
        return facts
    return replace(facts, fields={**facts.fields, "metric": f"{name} ratio"}, direction="unknown")
