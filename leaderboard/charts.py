"""Curves over training as charts: a mean over seeds and its spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.reading import Points
from leaderboard.render.svg import Series, line_chart


@dataclass(frozen=True)
class Chart:
    """One metric of one task over training, or along an axis of a grid."""

    task: str
    metric: str
    series: tuple[Series, ...]
    across: str = "optimiser step"
    """What runs along the horizontal axis."""

    def svg(self) -> str:
        """Inline SVG."""
        return line_chart(self.series, self.task, self.across, self.metric)


def mean_curve(curves: Sequence[Points]) -> tuple[tuple[float, float | None, float | None], ...]:
    """Step → mean and standard deviation over seeds; None where a seed is not finite, so that a survivor's mean is
    never drawn as the mean."""
    import numpy as np

    if not curves:
        return ()
    steps = np.unique(np.concatenate([at for at, _ in curves]))
    values = np.full((len(curves), len(steps)), np.nan)
    for row, (at, found) in zip(values, curves, strict=True):
        row[np.searchsorted(steps, at)] = found
    whole = np.isfinite(values).all(axis=0)
    known = values[:, whole]
    several = len(curves) > 1
    spread = known.std(axis=0, ddof=1).tolist() if several else [None] * int(whole.sum())
    drawn = dict(zip(steps[whole].tolist(), zip(known.mean(axis=0).tolist(), spread, strict=True), strict=True))
    return tuple((step, *drawn.get(step, (None, None))) for step in steps.tolist())
