"""Relations that hold by definition: orders, identities, complements."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from statistics import median_low

from leaderboard.checks.evidence import Evidence, Number, fold
from leaderboard.checks.explain import slip
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.numbers import Interval, Reported, exactly, show
from leaderboard.checks.registry import check
from leaderboard.checks.roles import group_of, tidy
from leaderboard.checks.verdicts import judge, report
from leaderboard.claims.model import Rounding


@dataclass(frozen=True)
class Order:
    """`less` ≤ `more`."""

    less: str
    more: str
    why: str
    severity: Severity = Severity.ERROR
    beside: tuple[str, ...] = ()
    """Roles without which the two names may mean something else."""


ORDERS = (
    Order("top1", "top5", "the best guess is among the best five"),
    Order("em", "f1", "an exact match has F1 = 1"),
    Order("supem", "supf1", "an exact match has F1 = 1"),
    Order("jointem", "jointf1", "an exact match has F1 = 1"),
    Order("jointem", "em", "both right implies one right"),
    Order("jointem", "supem", "both right implies one right"),
    Order("jointf1", "f1", "joint precision and recall are products of those of the parts", beside=("supf1",)),
    Order("jointf1", "supf1", "joint precision and recall are products of those of the parts", beside=("f1",)),
    Order("mae", "rmse", "the mean is at most the root mean square"),
    Order("map", "ap50", "stricter overlaps are in the mean"),
    Order("ap75", "ap50", "a stricter overlap finds no more"),
    Order("iou", "dice", "Dice = 2 IoU / (1 + IoU) ≥ IoU"),
    Order("mean", "best", "the best run is no worse than the mean of all", Severity.WARNING),
    Order("last", "best", "the best epoch is no worse than the last", Severity.WARNING),
    Order("testaccuracy", "trainaccuracy", "usually lower on unseen data", Severity.INFO),
)


@check("ORDER", 24, "two metrics in an impossible order", Severity.ERROR)
def order(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Some metrics of one run are ordered, or tied to each other, by definition.

    Formula: top-1 ≤ top-5; EM ≤ F1; EM₁ + EM₂ − 100 ≤ joint EM ≤ min(EM₁, EM₂); joint F1 ≤ min(F1₁, F1₂); MAE ≤ RMSE;
    MSE = RMSE² (≥ for means); mAP, AP75 ≤ AP50; IoU ≤ Dice ≤ 2 IoU / (1 + IoU); equal scores have equal win rates; for
    j < k pass@j ≤ pass@k, and likewise R@k, recall@k, hits@k, hit rate, success, accuracy@k and MRR@k.
    Warnings: mean ≤ best, last ≤ best (another metric may have chosen the run), ties. Information: test ≤ train.
    Source: definitions (joint scores: hotpotqa/hotpot@4c0fa5ea:hotpot_evaluate_v1.py); 569 rows of SQuAD, HotpotQA and
    CMRC 2018 break none (paperswithcode/sota-extractor:data/tasks); ties: stanford-crfm/helm#4332.
    Power: violations beyond rounding. Blind spot: columns computed on different subsets or by different scripts.
    """
    stated = [(rule, a, b) for rule in ORDERS for a, b, *_ in evidence.related(rule.less, rule.more, *rule.beside)]
    for rule, less, more in (*stated, *_at_k(evidence)):
        verdict, policy = judge(partial(at_most, less.reported, more.reported), less.claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
        else:
            yield _out_of_order(evidence, rule, less, more, verdict, policy)
    yield from _squares(evidence, tally)
    yield from _dice(evidence, tally)
    yield from _joint(evidence, tally)
    yield from _ties(evidence, tally)


def at_most(less: Reported, more: Reported, policy: Rounding | None = None) -> bool:
    """Whether `less` ≤ `more` is possible; in whole numbers."""
    decimals = max(less.decimals, more.decimals)
    return less.at(decimals, policy)[0] <= more.at(decimals, policy)[1]


AT_K = re.compile(r"(.*?\b)?(pass|mr|r|recall|hits?|hr|hit rate|success|acc|accuracy|mrr)( ?@ ?|_at_| at )(\d+)")
"""Metrics that cannot fall when k grows; precision and NDCG can."""
THRESHOLDS = frozenset({25, 30, 40, 50, 60, 70, 75, 80, 90, 95})
"""Where both are among these, k may be an overlap in percent, which finds less when it grows."""


def _at_k(evidence: Evidence) -> Iterator[tuple[Order, Number, Number]]:
    """Neighbouring k of one metric and group, with the order they must be in."""
    index: dict[tuple[str, str], dict[int, list[Number]]] = defaultdict(lambda: defaultdict(list))
    for number in evidence.numbers:
        match = AT_K.fullmatch(fold(number.claim.role or number.scope.metric))
        if match and (group := group_of(number.claim)):
            index[group, f"{match[1] or ''}{match[2]}@"][int(match[4])].append(number)
    for (_, name), by_k in index.items():
        for j, k in pairwise(sorted(by_k)):
            if _rises(name, j, k):
                rule = Order(
                    f"{name}{j}", f"{name}{k}", WHY.get(name, "what is among the first j is among the first k")
                )
                for less, more in evidence.aligned([by_k[j], by_k[k]]):
                    yield rule, less, more


def _rises(name: str, j: int, k: int) -> bool:
    """Whether the metric cannot fall from j to k, and no other rule of this check says so."""
    overlaps = {j, k} <= THRESHOLDS and not name.startswith("pass")
    as_top = name.startswith("acc") and {j, k} == {1, 5}
    return not (overlaps or as_top)


WHY = {"pass@": "more attempts solve no fewer"}


def _out_of_order(
    evidence: Evidence, rule: Order, less: Number, more: Number, verdict: Verdict, policy: Rounding
) -> Finding:
    a, b = less.reported, more.reported
    names = [n.scope.metric or n.claim.role or "" for n in (less, more)]
    return report(
        "ORDER",
        rule.severity,
        verdict,
        policy,
        f"{names[0]} {a.text} exceeds {names[1]} {b.text}: {rule.why}",
        [cell(less.claim), cell(more.claim)],
        f"{a.text} − {b.text} = {show(a.value - b.value)} > {show((a.ulp + b.ulp) / 2)} allowed by rounding",
        [
            Explanation("the two cells are swapped", f"{b.text} ≤ {a.text}", True),
            slip(names[0], a, lambda other: at_most(other, b), _usual(evidence, less)),
            slip(names[1], b, lambda other: at_most(a, other), _usual(evidence, more)),
        ],
        pattern=f"{rule.less} above {rule.more}",
    )


def _usual(evidence: Evidence, number: Number) -> Fraction | None:
    """The median of the other numbers under the same heading: what a slip was most likely meant to be near to."""
    where = number.claim.where
    under = evidence.by_cell[(where.table, where.column, fold(number.scope.metric))]
    others = [n.reported.value for n in under if n is not number]
    return median_low(others) if others else None


def _identity(
    role: str, pair: tuple[Number, Number], span: Interval, text: str, tally: Tally, explanations: list[Explanation]
) -> Iterator[Finding]:
    """`pair[0]` must lie in `span`, computed from `pair[1]`."""
    first, second = pair
    if span.meets(first.interval()):
        tally.ok()
        return
    yield report(
        "ORDER",
        Severity.ERROR,
        Verdict.FAIL,
        first.claim.rounding,
        f"{role} {first.reported.text} does not go with {second.reported.text}: {text}",
        [cell(first.claim), cell(second.claim)],
        f"{text} is in [{float(span.lo):.6g}, {float(span.hi):.6g}]; printed {first.reported.text} "
        f"stands for {first.interval()}",
        explanations,
        pattern=f"{role} identity",
    )


def _squares(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """MSE = RMSE² for one run; over several the mean MSE is at least the square of the mean RMSE (Jensen)."""
    for mse, rmse in evidence.related("mse", "rmse"):
        root = mse.interval().clip(0, None)
        square = rmse.interval("double").square()
        span = square if mse.claim.n == 1 else Interval(square.lo, max(square.hi, mse.interval().hi))
        hint = [Explanation("the columns hold the same quantity", "", rmse.interval().meets(root))]
        yield from _identity("MSE", (mse, rmse), span, "RMSE²", tally, hint)


def _dice(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Mean Dice ≤ 2 m / (1 + m) of the mean IoU m, because the function is concave."""
    for dice, iou in evidence.related("dice", "iou"):
        if not at_most(iou.reported, dice.reported):
            continue  # told as an order
        x = iou.fraction("double").clip(0, 1)
        high = (x.scale(2) / (exactly(1) + x)).hi
        limit = Interval(x.lo, high).scale(100 if dice.claim.unit == "percent" else 1)
        yield from _identity("Dice", (dice, iou), limit, "[IoU, 2 IoU / (1 + IoU)]", tally, [])


def _joint(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Joint exact match is at least the sum of its parts minus one."""
    for joint, answer, support in evidence.related("jointem", "em", "supem"):
        one = 100 if joint.claim.unit == "percent" else 1
        least = answer.interval() + support.interval() - exactly(one)
        if joint.interval().hi >= least.lo:
            tally.ok()
            continue
        yield report(
            "ORDER",
            Severity.ERROR,
            Verdict.FAIL,
            joint.claim.rounding,
            f"joint EM {joint.reported.text} is below {answer.reported.text} + {support.reported.text} − {one}",
            [cell(n.claim) for n in (joint, answer, support)],
            f"at least {show(least.lo)} of the items have both right",
            pattern="joint exact match too low",
        )


def _ties(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Rows with equal scores must share their rank or win rate."""
    index: dict[tuple[str, Fraction], list[tuple[Number, Number]]] = defaultdict(list)
    for score, rate in evidence.related("score", tidy("win rate")):
        index[(score.claim.where.table, score.reported.value)].append((score, rate))
    for (_, value), rows in index.items():
        rates = [rate for _, rate in rows]
        low, high = (f(rates, key=lambda n: n.reported.value) for f in (min, max))
        if len(rows) < 2 or low.interval().meets(high.interval()):
            tally.ok()
            continue
        fair = sum((rate.reported.value for rate in rates), Fraction(0)) / len(rates)
        yield report(
            "ORDER",
            Severity.WARNING,
            Verdict.FAIL,
            low.claim.rounding,
            f"{len(rows)} rows tie at {show(value)} but win rates go from {low.reported.text} to {high.reported.text}",
            [cell(low.claim), cell(high.claim)],
            f"half a win each gives every one of them the mean, {show(fair, max(low.reported.decimals, 0))}",
            [Explanation("the scores differ beyond the printed digits", f"they print as {show(value)}", True)],
            nearest=(show(fair, max(low.reported.decimals, 0)),),
            pattern="ties broken by order",
        )


COMPLEMENTS = (("accuracy", "error"), ("top1", "top1error"), ("top5", "top5error"))


@check("COMPL", 25, "accuracy and error that do not add up", Severity.ERROR)
def complement(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Accuracy and error of one run add up to one hundred percent.

    Formula: |a + e − 100| ≤ u_a + u_e, because each was rounded on its own.
    Source: huggingface/pytorch-image-models@aa4b5850:results, where 98.648 + 1.351 = 99.999 is sound.
    Power: of single-digit edits of a four-digit number 92.8 % are found (90.4 % at three digits, 94.2 % at five).
    Blind spot: an error computed from a wrong accuracy.
    """
    for accuracy, error in COMPLEMENTS:
        for a, e in evidence.related(accuracy, error):
            whole = 100 if a.claim.unit == "percent" or max(a.reported.value, e.reported.value) > 1 else 1
            test = partial(_complete, a.reported, e.reported, whole)
            verdict, policy = judge(test, a.claim.rounding)
            if verdict is Verdict.PASS:
                tally.ok()
                continue
            total = show(a.reported.value + e.reported.value)
            yield report(
                "COMPL",
                Severity.ERROR,
                verdict,
                policy,
                f"{a.reported.text} + {e.reported.text} = {total}, not {whole}",
                [cell(a.claim), cell(e.claim)],
                f"{a.reported.text} + {e.reported.text} = {total}; rounding allows "
                f"{whole} ± {show((a.reported.ulp + e.reported.ulp) / 2)}",
                [
                    slip("accuracy", a.reported, partial(adds_up, e.reported, whole=whole), whole - e.reported.value),
                    slip("error", e.reported, partial(adds_up, a.reported, whole=whole), whole - a.reported.value),
                ],
                nearest=(show(whole - a.reported.value, max(e.reported.decimals, 0)),),
                pattern=f"{accuracy} and {error} do not add up",
            )


def _complete(a: Reported, e: Reported, whole: int, policy: Rounding | None = None) -> bool:
    return adds_up(a, e, whole, policy)


def adds_up(a: Reported, e: Reported, whole: int, policy: Rounding | None = None) -> bool:
    """Whether two printed numbers can be the parts of `whole`; in whole numbers."""
    decimals = max(a.decimals, e.decimals, 0)
    (a_low, a_high), (e_low, e_high) = a.at(decimals, policy), e.at(decimals, policy)
    total = whole * int(10 ** (decimals + 2))
    return a_low + e_low <= total <= a_high + e_high
