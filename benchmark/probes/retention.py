"""Whether a pattern that was put into attention is still there: mass on it, retention, contrast, distance to it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from benchmark.parameters import Metric
from benchmark.probe import Probe
from benchmark.records import ProbePoint
from benchmark.registry import probe

if TYPE_CHECKING:
    import torch

    from benchmark.task import Task
    from benchmark.train.moment import Moment

TEXTS = {
    "mass": ("Mass on O", "E mean_{i∈R} Σ_{j∈O_i} P_ij, from 0 to 1"),
    "retention": ("Retention", "(mass_t − u) / (mass_0 − u), u what uniform attention has on O"),
    "half_life": ("Half-life", "first recorded step with retention below ½; infinite when there is none"),
    "contrast": ("κ", "mean of B̃ over O minus mean of B̃ over the other entries of rows R"),
    "contrast_logits": ("κ of S̄̃", "the same of the mean logits"),
    "distance": ("TV(P, T)", "distance to T, uniform on O_i in row i; mean over rows R and examples"),
}


@probe("retention")
class Retention(Probe):
    """How much of a pattern O is left in attention, on the rows R that are neither all open nor all closed.

    O is the pattern the initialiser encodes (with another one or mistakes where it was given them), the task's for
    initialisers that encode none: their retention is defined where the start favours O.
    """

    pattern: Literal["encoded", "task"] = "encoded"
    """`task`: the task's own pattern in any case, which tells whether a wrong one is repaired."""
    least_excess: float = Field(default=0.01, gt=0)
    """Retention is defined where mass_0 is above u by at least this much."""

    def unsupported(self, task: Task) -> str | None:
        """Without a pattern nothing can be kept."""
        return None if task.has_pattern() else "the task has no interaction pattern"

    def metrics(self, task: Task) -> tuple[Metric, ...]:
        """See `TEXTS`."""
        return tuple(
            Metric(name=name, title=title, direction="none", unit="raw", description=text)
            for name, (title, text) in TEXTS.items()
        )

    def measure(self, moment: Moment) -> Mapping[str, torch.Tensor]:
        """All but the half-life, (L, H)."""
        from benchmark.probes.measures import by_layer, kept

        wanted = moment.open_entries(encoded=self.pattern == "encoded")
        if wanted is None:
            return {}
        layers = zip(moment.now.layers, moment.start.layers, wanted, strict=True)
        return by_layer(kept(now, start, entries, self.least_excess) for now, start, entries in layers)

    def conclude(self, points: Sequence[ProbePoint]) -> Iterable[ProbePoint]:
        """The half-life of each layer and head, and of the means."""
        curves: dict[tuple[int | None, int | None], list[ProbePoint]] = {}
        for point in points:
            if point.metric == "retention":
                curves.setdefault((point.layer, point.head), []).append(point)
        for (layer, head), curve in curves.items():
            below = (float(point.step) for point in curve if point.value < 0.5)
            half_life = next(below, math.inf)
            yield ProbePoint(self.key, self.family, "half_life", layer, head, curve[-1].step, half_life)
