"""Perplexity against the loss it is the exponential of."""

from __future__ import annotations

import math
from collections.abc import Iterator

from leaderboard.checks.evidence import Evidence, Number
from leaderboard.checks.explain import slip
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, cell
from leaderboard.checks.numbers import Interval, exactly, show
from leaderboard.checks.registry import check
from leaderboard.checks.verdicts import judge, report
from leaderboard.claims.model import Rounding

LARGEST = 700
"""Losses beyond this have no perplexity anyone prints."""


PLAUSIBLE = exactly("1.005")
"""P / e^L up to which unstated runs explain an excess: losses that differ by an sd of 0.1 nats (e^(s² / 2))."""


@check("PPL", 28, "a perplexity that is not the exponential of its loss", Severity.WARNING)
def perplexity(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Perplexity is e^loss for one run; a mean over runs can only be greater than e^(mean loss).

    Formula: [e^(L − h), e^(L + h)] must meet the interval of P; for a stated n > 1 (Jensen) only P ≥ e^(L − h). Where n
    is not stated it is taken for one run; an excess of up to 0.5 % (losses with an sd of 0.1 nats) is not testable.
    Source: Jensen 1906; definitions. Power: a loss to two decimals fixes its perplexity within 0.5 % for one run; for
    n > 1 only perplexities that are too low are found, and where n is not stated those 0.5 % or more too high.
    Blind spot: tokens normalised per word or character, label smoothing, auxiliary losses; hence a warning.
    """
    for loss, ppl in evidence.related("loss", "perplexity"):
        if not 0 <= loss.reported.value < LARGEST:
            tally.skip("no loss of a language model")
            continue
        runs = {loss.claim.n, ppl.claim.n} - {None}
        averaged = runs not in (set(), {1})

        def test(policy: Rounding | None, loss: Number = loss, ppl: Number = ppl, averaged: bool = averaged) -> bool:
            implied, printed = loss.interval(policy).exp(), ppl.interval(policy)
            return implied.lo <= printed.hi if averaged else implied.meets(printed)

        verdict, policy = judge(test, loss.claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
        elif not runs and _excess(loss, ppl, PLAUSIBLE):
            tally.skip("a little too high for one run, and the number of runs is not stated")
        else:
            yield _not_exponential(loss, ppl, runs, averaged, verdict, policy)


def _excess(loss: Number, ppl: Number, most: Interval) -> bool:
    """Whether the perplexity is too high for one run, by no more than this factor."""
    implied, printed = loss.interval().exp(), ppl.interval()
    return printed.lo > implied.hi and printed.lo <= (implied * most).hi


def _not_exponential(
    loss: Number, ppl: Number, runs: set[int | None], averaged: bool, verdict: Verdict, policy: Rounding
) -> Finding:
    implied = loss.interval().exp()
    digits = max(ppl.reported.decimals, 0)
    middle = show((implied.lo + implied.hi) / 2, digits)
    relation = "is at least" if averaged else "is"
    return report(
        "PPL",
        Severity.WARNING,
        verdict,
        policy,
        f"loss {loss.reported.text} gives perplexity {middle}, printed {ppl.reported.text}",
        [cell(loss.claim), cell(ppl.claim)],
        f"e^{loss.reported.text} {relation} in [{float(implied.lo):.6g}, {float(implied.hi):.6g}]; printed "
        f"{ppl.reported.text} stands for {ppl.interval()}",
        [
            _reading("the loss is in bits", loss.interval() * exactly("0.693147180559945"), ppl),
            _reading("the loss is a logarithm to base ten", loss.interval() * exactly("2.302585092994046"), ppl),
            *(() if runs else _jensen(implied, ppl)),
            Explanation("normalised per word on one side, per token on the other", "", True),
            slip("perplexity", ppl.reported, lambda other: implied.meets(other.interval())),
        ],
        nearest=(middle,),
        pattern="perplexities that are no exponentials",
    )


def _jensen(implied: Interval, ppl: Number) -> Iterator[Explanation]:
    """A mean of perplexities beside a mean of losses, and how far the runs would have to lie apart."""
    printed = ppl.interval()
    if printed.lo <= implied.hi:
        return
    apart = math.sqrt(2 * math.log(printed.lo / implied.hi))
    text = f"the losses of the runs would need an sd of at least about {apart:.2g} nats"
    yield Explanation("means over runs that are not stated (Jensen)", text, True)


def _reading(title: str, nats: Interval, ppl: Number) -> Explanation:
    if nats.hi > LARGEST:
        return Explanation(title, "", False)
    implied = nats.exp()
    return Explanation(title, f"about {float(implied.lo):.5g}", implied.meets(ppl.interval()))
