"""From a test under each rounding policy to a verdict and a finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from leaderboard.checks.finding import Cell, Explanation, Finding, Severity, Verdict, ranked
from leaderboard.checks.numbers import LOOSER
from leaderboard.claims.model import Rounding

Test = Callable[[Rounding | None], bool]


def judge(test: Test, declared: Rounding) -> tuple[Verdict, Rounding]:
    """`test(None)` uses every number's own policy, `test(policy)` that one for all.

    Returns the verdict and the policy it holds under (for FAIL: the declared one).
    """
    if test(None):
        return Verdict.PASS, declared
    for policy in LOOSER[declared]:
        if test(policy):
            return Verdict.PASS_IF_ROUNDING, policy
    return Verdict.FAIL, declared


POLICY = {
    "nearest": "rounded to nearest, ties either way (± 0.5 of the last digit)",
    "double": "rounded twice (± 0.55 of the last digit)",
    "truncated": "truncated (up to 1 of the last digit lost)",
}


def report(
    check: str,
    severity: Severity,
    verdict: Verdict,
    policy: Rounding,
    message: str,
    cells: Sequence[Cell],
    arithmetic: str,
    explanations: Sequence[Explanation] = (),
    **more: Any,
) -> Finding:
    """A finding; one that holds under a looser rounding only is no more than information."""
    if verdict is Verdict.PASS_IF_ROUNDING:
        severity = Severity.INFO
        message = f"{message}; agrees only if {POLICY[policy].split(' (')[0]}"
    return Finding(
        check=check,
        severity=severity,
        verdict=verdict,
        message=message,
        cells=tuple(cells),
        arithmetic=arithmetic,
        policy=POLICY[policy],
        explanations=ranked(explanations),
        **more,
    )
