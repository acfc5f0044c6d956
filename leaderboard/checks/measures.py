"""What a number measures, by the lexicon: which way is better, between which bounds it lies, its part in a relation."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from leaderboard.claims.model import Claim, Direction
from leaderboard.lexicon import Meaning, read

SAME = {"supportingem": "supem", "supportingf1": "supf1", "errorrate": "error", "ap": "map", "fscore": "f1"}
"""Names of the lexicon → the roles that stand for them in relations."""
LETTERS = frozenset("KNTMLDHRknmldhr")
"""Names of hyper-parameters where the numbers are whole."""


def family(metric: str | None) -> Meaning | None:
    """The metric or cost that a label names; None where it names none."""
    found = read(metric) if metric else None
    return found if found is not None and found.is_metric else None


def measure(claim: Claim) -> str | None:
    """The metric; where none is stated, the heading that may be one."""
    if claim.scope.metric is not None:
        return claim.scope.metric
    heading = claim.scope.task or claim.where.column
    return heading if len(heading.strip()) > 2 else None


def is_rank(claim: Claim) -> bool:
    """Whether the number is a rank among the rows, whatever the caption measures."""
    return any(
        name and read(name).name == "rank" for name in (claim.scope.metric, claim.scope.task, claim.where.column)
    )


def describes(claim: Claim) -> bool:
    """Whether the number is a hyper-parameter's value: its row, column or method is called like one."""
    names = {claim.scope.method, claim.scope.task, claim.where.row, claim.where.column} - {None, ""}
    known = (read(name) for name in names if name)
    return any(m.kind in ("setting", "budget") and (m.name != "letter" or claim.printed.isdigit()) for m in known) or (
        claim.printed.isdigit() and bool(names & LETTERS)
    )


def direction_of(claim: Claim) -> tuple[Direction, bool]:
    """Which way is better, and whether the source says so (False: guessed from the metric's name)."""
    if claim.direction != "unknown":
        return claim.direction, True
    if is_rank(claim):
        return "min", False
    known, heading = family(measure(claim)), family(claim.scope.task)
    way: Direction = known.direction if known is not None else "unknown"
    turned = heading is not None and heading.direction != way and len(claim.scope.task or "") > 2
    return ("unknown" if turned else way), False


def bounds(claim: Claim) -> tuple[int | None, int | None]:
    """Least and greatest possible value in the claim's unit, from its unit and its metric."""
    labels = claim.scope.metric, claim.scope.task, claim.where.column
    return _bounds(measure(claim), claim.unit, claim.scope.metric is not None, *labels)


@lru_cache(maxsize=4096)
def _bounds(name: str | None, unit: str, stated: bool, *labels: str | None) -> tuple[int | None, int | None]:
    known = family(name)
    if known is None:
        return (0, None) if unit == "perplexity" else (None, None)
    apart = not known.is_exact and known.rest.replace("%", "").strip() != ""
    rank = any(label and read(label).name == "rank" for label in labels)
    if known.changed or apart or rank or re.search(r"\b(db|log)\b", (labels[-1] or "").casefold()):
        return None, None
    share = known.is_share or "maybe" in known.flags
    if share and unit not in {"percent", "fraction"}:
        return (-100 if known.lower != 0 else 0, 100) if known.is_share and stated else (None, None)
    factor = 100 if unit == "percent" and share else 1
    low, high = (None if bound is None else int(bound * factor) for bound in (known.lower, known.upper))
    return low, high


def role_of(claim: Claim) -> str:
    """The role stated, or the metric's name; empty when neither says anything."""
    if claim.role:
        return tidy(claim.role)
    known = family(claim.scope.metric)
    if known is None or known.changed:
        return ""
    name = tidy(known.name)
    name = SAME.get(name, name)
    return f"{known.split}{name}" if name == "accuracy" and known.split in ("test", "train") else name


def tidy(role: str) -> str:
    """`Top-1 error` → `top1error`: roles are compared without blanks, dashes and case."""
    return re.sub(r"[\s_\-]+", "", role).casefold()


def group_of(claim: Claim) -> str:
    """The group stated, or one made of everything in the scope but the metric, whose other words belong to it."""
    if claim.group:
        return claim.group
    scope = claim.scope
    if scope.method is None:
        return ""
    rest = read(scope.metric).rest.strip("% ").casefold() if scope.metric else ""
    rest = "" if rest[:3] in ("at_", "at ") else rest  # `recall_at_5`
    parts = (claim.where.table, scope.task, scope.method, scope.split, scope.model, scope.budget, scope.subset, rest)
    return "/".join(part or "" for part in parts)


def power(claim: Claim) -> Fraction:
    """What the heading multiplies the print by: 1/100 for `MSE (×10^-2)`."""
    return Fraction(10) ** read(claim.where.column.rpartition(" / ")[2]).power
