"""Sentences around the tables, held against the printed numbers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from leaderboard.checks.evidence import OTHER_FIELDS, Evidence, Number, fold
from leaderboard.checks.explain import difference
from leaderboard.checks.finding import Cell, Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.metrics import direction_of
from leaderboard.checks.numbers import Interval, Reported, parse, show
from leaderboard.checks.registry import check
from leaderboard.claims.importers import words
from leaderboard.claims.model import TextClaim

SHOWN = 4
NO_RIVAL = re.compile(
    r"\b(ours?|our|proposed|oracle|upper[ -]?bound|skyline|topline|human|expert|teacher|supervised|ground[ -]?truth|"
    r"ensemble|w/o?|without|with|full data|joint|multi-?task|best of|chance|random)\b|^[+\-–]|\+"
)
"""Rows that “all baselines” may not mean: variants of the own one, bounds, ablations."""


@dataclass(frozen=True)
class Pair:
    """The two numbers of one column that a sentence compares."""

    mine: Number
    other: Number

    @property
    def direction(self) -> str:
        """`max`, `min` or `unknown`."""
        return direction_of(self.mine.claim)[0]

    @property
    def gain(self) -> Fraction:
        """How much better the first is; where the direction is unknown, how much higher."""
        gap = self.mine.reported.value - self.other.reported.value
        return -gap if self.direction == "min" else gap

    @property
    def name(self) -> str:
        """Task and metric."""
        scope = self.mine.scope
        parts = [part for part in (scope.task, scope.metric) if part]
        return " ".join(dict.fromkeys(parts)) or self.mine.claim.where.column

    def __str__(self) -> str:
        a, b = self.mine.reported, self.other.reported
        text = difference(a, b) if self.direction != "min" else difference(b, a)
        return f"{self.name}: {text}"


@check("PROSE", 39, "a sentence that its table contradicts", Severity.WARNING)
def prose(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """What a sentence says of two rows must hold in the columns that it names.

    Formula: “better on all” is contradicted by one printed number that is worse, an equal one is left alone; “better”
    by being worse in every column; “by d” where no column has |(a − b) − d| ≤ u_a + u_b + u_d, the mean over the columns
    does not either, and for a per cent neither do 100 (a − b) / b nor the share of the error that is gone. Where no
    metric is named, one for which the sentence holds is enough.
    Source: wording of the source; docs/importing.md says which sentences are read.
    Power: any column printed the other way round is found in a sentence that is read; of differences what DELTA finds.
    Blind spot: sentences with a word outside of the vocabulary; they are listed by `bench claims import`.
    """
    for text in evidence.set.text_claims:
        if not text.read:
            continue
        pairs = pairs_of(evidence, text)
        if not pairs:
            tally.skip("no two numbers for the sentence")
            continue
        wrong = _amounts(text, pairs) if text.by else _signs(text, pairs)
        if wrong is None:
            tally.ok()
        else:
            yield wrong


# --- which numbers a sentence compares --------------------------------------------------------------------------------


def pairs_of(evidence: Evidence, text: TextClaim) -> list[Pair]:
    """The sentence's row against its baseline, or against every rival, in each column that it can speak of."""
    columns: dict[tuple[str, ...], list[Number]] = defaultdict(list)
    for number in evidence.numbers:
        scope, where = number.scope, number.claim.where
        if scope.method is None or not _is_meant(number, text):
            continue
        unnamed = where.column if scope.task is None or scope.metric is None else ""
        columns[(where.table, unnamed, fold(scope.task), fold(scope.metric), fold(scope.split))].append(number)
    return [pair for column in columns.values() for pair in _paired(column, text)]


def _is_meant(number: Number, text: TextClaim) -> bool:
    claim, scope = number.claim, number.scope
    if text.tables and claim.where.table not in text.tables:
        return False
    if text.tasks and not {fold(task) for task in text.tasks} & set(_tasks(scope.task)):
        return False
    if text.split and scope.split and fold(scope.split) != fold(text.split):
        return False
    if text.metric:
        return fold(scope.metric) == fold(text.metric)
    known = words.metric_of(scope.metric) if scope.metric else None
    costs = known is not None and known.is_cost and not text.tasks
    return not costs and claim.role != "delta" and fold(scope.split) not in {"train", "training"}


def _tasks(task: str | None) -> list[str]:
    whole = fold(task)
    return [whole, *(part.strip() for part in whole.split(" / "))]


