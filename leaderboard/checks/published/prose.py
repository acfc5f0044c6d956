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
from leaderboard.checks.numbers import Interval, Reported, exactly, parse, show
from leaderboard.checks.registry import check
from leaderboard.claims.importers import words
from leaderboard.claims.model import TextClaim

SHOWN = 4
NO_RIVAL = re.compile(
    r"\b(ours?|our|proposed|oracle|upper[ -]?bound|skyline|topline|human|expert|teacher|supervised|ground[ -]?truth|"
    r"p-?values?|improv\w*|gains?|std|ranks?|delta|ensemble|w/o?|without|with|full data|joint|multi-?task|"
    r"best of|chance|random)\b|^[+\-–δ#]|\+"
)
"""Rows that “all baselines” may not mean: variants of the own one, bounds, ablations."""
SIZE = re.compile(
    r"(?<=[-/ (_])(?:tiny|mini|small|base|medium|large|huge|giant|big|deep|wide|x{0,3}l|[tsbmhg]|[tsbmlh]/\d+|101|152|"
    r"\d+(?:\.\d+)?[kmbx]|x\d+|\d+ ?epochs|ep)(?![a-z0-9])"
)
"""Words for the size of a model behind its name: rows of other sizes may not be meant either."""


@dataclass(frozen=True)
class Pair:
    """The two numbers of one column that a sentence compares."""

    mine: Number
    other: Number
    rivals: bool = True
    """Whether the table itself lets the two compete."""

    @property
    def lost(self) -> bool:
        """Whether the first is printed as worse."""
        return self.rivals and self.direction != "unknown" and self.gain < 0

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
    by being worse in every column; “by d” where no column has |(a − b) − d| ≤ u_a + u_b + u_d, the mean over the
    columns does not either, and for a per cent neither do 100 (a − b) / b, 100 (a − b) / a and the share of the error
    that is gone. Where no metric is named, one for which the sentence holds is enough.
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
        scope = number.scope
        if scope.method is not None and _is_meant(number, text):
            place = number.claim.where.table, _unnamed(number)
            columns[(*place, fold(scope.task), fold(scope.metric), fold(scope.split))].append(number)
    return [pair for column in columns.values() for pair in _paired(column, text)]


def _unnamed(number: Number) -> str:
    """The heading that numbers share whose task or metric is not known: their column, or their row under methods."""
    scope, where = number.scope, number.claim.where
    if scope.task is not None and scope.metric is not None:
        return ""
    return f"{where.row} {where.line}" if scope.method and scope.method in where.column else where.column


def _is_meant(number: Number, text: TextClaim) -> bool:
    claim, scope = number.claim, number.scope
    if text.tables and claim.where.table not in text.tables:
        return False
    if text.tasks and not {fold(task) for task in text.tasks} & set(_tasks(scope.task)):
        return False
    if text.splits and scope.split and scope.split not in text.splits:
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
    yield from (Pair(a, b, bool(text.by) or _compete(a, b)) for a in mine for b in rivals)


def _alike(a: Number, b: Number) -> bool:
    return all(fold(getattr(a.scope, name)) == fold(getattr(b.scope, name)) for name in OTHER_FIELDS)


def _is_rival(number: Number, method: str) -> bool:
    name, own = fold(number.scope.method), fold(method)
    return NO_RIVAL.search(name) is None and own not in name and SIZE.findall(name) == SIZE.findall(own)


def _compete(mine: Number, other: Number) -> bool:
    """Whether the table itself lets two rows compete: bold does not crown the lesser number, conditions agree."""
    return not mine.claim.bold and (bool(other.claim.bold) or _alike(mine, other))


# --- better or worse --------------------------------------------------------------------------------------------------


def _signs(text: TextClaim, pairs: Sequence[Pair]) -> Finding | None:
    """None where no printed number stands against the sentence in all of its readings."""
    known = [pair for pair in pairs if pair.direction != "unknown"]
    worse = [pair for pair in known if pair.lost]
    columns = _columns(known)
    beaten = {place: any(pair.lost for pair in column) for place, column in columns.items()}
    if text.kind == "improves":
        contradicted = len(known) == len(pairs) and all(beaten.values())
    elif text.every_metric or text.metric is not None:
        contradicted = bool(worse)
    else:
        contradicted = _in_each_reading(beaten)
    if not contradicted:
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


