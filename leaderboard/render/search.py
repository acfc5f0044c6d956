"""A search over readings in words and rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from leaderboard import rounding
from leaderboard.published import PUBLISHED_PROFILE
from leaderboard.render.markdown import escape
from leaderboard.search import Answer, Effect, Hit, Target
from leaderboard.stats import summarize

SHOWN = 12
"""Readings and effects listed; JSON has all."""


def tables(found: Answer) -> dict[str, tuple[list[str], list[list[str]]]]:
    """Title → headings and rows."""
    return {
        "Readings, best first": (
            ["reading", "seeds", "agrees", "mean rank"],
            [
                [score.label, str(measured), f"{len(score.agreeing)} of {len(score.hits)}", f"{score.rank:.1f}"]
                for score in found.scores[:SHOWN]
                for measured in [max((len(hit.values) for hit in score.hits), default=0)]
            ],
        ),
        "Printed numbers": (
            ["printed", "the best reading gives", "readings that agree", "nearest of any"],
            [_number(found, place, target) for place, target in enumerate(found.targets)],
        ),
        "Choices, all else equal": _effects(found),
    }


def _number(found: Answer, place: int, target: Target) -> list[str]:
    hits = found.hits(target)
    agree = f"{len(found.giving(target))} of {len(hits)}"
    return [target.label, _measured(found.scores[0].hits[place]), agree, _measured(hits[0]) if hits else "not measured"]


def _measured(hit: Hit) -> str:
    summary = summarize(list(hit.values.values()))
    if summary.mean is None:
        return "not measured"
    decimals = rounding.entry_decimals(summary.mean, summary.std, hit.target.metric.unit)
    mean, std = rounding.mean_and_std(summary.mean, summary.std, decimals, hit.target.metric.unit)
    mark = {"agrees": " ✓", "differs": " ✗"}.get(hit.verdict, "")
    return f"{mean} ± {std}{mark}" if std is not None else f"{mean} (1 seed)"


def sentences(found: Answer) -> list[str]:
    """What was found, and what it took."""
    best, reached = found.scores[0], [target for target in found.targets if found.giving(target)]
    said = [f"Of {len(found.targets)} printed numbers {len(reached)} agree with some reading."]
    everything = [score.label for score in found.scores if score.hits and len(score.agreeing) == len(score.hits)]
    if everything:
        said.append(f"All of them agree with: {'; '.join(everything)}.")
    elif math.isfinite(best.rank):
        said.append(f"None agrees with all of them; nearest over all: {best.label} ({len(best.agreeing)} agree).")
    if found.unreached:
        said.append(f"No tried reading gives: {'; '.join(target.label for target in found.unreached)}.")
    untold = [t.label for t in found.targets if t not in reached and t not in found.unreached]
    if untold:
        said.append(f"Cannot be told, for want of seeds: {'; '.join(untold)}.")
    if found.profile != PUBLISHED_PROFILE:
        said.append(f"Measured at profile {found.profile}, which is not the printed scale: numbers agree, not set-ups.")
    if found.spent:
        cells, hours = found.spent["cells"], found.spent["seconds"] / 3600
        said.append(f"Spent: {cells:,.0f} cells, {hours:.2f} hours of training.")
    return said


def _effects(found: Answer) -> tuple[list[str], list[list[str]]]:
    """Headings, and the effects of each choice: those that are shown not to be zero first, the largest first."""
    ordered = sorted(found.effects, key=lambda e: (e.comparison.p is None, e.comparison.p or 0.0))
    headings = ["choice", "of", "difference [95 % CI]", "p", "seeds", "pairs"]
    return headings, [_effect(effect) for effect in ordered[:SHOWN]]


def _effect(effect: Effect) -> list[str]:
    compared, interval = effect.comparison, effect.comparison.interval
    between = "" if interval is None else f" [{interval.low:.3g}, {interval.high:.3g}]"
    target = f"{effect.target.initializer} × {effect.target.task}, {effect.target.metric.title}"
    difference = "" if compared.difference is None else f"{compared.difference:+.3g}{between}"
    p = "no test" if compared.p is None else f"{compared.p:.2g}"
    return [
        f"{effect.axis}: {effect.value} − {effect.against}",
        target,
        difference,
        p,
        str(compared.n),
        str(effect.pairs),
    ]


def markdown(found: Answer) -> str:
    """The answer as Markdown."""
    parts = [f"* {sentence}" for sentence in sentences(found)]
    for title, (headings, rows) in tables(found).items():
        parts += ["", f"{title}:", "", *table(headings, rows)] if rows else []
    return "\n".join(parts) + "\n"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return ["| " + " | ".join(map(escape, line)) + " |" for line in lines]
