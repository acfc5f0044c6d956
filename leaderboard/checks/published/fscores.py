"""F-scores against their precision and recall."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

from leaderboard.checks.evidence import Evidence, Number
from leaderboard.checks.explain import slip
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
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


def within_bound(triple: Triple, policy: Rounding | None = None) -> bool:
    """F_β ≤ (1 + β²) P and ≤ (1 + β²) R / β², true of any average over classes or items too."""
    precision, recall, score, beta = triple
    p, r, f = precision.fraction(policy), recall.fraction(policy), score.fraction(policy)
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
        least, name = min((precision, "P"), (recall, "R"), key=lambda pair: pair[0].fraction().hi)
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


def _percent(number: Number, interval: Interval) -> Interval:
    return interval.scale(Fraction(1, 100)) if number.claim.unit == "percent" else interval


def _score_fits(triple: Triple, other: Reported) -> bool:
    precision, recall, score, beta = triple
    return span(precision.fraction(), recall.fraction(), beta).meets(_percent(score, other.interval()))


def _other_fits(triple: Triple, changed: Number, other: Reported) -> bool:
    precision, recall, score, beta = triple
    p, r = (_percent(changed, other.interval()) if n is changed else n.fraction() for n in (precision, recall))
    return span(p, r, beta).meets(score.fraction())


def _reordered(triple: Triple) -> tuple[str, bool]:
    """Whether the three fit when one of the other columns is the F-score."""
    precision, recall, score, beta = triple
    for p, r, f in ((precision, score, recall), (recall, score, precision)):
        if span(p.fraction(), r.fraction(), beta).meets(f.fraction()):
            return f"F of {p.reported.text} and {r.reported.text} is {f.reported.text}", True
    return "no order of the three fits", False


@check("F-HARM", 22, "an F-score that is not the harmonic mean of P and R", Severity.WARNING)
def f_harmonic(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """F of one confusion matrix is the (weighted) harmonic mean of its precision and recall.

    Formula: F_β = (1 + β²) P R / (β² P + R), over the intervals of P and R. A warning, because a macro average or a
    mean over items need not obey it. Rows that break F-BOUND are left to it.
    Source: van Rijsbergen 1979; khundman/telemanom#54 (0.71 for P = R = 85.5); sebastianruder/NLP-progress#588.
    Power: an F off by two last digits or more is found. Blind spot: averaging that is not stated.
    """
    for triple in triples(evidence):
        if not within_bound(triple, "truncated"):
            continue
        verdict, policy = judge(partial(is_harmonic, triple), triple[2].claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
        else:
            yield _not_harmonic(triple, verdict, policy)


def is_harmonic(triple: Triple, policy: Rounding | None = None) -> bool:
    """Whether F can be the harmonic mean."""
    precision, recall, score, beta = triple
    return span(precision.fraction(policy), recall.fraction(policy), beta).meets(score.fraction(policy))


def _not_harmonic(triple: Triple, verdict: Verdict, policy: Rounding) -> Finding:
    precision, recall, score, beta = triple
    forced = span(precision.fraction(), recall.fraction(), beta)
    percent = score.claim.unit == "percent"
    shown = forced.scale(100) if percent else forced
    digits = max(score.reported.decimals, 0)
    middle = show((shown.lo + shown.hi) / 2, digits)
    name = f"F{show(beta)}"
    return report(
        "F-HARM",
        Severity.WARNING,
        verdict,
        policy,
        f"P {precision.reported.text} and R {recall.reported.text} give {name} = {middle}, "
        f"printed {score.reported.text}",
        [cell(precision.claim), cell(recall.claim), cell(score.claim)],
        f"(1 + β²) P R / (β² P + R) is in [{show(shown.lo, digits + 2)}, {show(shown.hi, digits + 2)}]; "
        f"printed {score.reported.text} stands for {score.interval()}",
        list(_averaging(triple)),
        nearest=(middle,),
        pattern="F-scores that are no harmonic mean",
    )


def _averaging(triple: Triple) -> Iterator[Explanation]:
    precision, recall, score, beta = triple
    p, r, f = precision.fraction(), recall.fraction(), score.fraction()
    for other in BETAS:
        if other != beta:
            fits = span(p, r, other).meets(f)
            yield Explanation(f"F{show(other)} instead of F{show(beta)}", "", fits)
    yield Explanation("the arithmetic mean of P and R", "", (p + r).scale(Fraction(1, 2)).meets(f))
    yield Explanation("columns in another order", *_reordered(triple))
    yield slip("F-score", score.reported, partial(_score_fits, triple))
    between = min(p.lo, r.lo) <= f.hi and f.lo <= max(p.hi, r.hi)
    where = "F lies between P and R" if between else "F lies outside [P, R], as only averages over classes or items can"
    yield Explanation("a macro average or a mean over items", where, True)
    if f.hi * 10 < min(p.lo, r.lo):
        yield Explanation("a wrong heading", "F is less than a tenth of both: hardly an F-score of these", True)
