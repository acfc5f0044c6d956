"""Relations between metrics of one run, as data. To add one, add a line: what it is about, the formula, and why.

The engine (`relation.py`) evaluates them over intervals; `bench check --explain ORDER` tells which there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from leaderboard.checks.finding import Severity
from leaderboard.checks.numbers import Interval, exactly, show
from leaderboard.checks.relation import Relation, Sign


@dataclass(frozen=True)
class Identity:
    """A relation between the metrics of one row."""

    check: str
    """Id of the check that reports it."""
    roles: tuple[str, ...]
    """Metrics by their role, the target first."""
    relation: Relation
    """Its formula is of (one, *others), one being 100 for percentages."""
    beside: tuple[str, ...] = ()
    """Roles without which the names may mean something else."""

    jensen: bool = False
    """Whether it is an equation for a single run, and an inequality for means over several."""

    def on(self, one: Fraction, single: bool = False, power: Fraction = Fraction(1)) -> Relation:
        """The relation on a scale whose whole is `one`, of a single run or of what may be a mean.

        The target is printed in units of `power`.
        """
        implied, told = partial(self.relation.implied, one), self.relation.formula.replace("{one}", str(one))
        sign: Sign = "=" if self.jensen and single else self.relation.sign
        if power == 1:
            return replace(self.relation, formula=told, implied=implied, sign=sign)
        scaled = lambda *spans: implied(*spans).scale(1 / power)  # noqa: E731
        return replace(self.relation, formula=f"{told} × {show(1 / power)}", implied=scaled, sign=sign)


def relation(
    check: str, target: str, sign: Sign, others: tuple[str, ...], formula: str, implied: Callable[..., Interval],
    why: str = "", severity: Severity = Severity.ERROR, beside: tuple[str, ...] = (), jensen: bool = False,
) -> Identity:  # fmt: skip
    """One line of the table below."""
    pattern = f"{target} {sign} {formula.format(*others, one='one')}"
    return Identity(check, (target, *others), Relation(pattern, formula, implied, sign, why, severity), beside, jensen)


def order(
    less: str, more: str, why: str, severity: Severity = Severity.ERROR, beside: tuple[str, ...] = ()
) -> Identity:
    """`less` ≤ `more`."""
    return relation("ORDER", less, "≤", (more,), "{0}", lambda one, more: more, why, severity, beside)


def hull(*spans: Interval) -> Interval:
    """Everything between the least and the greatest."""
    return Interval(min(span.lo for span in spans), max(span.hi for span in spans))


def harmonic(precision: Interval, recall: Interval, beta: Fraction = Fraction(1)) -> Interval:
    """F_β = (1 + β²) P R / (β² P + R); it grows with both arguments, so the corners bound it."""
    corners = zip((precision.lo, precision.hi), (recall.lo, recall.hi), strict=True)
    low, high = (_f_score(max(p, Fraction(0)), max(r, Fraction(0)), beta) for p, r in corners)
    return Interval(low, high)


def _f_score(precision: Fraction, recall: Fraction, beta: Fraction) -> Fraction:
    below = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / below if below > 0 else Fraction(0)


def dice_of(one: Fraction, iou: Interval) -> Interval:
    """Dice is at least IoU, and a mean of 2 x / (1 + x), concave in x, at most that of the mean IoU."""
    x = iou.clip(0, one)
    return Interval(x.lo, 2 * x.hi / (1 + x.hi / one))


JOINT = "joint precision and recall are products of those of the parts"
MATCH = "an exact match has F1 = 1"
BOTH = "both right implies one right"

IDENTITIES = (
    *(
        relation("COMPL", error, "=", (right,), "{one} − {0}", lambda one, right: exactly(one) - right)
        for right, error in (("accuracy", "error"), ("top1", "top1error"), ("top5", "top5error"))
    ),
    order("top1", "top5", "the best guess is among the best five"),
    order("top5error", "top1error", "the best guess is among the best five"),
    order("em", "f1", MATCH),
    order("supem", "supf1", MATCH),
    order("jointem", "jointf1", MATCH),
    order("jointem", "em", BOTH),
    order("jointem", "supem", BOTH),
    order("jointf1", "f1", JOINT, beside=("supf1",)),
    order("jointf1", "supf1", JOINT, beside=("f1",)),
    relation("ORDER", "jointem", "≥", ("em", "supem"), "{0} + {1} − {one}", lambda one, a, b: a + b - exactly(one),
             "at least so many items have both right"),
    order("mae", "rmse", "the mean is at most the root mean square"),
    relation("ORDER", "mse", "≥", ("rmse",), "{0}²", lambda one, root: root.square(),
             "MSE = RMSE² for one run, and a mean of squares is no less than the square of the mean", jensen=True),
    order("map", "ap50", "stricter overlaps are in the mean"),
    order("ap75", "ap50", "a stricter overlap finds no more"),
    relation("ORDER", "dice", "∈", ("iou",), "[{0}, 2 × {0} / (1 + {0})]", dice_of, "IoU ≤ Dice ≤ 2 IoU / (1 + IoU)"),
    relation("ORDER", "accuracy", "∈", ("sensitivity", "specificity"), "[{0}, {1}]", lambda one, a, b: hull(a, b),
             "every weighting of the two lies between them", Severity.WARNING),
    order("mean", "best", "the best run is no worse than the mean of all", Severity.WARNING),
    order("last", "best", "the best epoch is no worse than the last", Severity.WARNING),
    order("testaccuracy", "trainaccuracy", "usually lower on unseen data", Severity.INFO),
    relation("SD-KIND", "sd", "=", ("variance",), "√{0}", lambda one, variance: variance.sqrt(),
             severity=Severity.WARNING),
)  # fmt: skip


def identity(*roles: str) -> Identity:
    """The identity of these roles, the target first."""
    return next(entry for entry in IDENTITIES if entry.roles == roles)


def f_measure(beta: Fraction) -> Relation:
    """F_β of one confusion matrix."""
    text = "2 × {0} × {1} / ({0} + {1})" if beta == 1 else f"(1 + {beta}²) × {{0}} × {{1}} / ({beta}² × {{0}} + {{1}})"
    return Relation(
        "F-scores that are no harmonic mean", text, lambda p, r: harmonic(p, r, beta), severity=Severity.WARNING
    )


def f_limits(beta: Fraction) -> tuple[Relation, Relation]:
    """F_β ≤ (1 + β²) P and ≤ (1 + β²) R / β², true of any average over classes or items too."""
    factors = (1 + beta**2, (1 + beta**2) / beta**2)
    first, second = (
        Relation(
            "F-scores out of bound", f"{float(k):g} × {{0}}", partial(Interval.scale, factor=k), "≤",
            "true of every way of averaging",
        )
        for k in factors
    )  # fmt: skip
    return first, second


PERPLEXITY = Relation("perplexities that are no exponentials", "e^{0}", Interval.exp, "≥",
                      "a mean of exponentials is no less than that of the mean", Severity.WARNING)  # fmt: skip

TWICE = Relation("one quantity with two values", "{0}", lambda other: other)
"""The same number printed twice."""
