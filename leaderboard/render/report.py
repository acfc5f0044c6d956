"""A report as one HTML file, or as Markdown (which cannot show the curves)."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from benchmark.errors import UsageError
from leaderboard.compare import Report as Comparison
from leaderboard.prior import Prior
from leaderboard.render import comparison as compared
from leaderboard.render import markdown as md
from leaderboard.render.heat import heat_maps
from leaderboard.render.html import fragment, page, text_table
from leaderboard.render.words import completeness, legend, result
from leaderboard.report import Page

ABOUT_SOLVED = "Seeds on which the task counts as solved, with the exact 95 % interval of the share (Clopper–Pearson)."
ABOUT_CURVES = "Line: mean over seeds; band: ± sample standard deviation; a gap where a seed has no finite value."

ABOUT_PRIOR = (
    "Retention: what is left of the attention on the pattern above what uniform attention has there, 1 at the start. "
    "Heat maps: rows are queries, columns keys; attention is the mean over the probe's examples, the bias has no row "
    "means, which softmax does not see. " + ABOUT_CURVES
)


def render(content: Page, format: str = "html") -> str:
    """The report as text. Raises UsageError for an unknown format."""
    written = {"html": html, "markdown": markdown}
    if format not in written:
        raise UsageError(f"unknown format '{format}'; there are: {', '.join(written)}")
    return written[format](content)


def html(content: Page) -> str:
    """A self-contained document."""
    board = content.board
    title = f"{board.title or board.experiment} ({board.profile})"
    sections = [
        f"<h1>{escape(title)}</h1>\n<p>{escape(completeness(board))}</p>",
        f"<p>{escape(content.question)}</p>" * bool(content.question),
        _section("Readings, written before", [_items(read(content))] * bool(content.readings)),
        fragment(board),
        _section("Questions", [_comparison(report) for report in content.comparisons], _method(content)),
        _section("Solved", [_items(content.solved)] * bool(content.solved), ABOUT_SOLVED),
        _section("Curves", _charts(content), ABOUT_CURVES),
        _section("The prior through training", prior_parts(content.prior), ABOUT_PRIOR),
        _section(
            "Findings on the published numbers", [_items(content.findings)] * bool(content.findings), content.checked
        ),
        _section(
            "Findings in the store",
            [_items(content.stored_findings)] * bool(content.stored_findings),
            content.stored_checked,
        ),
        _section("Failed and diverged cells", [_items(content.troubles)] * bool(content.troubles)),
        _section("Made with", [text_table(["what", "value"], _provenance(content))] * bool(content.provenance)),
        _section("Spec", [f"<pre>{escape(content.spec)}</pre>"] * bool(content.spec)),
    ]
    return page(title, "\n".join(section for section in sections if section))


def markdown(content: Page) -> str:
    """The same without curves."""
    board = content.board
    parts = [f"# {md.escape(board.title or board.experiment)} ({md.escape(board.profile)})", completeness(board)]
    parts.append(md.escape(content.question))
    if content.readings:
        parts += ["## Readings, written before", _bullets(read(content))]
    for table in board.tables:
        parts += [f"## {md.escape(table.title)}", md.table_text(table), md.escape(result(table))]
    parts.append("\n".join(f"- {md.escape(line)}" for line in legend(board)))
    if content.comparisons:
        parts += ["## Questions", md.escape(_method(content))]
        parts += [compared.markdown(report, with_method=False).rstrip() for report in content.comparisons]
    if content.solved:
        parts += ["## Solved", ABOUT_SOLVED, _bullets(content.solved)]
    if content.prior.sentences:
        parts += ["## The prior through training", _bullets(content.prior.sentences)]
    if content.checked:
        parts += ["## Findings on the published numbers", f"{md.escape(content.checked)}.", _bullets(content.findings)]
    if content.stored_checked:
        parts += [
            "## Findings in the store",
            f"{md.escape(content.stored_checked)}.",
            _bullets(content.stored_findings),
        ]
    if content.troubles:
        parts += ["## Failed and diverged cells", _bullets(content.troubles)]
    if content.provenance:
        parts += ["## Made with", _bullets([f"{what}: {value}" for what, value in _provenance(content)])]
    if content.spec:
        fence = "`" * 4
        parts += ["## Spec", f"{fence}yaml\n{content.spec.rstrip()}\n{fence}"]
    return "\n\n".join(part for part in parts if part) + "\n"


def read(content: Page) -> tuple[str, ...]:
    """Each outcome with what it would mean."""
    return tuple(f"{outcome}: {meaning}" for outcome, meaning in content.readings.items())


def _section(title: str, parts: list[str], about: str = "") -> str:
    """A heading with what is under it; nothing when there is nothing to say."""
    if not parts and not (about and title.startswith("Findings")):
        return ""
    lead = f'<p class="legend">{escape(about)}</p>' if about else ""
    return "\n".join([f"<h2>{escape(title)}</h2>", *([lead] if lead else []), *parts])


def _comparison(report: Comparison) -> str:
    table = text_table(compared.headings(report), compared.rows(report))
    notes = "".join(f"<li>{escape(note)}</li>" for note in compared.details(report))
    return f'<p><strong>{escape(report.summary)}</strong></p>\n{table}\n<ul class="legend">{notes}</ul>'


def _method(content: Page) -> str:
    """How the comparisons were made, said once."""
    return " ".join(compared.method(*content.comparisons)) if content.comparisons else ""


def _charts(content: Page) -> list[str]:
    return _figures(chart.svg() for chart in content.charts)


def prior_parts(prior: Prior) -> list[str]:
    """Sentences, curves and heat maps of a prior."""
    maps = (heat_maps(title, rows) for title, rows in prior.maps.items())
    return (
        [_items(prior.sentences), *_figures(c.svg() for c in prior.charts), *_figures(maps)] if prior.sentences else []
    )


def _figures(drawn: Iterable[str]) -> list[str]:
    figures = "\n".join(f"<figure>{svg}</figure>" for svg in drawn if svg)
    return [f'<div class="charts">{figures}</div>'] if figures else []


def _items(lines: tuple[str, ...]) -> str:
    return "<ul>" + "\n".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _bullets(lines: tuple[str, ...] | list[str]) -> str:
    return "\n".join(f"- {md.escape(line)}" for line in lines)


def _provenance(content: Page) -> list[list[str]]:
    return [[what, "; ".join(values)] for what, values in content.provenance.items()]
