"""Perplexity against the loss it is the exponential of."""

from __future__ import annotations

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


@check("PPL", 28, "a perplexity that is not the exponential of its loss", Severity.WARNING)
def perplexity(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Perplexity is e^loss for one run; a mean over runs can only be greater than e^(mean loss).

    Formula: [e^(L − h), e^(L + h)] must meet the interval of P; for n ≠ 1 (Jensen) only P ≥ e^(L − h).
    Source: Jensen 1906; definitions. Power: a loss to two decimals fixes its perplexity within 0.5 %.
    Blind spot: tokens normalised per word or character, label smoothing, auxiliary losses; hence a warning.
    """
    for loss, ppl in evidence.related("loss", "perplexity"):
        if not 0 <= loss.reported.value < LARGEST:
            tally.skip("no loss of a language model")
            continue
        single = loss.claim.n == 1 and ppl.claim.n in {1, None}

        def test(policy: Rounding | None, loss: Number = loss, ppl: Number = ppl, single: bool = single) -> bool:
            implied, printed = loss.interval(policy).exp(), ppl.interval(policy)
            return implied.meets(printed) if single else implied.lo <= printed.hi

        verdict, policy = judge(test, loss.claim.rounding)
        if verdict is Verdict.PASS:
            tally.ok()
        else:
            yield _not_exponential(loss, ppl, single, verdict, policy)


def _not_exponential(loss: Number, ppl: Number, single: bool, verdict: Verdict, policy: Rounding) -> Finding:
    implied = loss.interval().exp()
    digits = max(ppl.reported.decimals, 0)
    middle = show((implied.lo + implied.hi) / 2, digits)
    relation = "is" if single else "is at least"
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
            Explanation("normalised per word on one side, per token on the other", "", True),
            slip("perplexity", ppl.reported, lambda other: implied.meets(other.interval())),
        ],
        nearest=(middle,),
        pattern="perplexities that are no exponentials",
    )


def _reading(title: str, nats: Interval, ppl: Number) -> Explanation:
    if nats.hi > LARGEST:
        return Explanation(title, "", False)
    implied = nats.exp()
    return Explanation(title, f"about {float(implied.lo):.5g}", implied.meets(ppl.interval()))
