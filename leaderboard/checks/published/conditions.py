"""The conditions behind the numbers: what was not told, what was chosen on the test set, who is compared with whom."""

from __future__ import annotations

from collections.abc import Iterator

from leaderboard.checks.evidence import Evidence, Number, fold
from leaderboard.checks.finding import Explanation, Finding, Tally, cell, say
from leaderboard.checks.registry import check
from leaderboard.claims.model import Settings
from leaderboard.lexicon.phrases import says

REQUIRED = (
    ("model",),
    ("epochs", "steps"),
    ("batch size",),
    ("optimizer",),
    ("learning rate",),
    ("schedule",),
    ("weight decay",),
    ("seed", "seeds"),
    ("selection",),
)
"""Settings without which a number cannot be reproduced; one name of each is enough."""


def missing(settings: Settings) -> list[str]:
    """Required settings that are not stated."""
    stated = {fold(name) for name in settings.stated}
    return [names[0] for names in REQUIRED if not stated.intersection(names)]


@check("HPARAM")
def hyperparameters(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Settings that are not told."""
    if not evidence.set.settings:
        tally.skip("no settings entered")
        return
    gaps = [(settings, lacking) for settings in evidence.set.settings if (lacking := missing(settings))]
    tally.in_range(len(evidence.set.settings) - len(gaps))
    if gaps:
        told = "; ".join(f"{settings.where} ({', '.join(settings.tasks)}): {', '.join(m)}" for settings, m in gaps)
        yield say(
            f"{len(gaps)} of {len(evidence.set.settings)} tables of settings leave some out",
            arithmetic=told, pattern="settings",
            could=[Explanation("stated in the text or in released code", "enter them as settings", True)],
        )  # fmt: skip


@check("DB-TESTSEL")
def selected_on_test(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """The checkpoint was chosen on the test split."""
    chosen = [n for n in evidence.numbers if _is_chosen(n)]
    tally.in_range(sum(n.scope.aggregation is not None for n in evidence.numbers) - len(chosen))
    if not chosen:
        return
    tables = ", ".join(dict.fromkeys(n.table for n in chosen))
    yield say(
        f"{len(chosen)} numbers ({tables}) are the {chosen[0].scope.aggregation} on the test split", *chosen[:3],
        arithmetic=MAXIMUM, pattern="chosen on test",
        could=[Explanation("chosen on a validation split held out of training", "state the split")],
        note="The last epoch's number, or one chosen on held-out data, would be a test result.",
    )  # fmt: skip


MAXIMUM = "the maximum of T noisy values exceeds their mean, by about σ √(2 ln T) for T independent ones"


def _is_chosen(number: Number) -> bool:
    return number.split == "test" and bool(says("chosen", fold(number.scope.aggregation)))


@check("DB-N")
def unequal_n(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Rows of one column stand on different numbers of runs or tasks."""
    for column in evidence.columns.values():
        averages = [n for n in column if n.claim.role == "average"]
        for name, found in (
            ("runs", [(n, n.claim.n) for n in column]),
            ("items", [(n, n.claim.items) for n in averages]),
        ):
            firsts = {count: n for n, count in reversed(found) if count is not None}
            if len(firsts) == 1:
                tally.in_range()
            elif len(firsts) > 1:
                yield _unequal(name, firsts)


def _unequal(name: str, firsts: dict[int, Number]) -> Finding:
    told = ", ".join(f"{number.scope.method} {count}" for count, number in sorted(firsts.items()))
    first = next(reversed(firsts.values()))
    return say(
        f"{first.table}, {first.scope.task or first.scope.metric}: different numbers of {name} ({told})",
        *reversed(firsts.values()), arithmetic="a mean over other runs or tasks is another quantity",
        could=[Explanation("the missing ones were lost at random", "cannot be told from the print")],
        pattern=f"unequal numbers of {name}",
    )  # fmt: skip


@check("DB-NONFINITE")
def not_finite(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A value that is no finite number."""
    for claim in evidence.set.claims:
        words = [text for text in (claim.printed, *claim.values) if says("not-finite", text)]
        if not words:
            tally.in_range()
            continue
        total = len(claim.values)
        yield say(
            f"{f'{len(words)} of {total} runs' if total else 'the cell'} printed as {words[0]}", cell(claim),
            arithmetic=f"failure rate {100 * len(words) / total:.0f} %" if total else "",
            could=[Explanation("a cell that was never run", "print a dash", True)],
            pattern="values that are not finite",
        )  # fmt: skip
