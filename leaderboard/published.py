"""Published numbers beside measured ones, and whether the seeds allow one to say that they agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from leaderboard.claims import Claim, ClaimSet
from leaderboard.stats import MIN_SEEDS, RESOLUTION, summarize, t_quantile
from leaderboard.tables import Published, PublishedLookup, PublishedVerdict

PUBLISHED_PROFILE = "paper"
"""The profile that has the published scale; numbers of any other get no verdict."""


def lookup(sets: Sequence[ClaimSet], profile: str) -> PublishedLookup:
    """Finds the claims of a task, an initialiser and a metric in these sets, through their aliases.

    A metric measured on a sample, `accuracy@4096`, stands beside what is published of `accuracy`.
    """

    def find(task: str, initializer: str, metric: str, values: Mapping[int, float]) -> tuple[Published, ...]:
        found = [
            _published(claim, claims.source or claims.id, profile, values)
            for claims in sets
            for claim in claims.find(task=task, initializer=initializer, metric=metric.partition("@")[0])
            if claim.printed
        ]
        return tuple(dict.fromkeys(found))

    return find


def _published(claim: Claim, source: str, profile: str, values: Mapping[int, float]) -> Published:
    said, reason = verdict(claim, profile, list(values.values()))
    table = ", ".join(part for part in (claim.where.table, _split(claim)) if part)
    return Published(claim.printed, table, source, claim.n, said, reason)


def _split(claim: Claim) -> str:
    """The split where a table has several."""
    return claim.scope.split or "" if claim.where.column == claim.scope.split else ""


def verdict(claim: Claim, profile: str, values: Sequence[float]) -> tuple[PublishedVerdict, str]:
    """Whether a published number lies where these seeds predict another run (or mean of n runs) to lie.

    The interval is mean ± t(n-1) · s · √(1/n + 1/n_published), widened by half a unit of the printed number's last
    place: "agrees" means that no difference was shown.
    """
    if profile != PUBLISHED_PROFILE:
        return "other scale", f"profile {profile}, published at profile {PUBLISHED_PROFILE}"
    if claim.scope.aggregation not in (None, "mean", "single run"):
        return "cannot say", f"published is {claim.scope.aggregation}, measured is the last evaluation"
    if claim.unit == "fraction":
        return "cannot say", "published as a fraction"
    if len(values) < MIN_SEEDS:
        return "cannot say", f"{len(values)} seeds, {MIN_SEEDS} needed"
    summary = summarize(values)
    assert summary.mean is not None
    assert summary.std is not None
    spread = summary.std * math.sqrt(1 / summary.n + 1 / (claim.n or 1)) * t_quantile(0.95, summary.n - 1)
    allowed = spread + 0.5 * 10.0**-claim.decimals + RESOLUTION * abs(summary.mean)
    gap = summary.mean - float(claim.value)
    inside: PublishedVerdict = "agrees" if abs(gap) <= allowed else "differs"
    return inside, f"difference {gap:+.4g}, {allowed:.4g} allowed"
