"""A comparison as rows of text, and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping

from leaderboard import rounding
from leaderboard.compare import Line, Report
from leaderboard.render.markdown import escape
from leaderboard.stats import MIN_SEEDS, RESOLUTION, summarize
from leaderboard.tables import Entry

SMALLEST_P = 0.001


def headings(report: Report) -> list[str]:
    """Titles of the columns."""
    scope = ["task", "initializer"] if any(line.initializer for line in report.lines) else ["task"]
    return [*scope, "metric", report.first, report.second, "difference [95 % CI]", "p (Holm)", "verdict"]


def rows(report: Report) -> list[list[str]]:
    """One row of text for each line."""
    several = any(line.initializer for line in report.lines)
    return [
        [line.task, *([line.initializer or ""] if several else []), _metric(line), *_numbers(line), line.verdict]
        for line in report.lines
    ]


def notes(report: Report) -> list[str]:
    """Why each verdict is what it is, and how the tests were made."""
    return [*details(report), *method(report)]


def details(report: Report) -> list[str]:
    """One sentence for each line that needs one."""
    return [f"{_name(line)}: {detail}." for line in report.lines if (detail := _detail(line))]


def method(report: Report) -> list[str]:
    """How the tests were made."""
    terms = report.terms
    margin = "no margin given, so nothing is called practically equal unless it is the same on every seed"
    if terms.margin:
        margin = f"practically equal: TOST within ±{terms.margin:g}"
    scale = "" if terms.scale == "raw" else f" on the {terms.scale} scale"
    return [
        f"Profile {report.profile}. ± is the sample standard deviation (ddof = 1) over n seeds, (n) beside it; "
        "the difference is the first − the second, its interval not adjusted.",
        f"t-test by seed{scale}, Holm over {report.family} comparisons, α = {terms.alpha:g}; {margin}.",
    ]


def markdown(report: Report, *, with_method: bool = True) -> str:
    """The comparison as GitHub-flavoured Markdown."""
    said = [*details(report), *(method(report) if with_method else [])]
    lines = [[escape(item) for item in row] for row in (headings(report), *rows(report))]
    lines.insert(1, [":--" for _ in lines[0]])
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return "\n\n".join([table, escape(report.summary), "\n".join(f"- {escape(note)}" for note in said)]) + "\n"


def p_text(p: float | None) -> str:
    """A p-value as text."""
    return "–" if p is None else f"< {SMALLEST_P}" if p < SMALLEST_P else f"{p:.3f}"


def _metric(line: Line) -> str:
    arrow = {"max": " ↑", "min": " ↓", "none": ""}[line.metric.direction]
    unit = " (%)" if line.metric.unit == "percent" and "%" not in line.metric.title else ""
    return line.metric.title + unit + arrow


def _numbers(line: Line) -> list[str]:
    arms = [Entry(values=line.first), Entry(values=line.second)]
    pairs = [(arm.mean, arm.std if arm.n >= MIN_SEEDS else None) for arm in arms if arm.mean is not None]
    places = rounding.column_decimals(pairs, line.metric.unit)
    return [
        _arm(line.first, places, line.metric.unit),
        _arm(line.second, places, line.metric.unit),
        _difference(line),
        p_text(line.p_holm),
    ]


def _arm(values: Mapping[int, float], places: int, unit: str) -> str:
    summary = summarize(list(values.values()))
    if summary.mean is None:
        return "–"
    value, spread = rounding.mean_and_std(summary.mean, summary.std if summary.n >= MIN_SEEDS else None, places, unit)
    return f"{value}{f' ± {spread}' if spread else ''} ({summary.n})"


def _difference(line: Line) -> str:
    comparison = line.comparison
    if comparison.difference is None:
        return "–"
    interval = comparison.interval
    half = (interval.high - interval.low) / 2 if interval else 0.0
    largest = max(map(abs, (*line.first.values(), *line.second.values())), default=0.0)
    if half > RESOLUTION * largest:
        places = rounding.pdg_decimals(half)
    else:
        places = rounding.entry_decimals(comparison.difference, None, line.metric.unit)
    sign = "+" if comparison.difference > 0 else ""
    text = sign + rounding.text(comparison.difference, places).replace("-", "−")
    if interval is None or not half:
        return text
    low, high = (rounding.text(bound, places).replace("-", "−") for bound in (interval.low, interval.high))
    return f"{text} [{low}, {high}]"


def _name(line: Line) -> str:
    return " / ".join(part for part in (line.task, line.initializer, line.metric.name) if part)


def _detail(line: Line) -> str:
    comparison = line.comparison
    parts = [line.reason] if line.reason else []
    if comparison.rho is not None:
        parts.append(f"paired by seed, ρ = {_signed(comparison.rho)}")
    if comparison.effect:
        kind = "d_z" if comparison.method == "paired t" else "g"
        parts.append(f"effect {kind} = {_signed(comparison.effect)}")
    if comparison.exact_p is not None:
        parts.append(f"sign-flip p = {p_text(comparison.exact_p)}{_disagreement(line)}")
    if line.verdict == "undecided" and line.detectable:
        digits = rounding.text(line.detectable, rounding.pdg_decimals(line.detectable))
        parts.append(
            f"{comparison.n} seeds of this spread would show a true difference of {digits} with 80 % probability"
        )
    return "; ".join(parts)


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _disagreement(line: Line) -> str:
    """Said when the two tests, both unadjusted, fall on different sides of 0.05."""
    t, exact = line.comparison.p, line.comparison.exact_p
    apart = t is not None and exact is not None and (t < 0.05) != (exact < 0.05)
    return " (disagrees with the t-test)" if apart else ""
