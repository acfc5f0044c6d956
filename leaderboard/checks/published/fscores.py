"""F-scores against their precision and recall."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import partial

from leaderboard.checks.evidence import Evidence, Number, fold
from leaderboard.checks.explain import slip
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.metrics import tidied
from leaderboard.checks.numbers import Interval, Reported, show
from leaderboard.checks.registry import check
from leaderboard.checks.verdicts import judge, report
from leaderboard.claims.model import Rounding

F_ROLE = re.compile(r"f(\d*\.?\d+)?")
BETAS = (Fraction(1), Fraction(1, 2), Fraction(2))

Triple = tuple[Number, Number, Number, Fraction]
"""Precision, recall, F and its β."""


def triples(evidence: Evidence) -> Iterator[Triple]:
    """Rows that print precision, recall and an F-score."""
    for group in evidence.groups.values():
        if "precision" not in group or "recall" not in group:
            continue
        for role in group:
            if match := F_ROLE.fullmatch(role):
                beta = Fraction(match[1] or 1)
                for precision, recall, score in evidence.aligned([group["precision"], group["recall"], group[role]]):
                    yield precision, recall, score, beta


def f_score(precision: Fraction, recall: Fraction, beta: Fraction) -> Fraction:
    """F_β = (1 + β²) P R / (β² P + R)."""
    below = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / below if below > 0 else Fraction(0)


def span(precision: Interval, recall: Interval, beta: Fraction) -> Interval:
    """F over intervals: it grows with both arguments, so the corners bound it."""
    lo = f_score(max(precision.lo, Fraction(0)), max(recall.lo, Fraction(0)), beta)
    return Interval(lo, f_score(max(precision.hi, Fraction(0)), max(recall.hi, Fraction(0)), beta))


def on_one_scale(triple: Triple, policy: Rounding | None = None) -> tuple[Interval, Interval, Interval]:
    """Precision, recall and F; as fractions where some are in percent and some are not."""
    p, r, f = (factor_of(triple, n) for n in triple[:3])
    precision, recall, score, _ = triple
    return precision.interval(policy).scale(p), recall.interval(policy).scale(r), score.interval(policy).scale(f)


def factor_of(triple: Triple, number: Number) -> Fraction:
    """One hundredth for percentages beside fractions, else one: the relation holds on any common scale."""
    mixed = {n.claim.unit for n in triple[:3]} == {"percent", "fraction"}
    return Fraction(1, 100) if mixed and number.claim.unit == "percent" else Fraction(1)


def within_bound(triple: Triple, policy: Rounding | None = None) -> bool:
    """F_β ≤ (1 + β²) P and ≤ (1 + β²) R / β², true of any average over classes or items too."""
    p, r, f = on_one_scale(triple, policy)
    beta = triple[3]
    return f.lo <= (1 + beta**2) * p.hi and f.lo <= (1 + beta**2) * r.hi / beta**2


@check("F-BOUND", 21, "an F-score above what precision and recall allow", Severity.ERROR)
def f_bound(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """F1 ≤ 2 min(P, R), whatever is averaged: of one confusion matrix, macro, weighted, or a mean over items.

    Formula: F_β ≤ (1 + β²) P and F_β ≤ (1 + β²) R / β², within rounding.
    Source: luka-group/VideoRLVR#3 (29.4 > 2 × 12.5); dice-group/gerbil#87 (macro F1 outside [P, R] and sound).
    Power: only scores above twice the smaller of P and R. Blind spot: everything below (see F-HARM).
    """
    for triple in triples(evidence):
        precision, recall, score, beta = triple
        verdict, policy = judge(partial(within_bound, triple), score.claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
            continue
        least, name = min(
            (precision, "P"), (recall, "R"), key=lambda pair: pair[0].interval().hi * factor_of(triple, pair[0])
        )
        factor = 1 + beta**2 if name == "P" else (1 + beta**2) / beta**2
        limit = factor * least.reported.value
        yield report(
            "F-BOUND",
            Severity.ERROR,
            verdict,
            policy,
            f"F {score.reported.text} > {show(factor)} × {least.reported.text} = {show(limit)}",
            [cell(precision.claim), cell(recall.claim), cell(score.claim)],
            f"F_β ≤ {show(factor)} {name} for every way of averaging: {show(factor)} × {least.reported.text} = "
            f"{show(limit)} < {score.reported.text}",
            [
                Explanation("columns in another order", *_reordered(triple)),
                slip("F-score", score.reported, partial(_score_fits, triple)),
                slip(name, least.reported, partial(_other_fits, triple, least)),
            ],
            pattern="F-scores out of bound",
        )


def _score_fits(triple: Triple, other: Reported) -> bool:
    p, r, _ = on_one_scale(triple)
    return span(p, r, triple[3]).meets(other.interval().scale(factor_of(triple, triple[2])))


def _other_fits(triple: Triple, changed: Number, other: Reported) -> bool:
    p, r, f = on_one_scale(triple)
    new = other.interval().scale(factor_of(triple, changed))
    return span(new if changed is triple[0] else p, new if changed is triple[1] else r, triple[3]).meets(f)


def _reordered(triple: Triple) -> tuple[str, bool]:
    """Whether the three fit when one of the other columns is the F-score."""
    precision, recall, score, beta = triple
    spans = dict(zip((id(precision), id(recall), id(score)), on_one_scale(triple), strict=True))
    for p, r, f in ((precision, score, recall), (recall, score, precision)):
        if span(spans[id(p)], spans[id(r)], beta).meets(spans[id(f)]):
            return f"F of {p.reported.text} and {r.reported.text} is {f.reported.text}", True
    return "no order of the three fits", False


H_NAMES = frozenset({"h", "hm", "h-mean", "hmean", "h mean", "h.m.", "harmonic", "harmonic mean", "hos", "h-score"})
SEEN = frozenset({"base", "seen", "s", "known", "old", "os*"})
UNSEEN = frozenset({"new", "novel", "unseen", "u", "unknown", "unk"})
"""Headings of a harmonic mean and of its two parts."""
COUNTED = re.compile(r" ?\b(acc(uracy)?|classes|class|categories|top-?1|domains?|set)\b\.?")


def harmonic_means(evidence: Evidence) -> Iterator[Triple]:
    """Harmonic means of the scores on base and new, or seen and unseen, classes, beside each other or below."""
    groups: dict[tuple[str, ...], dict[str, list[Number]]] = defaultdict(lambda: defaultdict(list))
    for number in evidence.numbers:
        where = number.claim.where
        *above, leaf = where.column.split(" / ")
        for name, key in (
            (leaf, ("row", where.table, where.row, *above)),
            (where.row, ("column", where.table, where.column)),
        ):
            if kind := _kind(name):
                groups[key][kind].append(number)
    for group in groups.values():
        if len(group) == 3 and all(len(numbers) == 1 for numbers in group.values()):
            yield group["seen"][0], group["unseen"][0], group["h"][0], Fraction(1)


def _kind(heading: str) -> str:
    name = COUNTED.sub("", tidied(heading)).strip()
    kinds = {"h": H_NAMES, "seen": SEEN, "unseen": UNSEEN}
    return next((kind for kind, names in kinds.items() if name in names), "")


@check("F-HARM", 22, "an F-score or H that is not the harmonic mean of its two parts", Severity.ERROR)
def f_harmonic(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """F of one confusion matrix is the (weighted) harmonic mean of its precision and recall; so is H of base and new.

    Formula: F_β = (1 + β²) P R / (β² P + R), over the intervals of P and R; H = 2 B N / (B + N) for columns called H,
    HM or H-mean beside base and new, or seen and unseen. Rows that break F-BOUND are left to it.
    Severity: a warning, because an average over classes, items or data sets need not obey it. An error where the source
    says micro or harmonic, or the column is called H, and the number lies above: harmonic means are concave, so a mean
    of them, over runs or data sets, is never above that of the means.
    Silent below, where the caption says macro or all scores of a column lie below, as averages of such scores do.
    Source: van Rijsbergen 1979; khundman/telemanom#54 (0.71 for P = R = 85.5); sebastianruder/NLP-progress#588.
    Power: an F off by two last digits or more is found. Blind spot: averaging that is not stated.
    """
    entries = [
        (triple, says_micro(evidence, triple[2])) for triple in triples(evidence) if within_bound(triple, "truncated")
    ]
    entries += [(triple, True) for triple in harmonic_means(evidence)]
    averaged = averaged_columns(triple for triple, _ in entries)
    for triple, stated in entries:
        verdict, policy = judge(partial(is_harmonic, triple), triple[2].claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
        elif is_below(triple) and (place_of(triple) in averaged or says_macro(evidence, triple[2])):
            tally.skip("an average over classes or data sets, which may lie below")
        else:
            yield _not_harmonic(triple, stated, verdict, policy)


def place_of(triple: Triple) -> tuple[str, str]:
    """Table and column of the score."""
    return triple[2].claim.where.table, triple[2].claim.where.column


def is_below(triple: Triple, most: Fraction = Fraction(1)) -> bool:
    """Whether the score is less than the harmonic mean, by no more than this share of it."""
    p, r, f = on_one_scale(triple)
    least = span(p, r, triple[3]).lo
    return (1 - most) * least <= f.hi < least


A_LITTLE = Fraction(1, 10)
"""How far averages of harmonic means lie below the harmonic mean of the averages, as a share, at the most."""


def averaged_columns(entries: Iterable[Triple]) -> set[tuple[str, str]]:
    """Columns of two scores or more that all lie a little below their harmonic means, as averages of such scores do."""
    columns: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for triple in entries:
        columns[place_of(triple)].append(is_below(triple, A_LITTLE))
    return {place for place, below in columns.items() if len(below) > 1 and all(below)}


MICRO = re.compile(r"\b(micro|entity[- ]level|span[- ]level|harmonic)\b")


def says_micro(evidence: Evidence, number: Number) -> bool:
    """Whether the source says that the score is of one confusion matrix, and not also that it is an average."""
    scope, where = number.scope, number.claim.where
    caption = evidence.set.captions.get(where.table, "")
    near = " ".join(fold(text) for text in (scope.metric, scope.aggregation, scope.subset, where.column, where.row))
    return any(MICRO.search(text) and "macro" not in text for text in (near, fold(caption)))


def says_macro(evidence: Evidence, number: Number) -> bool:
    """Whether the caption says that scores are averaged over classes."""
    return "macro" in fold(evidence.set.captions.get(number.claim.where.table))


def is_harmonic(triple: Triple, policy: Rounding | None = None) -> bool:
    """Whether F can be the harmonic mean."""
    p, r, f = on_one_scale(triple, policy)
    return span(p, r, triple[3]).meets(f)


def _not_harmonic(triple: Triple, stated: bool, verdict: Verdict, policy: Rounding) -> Finding:
    precision, recall, score, beta = triple
    p, r, f = on_one_scale(triple)
    forced = span(p, r, beta)
    shown = forced.scale(1 / factor_of(triple, score))
    digits = max(score.reported.decimals, 0)
    middle = show((shown.lo + shown.hi) / 2, digits)
    is_f = _kind(score.claim.where.column.split(" / ")[-1]) != "h" and _kind(score.claim.where.row) != "h"
    names = ("P", "R", f"F{show(beta)}") if is_f else tuple(_name(n) for n in (precision, recall, score))
    above = f.lo > forced.hi
    return report(
        "F-HARM",
        Severity.ERROR if stated and above else Severity.WARNING,
        verdict,
        policy,
        f"{names[0]} {precision.reported.text} and {names[1]} {recall.reported.text} give {names[2]} = {middle}, "
        f"printed {score.reported.text}",
        [cell(precision.claim), cell(recall.claim), cell(score.claim)],
        f"{'(1 + β²) P R / (β² P + R)' if is_f else f'2 × {names[0]} × {names[1]} / ({names[0]} + {names[1]})'} "
        f"is in [{show(shown.lo, digits + 2)}, {show(shown.hi, digits + 2)}]; "
        f"printed {score.reported.text} stands for {score.interval()}",
        [*(_other_betas(triple) if is_f else ()), *_averaging(triple, stated, above)],
        nearest=(middle,),
        pattern="F-scores that are no harmonic mean" if is_f else "H that is no harmonic mean",
    )


def _name(number: Number) -> str:
    return number.scope.task or number.scope.metric or number.claim.where.column or number.claim.where.row


def _other_betas(triple: Triple) -> Iterator[Explanation]:
    p, r, f = on_one_scale(triple)
    for other in BETAS:
        if other != triple[3]:
            fits = span(p, r, other).meets(f)
            yield Explanation(f"F{show(other)} instead of F{show(triple[3])}", "", fits)


def _averaging(triple: Triple, stated: bool, above: bool) -> Iterator[Explanation]:
    p, r, f = on_one_scale(triple)
    yield Explanation("the arithmetic mean of the two", "", (p + r).scale(Fraction(1, 2)).meets(f))
    yield Explanation("columns in another order", *_reordered(triple))
    yield slip("score", triple[2].reported, partial(_score_fits, triple))
    yield _macro(stated, above)
    if f.hi * 10 < min(p.lo, r.lo):
        yield Explanation("a wrong heading", "F is less than a tenth of both: hardly an F-score of these", True)


def _macro(stated: bool, above: bool) -> Explanation:
    """Whether an average of several harmonic means explains the number."""
    if above and stated:
        return Explanation("a mean over runs or data sets", "such a mean is never above that of the means", False)
    if above:
        where = "only where the three leave out different classes: otherwise it is never above that of the means"
        return Explanation("a macro average or a mean over items", where, True)
    if stated:
        return Explanation("a mean over runs or data sets of several such scores", "may lie below", True)
    return Explanation("a macro average or a mean over items", "may lie below, even outside of the two", True)
