"""What one header says about the numbers beside or below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from leaderboard.claims.model import Direction
from leaderboard.lexicon import Meaning, read

PARTS = {"b": "box", "bb": "box", "bbox": "box", "mk": "mask", "seg": "mask", "segm": "mask"}
"""One word for each way to write which boxes or masks an AP is of."""
ON = frozenset(["✓", "✔", "✅", "√", "yes", "Yes", "•", "●"])
OFF = frozenset(["", "-", "--", "–", "—", "✗", "✘", "❌", "×", "x", "no", "No", "○"])
"""Marks of ablation tables: with and without."""
PERCENT = frozenset({"%", "in %", "pct", "percent"})


@dataclass(frozen=True)
class Facts:
    """Scope fields and properties that a header gives. `parts` are those of a cell with several numbers, in order."""

    fields: dict[str, str] = field(default_factory=dict)
    metric: Meaning | None = None
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


def of_metric(meaning: Meaning) -> Facts:
    """Facts of a metric, a cost or a count, with the split and the data set that its label names."""
    fields = {"metric": meaning.called.removesuffix("s") if _is_plural(meaning) else meaning.called}
    given = {
        "split": meaning.split,
        "aggregation": meaning.aggregation,
        "subset": PARTS.get(meaning.part, meaning.part),
    }
    fields |= {key: value for key, value in given.items() if value}
    if meaning.is_of_dataset:
        fields["task"] = meaning.rest
    rank = meaning.entry == "rank"
    return Facts(fields, meaning, meaning.better if rank else "unknown", meaning.unit.lower() in PERCENT)


def _is_plural(meaning: Meaning) -> bool:
    return meaning.kind == "metric" and meaning.called.endswith(("rates", "scores", "returns", "rewards"))


@lru_cache(maxsize=8192)
def facts_of(raw: str) -> Facts:
    """Facts of one header, for example `CIFAR-10 Acc. (%) ↑`; what is not understood is left as `residual`."""
    meaning = read(raw)
    base = Facts(direction=meaning.arrow, percent=meaning.unit.lower() in PERCENT)
    if not meaning.text:
        return base
    several = _pair(meaning.text) if {"/", "|"} & set(meaning.text) else None
    found = _bracketed(meaning) or several or _whole(meaning)
    if found is not None:
        return replace(found, direction=base.direction if base.direction != "unknown" else found.direction,
                       percent=found.percent or base.percent)  # fmt: skip
    named = meaning.text if meaning.count is None else f"{meaning.text} ({meaning.count})"
    return replace(base, fields={"task": named}) if meaning.is_dataset else replace(base, residual=named)


def _whole(meaning: Meaning) -> Facts | None:
    """Facts of a label that says one thing; None for a name and for what describes a row."""
    if meaning.kind == "value":
        return Facts()
    if meaning.role == "average" or (meaning.role == "spread" and read(meaning.of).role == "average"):
        return Facts(fields={"task": meaning.text}, is_average=True)
    if meaning.role == "delta":
        return Facts(fields={"metric": meaning.text}, role="delta")
    if meaning.kind == "split":
        return Facts(fields={"split": meaning.split})
    return of_metric(meaning) if meaning.is_metric else None


def _pair(text: str) -> Facts | None:
    """`loss | acc`, `val / test`, `Top-1/Top-5`: every part must be a metric or a split."""
    pieces = [piece.strip() for piece in text.replace("|", "/").split("/")]
    if not 2 <= len(pieces) <= 4 or not all(pieces):
        return None
    meanings = [read(piece) for piece in pieces]
    known = [_whole(meaning) for meaning in meanings]
    if all(known):
        return Facts(parts=tuple(
            replace(part, direction=meaning.arrow, percent=meaning.unit.lower() in PERCENT)
            for part, meaning in zip(known, meanings, strict=True) if part is not None
        ))  # fmt: skip
    lead, _, tail = text.partition(" ")
    rest = _pair(tail.strip("() ")) if tail and not {"/", "|"} & set(lead) else None
    return replace(_outer(lead), parts=rest.parts) if rest is not None else None


def _bracketed(meaning: Meaning) -> Facts | None:
    """`PPL (val / test)`, `WikiText-2 (PPL)`, `ImageNet (top-1)`, `Accuracy (test)`."""
    head, opened, inner = meaning.text.replace("[", "(").replace("]", ")").partition("(")
    if not opened or not head.strip() or not inner.endswith(")") or {"(", ")"} & set(inner[:-1]):
        return None
    inside = _whole(read(inner[:-1])) or _pair(read(inner[:-1]).text)
    if inside is None or inside.role is not None or inside.is_average:
        return None
    outer = _outer(head.strip())
    return replace(inside.over(outer), residual=outer.residual)


def _outer(head: str) -> Facts:
    known = _whole(read(head))
    if known is not None:
        return known
    return Facts(fields={"task": head}) if read(head).is_dataset else Facts(residual=head)


def relative_cost(facts: Facts) -> Facts:
    """`FLOPs ↓ (%)` may be what is left or what was saved, so that nothing says which way is better."""
    name = facts.fields.get("metric", "")
    if facts.direction == "max" or name.endswith(" ratio"):
        return facts
    return replace(facts, fields={**facts.fields, "metric": f"{name} ratio"}, direction="unknown")


def named(text: str, kind: str) -> Facts:
    """A label that is the name of a method, task or metric, whatever words are in it; its arrow and unit are kept."""
    meaning = read(text)
    percent = meaning.unit.lower() in PERCENT
    return Facts({kind: meaning.text if kind == "metric" else text}, direction=meaning.arrow, percent=percent)


def alike(texts: Sequence[str]) -> bool:
    """Whether labels are called alike, or are words for one metric of the same data."""
    plain = {" ".join(text.lower().replace("_", " ").replace(".", " ").split()) for text in texts}
    meanings = [read(text) for text in texts]
    said = {(found.name, found.split, found.rest, found.part) for found in meanings}
    return len(plain) == 1 or (len(said) == 1 and all(found.is_metric for found in meanings))