def _paired(column: Sequence[Number], text: TextClaim) -> Iterator[Pair]:
    mine = [n for n in column if fold(n.scope.method) == fold(text.method)]
    others = [n for n in column if fold(n.scope.method) != fold(text.method)]
    if text.baseline is not None:
        others = [n for n in others if fold(n.scope.method) == fold(text.baseline)]
        only = len(mine) == 1 and len(others) == 1
        yield from (Pair(a, b) for a in mine for b in others if only or text.by or _alike(a, b))
        return
    rivals = others if text.by else [n for n in others if _is_rival(n, text.method)]
    yield from (Pair(a, b) for a in mine for b in rivals if text.by or _compete(a, b))


def _alike(a: Number, b: Number) -> bool:
    return all(fold(getattr(a.scope, name)) == fold(getattr(b.scope, name)) for name in OTHER_FIELDS)


def _is_rival(number: Number, method: str) -> bool:
    name = fold(number.scope.method)
    return NO_RIVAL.search(name) is None and fold(method) not in name


def _compete(mine: Number, other: Number) -> bool:
    """Whether the table itself lets two rows compete: same conditions, and bold does not crown the lesser number."""
    if mine.claim.bold:
        return False
    return bool(other.claim.bold) or (other.claim.bold is None and _alike(mine, other))


# --- better or worse --------------------------------------------------------------------------------------------------


def _signs(text: TextClaim, pairs: Sequence[Pair]) -> Finding | None:
    """None where no printed number stands against the sentence."""
    known = [pair for pair in pairs if pair.direction != "unknown"]
    worse = [pair for pair in known if pair.gain < 0]
    if text.kind == "improves" or not _all_metrics(text):
        if any(not any(p.gain < 0 for p in group) for group in _by_metric(pairs, text)):
            return None
    if not worse or (text.kind == "improves" and len(worse) < len(pairs) and text.baseline is not None):
        return None
    if text.kind == "improves" and not _beaten_everywhere(worse, pairs):
        return None
    ahead = sum(pair.gain > 0 for pair in known)
    places = ", ".join(dict.fromkeys(pair.name for pair in worse))
    against = text.baseline or ", ".join(dict.fromkeys(pair.other.scope.method or "" for pair in worse[:SHOWN]))
    return _finding(
        text,
        f"not on {places}, where {against} is better than {text.method}",
        worse,
        f"better in {ahead} of {len(known)} comparisons; " + "; ".join(str(pair) for pair in worse[:SHOWN]),
    )


def _all_metrics(text: TextClaim) -> bool:
    return text.every_metric or text.metric is not None


def _by_metric(pairs: Sequence[Pair], text: TextClaim) -> list[list[Pair]]:
    """Pairs that one reading of the sentence is about: those of one metric, or of one column where it says no more."""
    groups: dict[tuple[str, ...], list[Pair]] = defaultdict(list)
    for pair in pairs:
        scope = pair.mine.scope
        metric = fold(scope.metric) if pair.direction != "unknown" else f"?{pair.mine.claim.where.column}"
        columns = (fold(scope.task), pair.mine.claim.where.column) if text.kind == "improves" else ()
        groups[(metric, *columns)].append(pair)
    return list(groups.values())


def _beaten_everywhere(worse: Sequence[Pair], pairs: Sequence[Pair]) -> bool:
    """Whether some rival is better in each column."""
    return {pair.name for pair in worse} == {pair.name for pair in pairs}


# --- by how much ------------------------------------------------------------------------------------------------------


def _amounts(text: TextClaim, pairs: Sequence[Pair]) -> Finding | None:
    stated = parse(text.by)
    if stated is None or any(_fits(text, pair, stated) for pair in pairs) or _mean_fits(text, pairs, stated):
        return None
    near = sorted(pairs, key=lambda pair: abs(pair.gain - stated.value))
    unit = {"percent": " %", "relative": " % (relative)", "points": " points"}.get(text.by_unit, "")
    against = text.baseline or "any other row"
    told = [str(pair) + _relative(text, pair) for pair in near[:SHOWN]]
    more = f"; {len(near) - SHOWN} more columns" if len(near) > SHOWN else ""
    return _finding(
        text,
        f"{text.method} against {against} does not differ by {text.by}{unit}"
        + (f" on {', '.join(text.tasks)}" if text.tasks else " in any column"),
        near[:2],
        "; ".join(told) + more,
        (show(near[0].gain),) if text.by_unit != "relative" and near[0].gain > 0 else (),
    )