USUAL_SPLITS = frozenset({"", "train", "validation", "dev", "test", "minival"})
"""Splits that measure the same thing; others, such as test-clean and test-other, are data sets of their own."""

Place = tuple[str, tuple[str, str]]
"""Task, and metric with its split."""


def _columns(pairs: Sequence[Pair]) -> dict[Place, list[Pair]]:
    columns: dict[Place, list[Pair]] = defaultdict(list)
    for pair in pairs:
        scope = pair.mine.scope
        task = fold(scope.task) if scope.task or scope.metric else fold(pair.mine.claim.where.column)
        split = fold(scope.split)
        own = "" if split in USUAL_SPLITS else split
        columns[(f"{task} {own}".strip(), (fold(scope.metric), "" if own else split))].append(pair)
    return columns


def _in_each_reading(beaten: dict[Place, bool]) -> bool:
    """Whether some task is lost in every metric, or every metric is lost on some task."""
    by_task: dict[str, list[bool]] = defaultdict(list)
    by_metric: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for (task, metric), lost in beaten.items():
        by_task[task].append(lost)
        by_metric[metric].append(lost)
    named = all(by_task) or len(by_task) == 1  # where only some tasks are named, a row may lack its task's name
    return (named and any(all(lost) for lost in by_task.values())) or (
        bool(by_metric) and all(any(lost) for lost in by_metric.values())
    )


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
    gap = gap.scale(_sign(pair))
    sizes = [gap] if text.by_unit != "relative" else []
    if text.by_unit in ("points", "percent") and max(abs(a.value), abs(b.value)) <= 1:
        sizes.append(gap.scale(100))
    if text.by_unit in ("percent", "relative"):
        one = 1 if max(abs(a.value), abs(b.value)) <= 1 else 100
        wholes = (_wide(b), _wide(a), exactly(one) - _wide(b))
        sizes += [gap.scale(100) / whole for whole in wholes if not whole.lo <= 0 <= whole.hi]
    signs = (1, -1) if pair.direction == "unknown" else (1,)
    return any(size.scale(sign).meets(wanted) for size in sizes for sign in signs)


def _wide(number: Reported) -> Interval:
    """Every value that prints like this when rounded, rounded twice or cut off."""
    near, cut = number.interval("double"), number.interval("truncated")
    return Interval(min(near.lo, cut.lo), max(near.hi, cut.hi))


def _mean_fits(text: TextClaim, pairs: Sequence[Pair], stated: Reported) -> bool:
    """Whether the stated difference can be the mean over the columns of one metric, or over all."""
    if text.tasks:
        return False
    groups = [group for group in (list(pairs), *_groups(pairs)) if len(group) > 1]
    return any(size.meets(_wide(stated)) for group in groups for size in _means(text, group))


def _means(text: TextClaim, group: Sequence[Pair]) -> Iterator[Interval]:
    gaps = [(_wide(p.mine.reported) - _wide(p.other.reported)).scale(_sign(p)) for p in group]
    bases = [_wide(p.other.reported) for p in group]
    if text.by_unit != "relative":
        yield _mean(gaps)
        yield _mean(gaps).scale(100)
    if text.by_unit in ("percent", "relative") and not any(base.lo <= 0 <= base.hi for base in bases):
        yield _mean([gap.scale(100) / base for gap, base in zip(gaps, bases, strict=True)])
        if not _mean(bases).lo <= 0 <= _mean(bases).hi:
            yield _mean(gaps).scale(100) / _mean(bases)


def _sign(pair: Pair) -> int:
    return -1 if pair.direction == "min" else 1


def _mean(parts: Sequence[Interval]) -> Interval:
    low, high = (sum(ends, Fraction(0)) for ends in ((p.lo for p in parts), (p.hi for p in parts)))
    return Interval(low, high).scale(Fraction(1, len(parts)))


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
