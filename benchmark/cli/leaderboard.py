"""`bench leaderboard`: task × initialiser with what the seeds support; `--check` holds a written table to the store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmark.cli.common import json_option, part_options, plugin_option, store_option, testing_options
from benchmark.cli.stores import open_store
from benchmark.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from benchmark.spec.load import LoadedExperiment
    from benchmark.store import Store
    from leaderboard.tables import Leaderboard

FORMATS = ("terminal", "markdown", "latex", "csv", "json", "html")
"""As `leaderboard.render.FORMATS` (a test holds them equal); written out so that `--help` need not import it."""

SUFFIXES = {".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json", ".html": "html", ".htm": "html"}


@click.command(short_help="Print task × initialiser: mean ± std, n, published values.")
@click.argument("spec", required=False)
@click.option(
    "--format", "format", type=click.Choice(FORMATS), default=None,
    help="How to write it; by --output's suffix if absent, otherwise terminal.",
)  # fmt: skip
@json_option("Same as --format json.")
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="Write to a file instead of the screen."
)
@part_options("One table for each metric that matches (repeatable).")
@click.option("--axis", metavar="NAME", help="Columns by the values of this axis of a grid, a table for each metric.")
@click.option("--show-values", is_flag=True, help="Every seed's value beside the mean.")
@click.option("--no-published", is_flag=True, help="Leave published numbers out.")
@testing_options("of the tests in one column")
@click.option(
    "--check", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Compare a table written earlier with the store; exit 4 and name the numbers when they have parted.",
)  # fmt: skip
@click.option("--strict", is_flag=True, help="Exit 3 when planned cells are missing or failed.")
@store_option()
@plugin_option()
def command(
    spec: str | None,
    format: str | None,
    as_json: bool,
    output: Path | None,
    metric: tuple[str, ...],
    task: tuple[str, ...],
    initializer: tuple[str, ...],
    profile: str | None,
    seeds: tuple[int, ...] | None,
    axis: str | None,
    show_values: bool,
    no_published: bool,
    scale: str | None,
    alpha: float,
    check: Path | None,
    strict: bool,
    store: Path,
    plugin: tuple[Path, ...],
) -> int:
    """Print the leaderboard of SPEC, or of the last run in the store.

    One line per initialiser, one column per task: mean ± sample standard deviation with n beside it, bold for what
    is not shown to be worse than the best. Works while a run is going.
    """
    from leaderboard.api import make_leaderboard
    from leaderboard.tables import Selection

    opened = open_store(store)
    experiment = load_spec(spec, profile, seeds, plugin)
    if check is not None:
        return run_check(check, opened, experiment, profile, plugin)
    selection = Selection(metric, task, initializer, not no_published, scale, alpha, axis)  # type: ignore[arg-type]
    board = make_leaderboard(opened, experiment, profile=profile, plugins=plugin, selection=selection)
    show(board, chosen_format(format, as_json, output), output, show_values)
    for warning in opened.warnings:
        click.echo(f"warning: {warning}", err=True)
    return ExitCode.INCOMPLETE if strict and not board.complete else ExitCode.COMPLETE


def load_spec(
    spec: str | None, profile: str | None, seeds: tuple[int, ...] | None, plugin: tuple[Path, ...]
) -> LoadedExperiment | None:
    """The experiment named on the command line, if one is."""
    if spec is None:
        if seeds is not None:
            raise UsageError("--seeds needs a SPEC: without one the last run in the store is shown as it ran")
        return None
    from benchmark.spec.load import load_experiment

    return load_experiment(spec, profile=profile, seeds=seeds, plugins=plugin)


def chosen_format(format: str | None, as_json: bool, output: Path | None) -> str:
    """`--json`, `--format`, the suffix of `--output`, or terminal."""
    if as_json and format not in (None, "json"):
        raise UsageError(f"--json and --format {format} exclude each other")
    if as_json:
        return "json"
    return format or (SUFFIXES.get(output.suffix.lower(), "terminal") if output else "terminal")


def show(board: Leaderboard, format: str, output: Path | None, show_values: bool) -> None:
    """Print or write the leaderboard; colours only on a terminal."""
    from leaderboard.render import render
    from leaderboard.render.terminal import render as render_terminal

    if format == "terminal" and output is None:
        color = sys.stdout.isatty()
        click.echo(render_terminal(board, show_values=show_values, color=color), nl=False)
    elif output is None:
        click.echo(render(board, format, show_values=show_values), nl=False)
    else:
        write(output, render(board, format, show_values=show_values))


def write(output: Path, text: str) -> None:
    """Write a file that is there whole or as it was. Raises StoreWriteError."""
    from benchmark.store.layout import whole

    with whole("the output", output) as draft:
        draft.write_text(text, encoding="utf-8")
    click.echo(f"wrote {output}", err=True)


def run_check(
    file: Path, store: Store, experiment: LoadedExperiment | None, profile: str | None, plugins: tuple[Path, ...]
) -> int:
    """Say what has moved."""
    from leaderboard.api import check_file

    sentences = check_file(file, store, experiment, profile, plugins)
    for sentence in sentences:
        click.echo(sentence)
    if sentences:
        click.echo(f"{file} has parted from {store.root}: {len(sentences)} difference(s); write it again to update it")
        return ExitCode.FOUND
    click.echo(f"{file} agrees with {store.root}.")
    return ExitCode.COMPLETE
