"""A comparison as rows of text, and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping

from leaderboard import rounding
from leaderboard.compare import Line, Report
from leaderboard.render.markdown import escape
from leaderboard.render.words import scaled
from leaderboard.stats import RESOLUTION, Interval, paired_share_p, share_interval
from leaderboard.tables import Entry

SMALLEST_P = 0.001
MOST_PLACES = 12


def headings(report: Report) -> list[str]:
    """Titles of the columns."""
    scope = ["task", "initializer"] if any(line.initializer for line in report.lines) else ["task"]
    return [*scope, "metric", report.first, report.second, "difference [95 % CI]", "verdict", "p (Holm)"]


def rows(report: Report) -> list[list[str]]:
    """One row of text for each line."""
    several = any(line.initializer for line in report.lines)
    return [
        [
            line.task,
            *([line.initializer or ""] if several else []),
            _metric(line),
            *_numbers(line),
            line.verdict,
            _p(line),
        ]
        for line in report.lines
    ]


def notes(report: Report) -> list[str]:
    """Why each verdict is what it is, and how the tests were made."""
    return [*details(report), *method(report)]


def details(report: Report) -> list[str]:
    """One sentence for each line that needs one, and one for all that could not be compared."""
    said = [f"{_name(line)}: {detail}." for line in report.lines if (detail := _detail(line))]
    if report.absent:
        said.append(f"Not compared, since an arm has no value yet: {', '.join(report.absent)}.")
    return said


def method(*reports: Report) -> list[str]:
    """How the tests of these questions were made."""
    terms, lines = reports[0].terms, [line for report in reports for line in report.lines]
    margin = "no margin given, so nothing is called practically equal unless it is the same on every seed"
    if terms.margin:
        margin = f"practically equal: TOST within ±{terms.margin:g}"
    family = "Holm over the tests of each question"
    if len(reports) == 1:
        (one,) = reports
        family = "one test" if one.family == 1 else f"Holm over the {one.family} tests of this question"
        family += f" ({one.first} against {one.second})"
    told = [
        f"Profile {reports[0].profile}. ± is the sample standard deviation (ddof = 1) over n seeds, (n) beside it; "
        "the difference is the first − the second in raw units, its interval not adjusted.",
        f"t-test by seed{scaled((line.comparison.scale, line.metric.title) for line in lines)}; {family}, "
        f"α = {terms.alpha:g}; {margin}.",
    ]
    if any(line.q is not None for line in lines):
        told.append("q: false-discovery rate over all tests of all questions (Benjamini and Hochberg).")
    return told


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
    return [*(_arm(Entry(values=arm), line) for arm in (line.first, line.second)), _difference(line)]


def _p(line: Line) -> str:
    return p_text(line.p_holm) + ("" if line.q is None else f" (q {p_text(line.q)})")


def _arm(arm: Entry, line: Line) -> str:
    if arm.mean is None:
        return "–"
    value, spread = rounding.mean_and_std(arm.mean, arm.shown_std, line.decimals, line.metric.unit)
    return f"{value}{f' ± {spread}' if spread else ''} ({arm.n})"


def _difference(line: Line) -> str:
    comparison = line.comparison
    if comparison.difference is None:
        return "–"
    interval = comparison.interval
    half = (interval.high - interval.low) / 2 if interval else 0.0
    largest = max(map(abs, (*line.first.values(), *line.second.values())), default=0.0)
    if half > RESOLUTION * largest:
        places = rounding.pdg_decimals(half)
        bounds = [] if interval is None else [interval.low, interval.high]
        while any(bound and not rounding.round_to(bound, places) for bound in bounds) and places < MOST_PLACES:
            places += 1  # a bound that is not 0 may not print as 0: it says whether the interval has 0 in it
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
    if comparison.effect:
        kind = "d_z" if comparison.method == "paired t" else "g"
        parts.append(f"effect {kind} = {_signed(comparison.effect)}")
    if comparison.rho is not None:
        parts.append(f"paired by seed, ρ = {_signed(comparison.rho)}")
    if line.solved is not None:
        parts.append(_solved(*line.solved))
    if comparison.exact_p is not None:
        parts.append(f"sign-flip p = {p_text(comparison.exact_p)}{_disagreement(line)}")
    if line.verdict == "undecided" and line.detectable:
        digits = rounding.text(line.detectable, rounding.pdg_decimals(line.detectable))
        parts.append(
            f"{comparison.n} seeds of this spread would show a true difference of {digits} with 80 % probability in "
            "this question"
        )
    return "; ".join(parts)


def _solved(first: Mapping[int, bool], second: Mapping[int, bool]) -> str:
    """`solved on 2 of 5 seeds [5 %, 85 %] against 0 of 5 [0 %, 52 %], exact p = 0.500`."""
    shares = [
        f"{sum(arm.values())} of {len(arm)} [{low:.0%}, {high:.0%}]".replace("%", " %")
        for arm in (first, second)
        for low, high in [_bounds(share_interval(sum(arm.values()), len(arm)))]
    ]
    p = paired_share_p(first, second)
    return f"solved on {shares[0]} seeds against {shares[1]}" + ("" if p is None else f", exact p = {p_text(p)}")


def _bounds(interval: Interval) -> tuple[float, float]:
    return interval.low, interval.high


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _disagreement(line: Line) -> str:
    """Said when the two tests, both unadjusted, fall on different sides of 0.05."""
    t, exact = line.comparison.p, line.comparison.exact_p
    apart = t is not None and exact is not None and (t < 0.05) != (exact < 0.05)
    return " (disagrees with the t-test)" if apart else ""
