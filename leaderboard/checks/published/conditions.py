"""The conditions behind the numbers: what was not told, what was chosen on the test set, who is compared with whom."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from leaderboard.checks.evidence import Evidence, Number, fold
from leaderboard.checks.finding import Explanation, Finding, Tally, cell
from leaderboard.checks.registry import check
from leaderboard.claims.model import Settings

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
        yield Finding(
            f"{len(gaps)} of {len(evidence.set.settings)} tables of settings leave some out",
            arithmetic=told,
            explanations=(Explanation("stated in the text or in released code", "enter them as settings", True),),
            pattern="settings",
        )


CHOSEN = re.compile(r"\b(best|max(imum)?|peak|oracle)\b")


@check("DB-TESTSEL")
def selected_on_test(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """The checkpoint was chosen on the test split."""
    chosen = [n for n in evidence.numbers if _is_chosen(n)]
    tally.in_range(sum(n.scope.aggregation is not None for n in evidence.numbers) - len(chosen))
    if not chosen:
        return
    tables = ", ".join(dict.fromkeys(n.claim.where.table for n in chosen))
    yield Finding(
        f"{len(chosen)} numbers ({tables}) are the {chosen[0].scope.aggregation} on the test split",
        cells=tuple(cell(n.claim) for n in chosen[:3]),
        arithmetic="the maximum of T noisy values exceeds their mean, by about σ √(2 ln T) for T independent ones",
        explanations=(Explanation("chosen on a validation split held out of training", "state the split", False),),
        pattern="chosen on test",
        note="The last epoch's number, or one chosen on held-out data, would be a test result.",
    )


def _is_chosen(number: Number) -> bool:
    return fold(number.scope.split) == "test" and bool(CHOSEN.search(fold(number.scope.aggregation)))


@check("DB-N")
def unequal_n(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Rows of one column stand on different numbers of runs or tasks."""
    for column in evidence.columns.values():
        for name, counts in (("runs", _counts(column, "n")), ("items", _averaged(column))):
            if len(counts) == 1:
                tally.in_range()
            elif len(counts) > 1:
                yield _unequal(name, counts)


def _counts(numbers: list[Number], field: str) -> dict[int, list[Number]]:
    counts: dict[int, list[Number]] = defaultdict(list)
    for number in numbers:
        if (count := getattr(number.claim, field)) is not None:
            counts[count].append(number)
    return counts


def _averaged(column: list[Number]) -> dict[int, list[Number]]:
    return _counts([n for n in column if n.claim.role == "average"], "items")


def _unequal(name: str, counts: dict[int, list[Number]]) -> Finding:
    told = ", ".join(f"{numbers[0].scope.method} {count}" for count, numbers in sorted(counts.items()))
    first = next(iter(counts.values()))[0]
    column = f"{first.claim.where.table}, {first.scope.task or first.scope.metric}"
    return Finding(
        f"{column}: different numbers of {name} ({told})",
        cells=tuple(cell(numbers[0].claim) for numbers in counts.values()),
        arithmetic="a mean over other runs or tasks is another quantity",
        explanations=(Explanation("the missing ones were lost at random", "cannot be told from the print", False),),
        pattern=f"unequal numbers of {name}",
    )


@check("DB-NONFINITE")
def not_finite(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A value that is no finite number."""
    for claim in evidence.set.claims:
        words = [text for text in (claim.printed, *claim.values) if NOT_FINITE.search(text.casefold())]
        if not words:
            tally.in_range()
            continue
        total = len(claim.values)
        rate = f"{len(words)} of {total} runs" if total else "the cell"
        yield Finding(
            f"{rate} printed as {words[0]}",
            cells=(cell(claim),),
            arithmetic=f"failure rate {100 * len(words) / total:.0f} %" if total else "",
            explanations=(Explanation("a cell that was never run", "print a dash", True),),
            pattern="values that are not finite",
        )


NOT_FINITE = re.compile(r"\b(nan|inf|infinity|diverged|failed|oom)\b|∞")
