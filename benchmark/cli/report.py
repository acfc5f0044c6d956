"""`bench report`: one file with tables, comparisons, curves, findings and provenance."""

from __future__ import annotations

from pathlib import Path

import click

from benchmark.cli.common import part_options, plugin_option, store_option
from benchmark.cli.leaderboard import SUFFIXES, load_spec, write
from benchmark.cli.stores import open_store
from benchmark.errors import ExitCode


@click.command(short_help="Write a page with tables, curves and findings.")
@click.argument("spec", required=False)
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), default=Path("report.html"), show_default=True,
    help="File to write; `-` for the screen.",
)  # fmt: skip
@click.option(
    "--format", "format", type=click.Choice(["html", "markdown"]),
    help="By --output's suffix if absent, otherwise html. Markdown has no curves.",
)  # fmt: skip
@part_options("One table for each metric that matches (repeatable).")
@click.option(
    "--baseline", metavar="NAME", help="Compare the others with this initialiser; the spec's first if absent."
)
@click.option(
    "--fdr", is_flag=True,
    help="Beside each p also q: Benjamini and Hochberg's false-discovery rate over all questions of the page.",
)  # fmt: skip
@store_option()
@plugin_option()
def command(
    spec: str | None,
    output: Path,
    format: str | None,
    metric: tuple[str, ...],
    task: tuple[str, ...],
    initializer: tuple[str, ...],
    profile: str | None,
    seeds: tuple[int, ...] | None,
    baseline: str | None,
    fdr: bool,
    store: Path,
    plugin: tuple[Path, ...],
) -> int:
    """Write a report on SPEC, or on the last run in the store, as one file that needs nothing else.

    Works while a run is going, with what there is.
    """
    from leaderboard.render.report import render
    from leaderboard.report import make_page
    from leaderboard.tables import Selection

    experiment = load_spec(spec, profile, seeds, plugin)
    page = make_page(
        open_store(store),
        experiment,
        profile=profile,
        plugins=plugin,
        selection=Selection(metric, task, initializer),
        baseline=baseline,
        fdr=fdr,
    )
    text = render(page, format or chosen(output))
    if str(output) == "-":
        click.echo(text, nl=False)
    else:
        write(output, text)
    return ExitCode.COMPLETE


def chosen(output: Path) -> str:
    """The format a file name asks for."""
    return "markdown" if SUFFIXES.get(output.suffix.lower()) == "markdown" else "html"