def _relative(text: TextClaim, pair: Pair) -> str:
    base = pair.other.reported.value
    if text.by_unit not in ("percent", "relative") or not base:
        return ""
    return f" ({show(100 * pair.gain / abs(base), 2)} % of {pair.other.reported.text})"


def _fits(text: TextClaim, pair: Pair, stated: Reported) -> bool:
    """Whether a difference can be the stated one in any of the ways that its unit allows, rounded in any way."""
    a, b = pair.mine.reported, pair.other.reported
    gap, wanted = _wide(a) - _wide(b), _wide(stated)
    if pair.direction == "min":
        gap = gap.scale(-1)
    sizes = [gap] if text.by_unit != "relative" else []
    if text.by_unit in ("points", "percent") and max(abs(a.value), abs(b.value)) <= 1:
        sizes.append(gap.scale(100))
    if text.by_unit in ("percent", "relative"):
        for whole in (_wide(b), _wide(a), Interval(Fraction(100), Fraction(100)) - _wide(b), exact_one(b)):
            if whole is not None and not whole.lo <= 0 <= whole.hi:
                sizes.append(gap.scale(100) / whole)
    signs = (1, -1) if pair.direction == "unknown" else (1,)
    return any(size.scale(sign).meets(wanted) for size in sizes for sign in signs)


def exact_one(b: Reported) -> Interval | None:
    """What is missing to a whole, for fractions of one."""
    return Interval(Fraction(1), Fraction(1)) - _wide(b) if abs(b.value) < 1 else None


def _wide(number: Reported) -> Interval:
    """Every value that prints like this when rounded, rounded twice or cut off."""
    near, cut = number.interval("double"), number.interval("truncated")
    return Interval(min(near.lo, cut.lo), max(near.hi, cut.hi))


def _mean_fits(text: TextClaim, pairs: Sequence[Pair], stated: Reported) -> bool:
    """Whether the stated difference can be the mean over the columns of one metric, or over all."""
    groups = [list(pairs), *_groups(pairs)]
    for group in groups:
        if len(group) < 2 or text.tasks:
            continue
        gaps = [
            (_wide(p.mine.reported) - _wide(p.other.reported)).scale(-1 if p.direction == "min" else 1) for p in group
        ]
        bases = [_wide(p.other.reported) for p in group]
        count = Fraction(1, len(group))
        mean = Interval(sum((g.lo for g in gaps), Fraction(0)), sum((g.hi for g in gaps), Fraction(0))).scale(count)
        base = Interval(sum((g.lo for g in bases), Fraction(0)), sum((g.hi for g in bases), Fraction(0))).scale(count)
        sizes = [mean, mean.scale(100)] if text.by_unit != "relative" else []
        if text.by_unit in ("percent", "relative"):
            sizes += [mean.scale(100) / base] if not base.lo <= 0 <= base.hi else []
            each = [g.scale(100) / b for g, b in zip(gaps, bases, strict=True) if not b.lo <= 0 <= b.hi]
            if each:
                total = Interval(sum((e.lo for e in each), Fraction(0)), sum((e.hi for e in each), Fraction(0)))
                sizes.append(total.scale(Fraction(1, len(each))))
        if any(size.meets(_wide(stated)) for size in sizes):
            return True
    return False


def _groups(pairs: Sequence[Pair]) -> list[list[Pair]]:
    groups: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[(fold(pair.mine.scope.metric), fold(pair.other.scope.method))].append(pair)
    return list(groups.values())


# --- what is said -----------------------------------------------------------------------------------------------------


def _finding(
    text: TextClaim, message: str, pairs: Sequence[Pair], arithmetic: str, nearest: tuple[str, ...] = ()
) -> Finding:
    sentence = Cell(text.by or text.kind, "sentence", line=text.line)
    numbers = dict.fromkeys(n for pair in pairs[:SHOWN] for n in (pair.mine, pair.other))
    line = f" (line {text.line})" if text.line else ""
    return Finding(
        check="PROSE",
        severity=Severity.WARNING,
        verdict=Verdict.FAIL,
        message=f"“{text.text}”{line}: {message}",
        cells=(sentence, *(cell(number.claim) for number in numbers)),
        arithmetic=arithmetic,
        explanations=(Explanation("the sentence means other rows, columns or another table", text.where, True),),
        nearest=nearest,
        pattern="sentences",
        basis=f"{text.text}|{text.by}|{text.baseline}",
    )
