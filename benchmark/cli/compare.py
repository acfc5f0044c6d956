"""`bench compare`: one initialiser against another over all tasks, or one store against another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmark.cli.common import (
    emit_json,
    json_option,
    part_options,
    plugin_option,
    print_table,
    store_option,
    testing_options,
)
from benchmark.cli.leaderboard import load_spec
from benchmark.cli.stores import open_store
from benchmark.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from benchmark.spec.load import LoadedExperiment
    from leaderboard.compare import Report, Terms


@click.command(short_help="Compare two initialisers, or two stores.")
@click.argument("first", required=False)
@click.argument("second", required=False)
@click.option("--spec", metavar="SPEC", help="The experiment; that of the last run in the store if absent.")
@click.option(
    "--other-store", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="Compare every task × initialiser of --store with that of this store.",
)  # fmt: skip
@part_options("Metrics; each task's primary one if absent (repeatable).")
@click.option(
    "--margin", type=click.FloatRange(min=0, min_open=True),
    help="Differences below it do not matter (in the metric's unit): allows the verdict 'practically equal'.",
)  # fmt: skip
@testing_options("over the tests of one question")
@click.option("--gate", is_flag=True, help="Exit 4 when FIRST (or --store) is worse on any task.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@json_option()
@store_option()
@plugin_option()
def command(
    first: str | None,
    second: str | None,
    spec: str | None,
    other_store: Path | None,
    metric: tuple[str, ...],
    task: tuple[str, ...],
    initializer: tuple[str, ...],
    profile: str | None,
    seeds: tuple[int, ...] | None,
    margin: float | None,
    scale: str | None,
    alpha: float,
    gate: bool,
    as_markdown: bool,
    as_json: bool,
    store: Path,
    plugin: tuple[Path, ...],
) -> int:
    """Say where FIRST is better, worse or not to be told from SECOND.

    FIRST and SECOND are initialisers; differences are paired by seed and tested over all tasks together. With
    --other-store name none: every task × initialiser of the two stores is compared.
    """
    from leaderboard.compare import Terms

    terms = Terms(metric, task, initializer, margin, scale, alpha)  # type: ignore[arg-type]
    experiment = load_spec(spec, profile, seeds, plugin)
    if other_store is not None:
        if first is not None:
            raise UsageError(
                "--other-store compares whole stores; choose with --task and --initializer instead of names"
            )
        report = compare_stores(store, other_store, experiment, profile, plugin, terms)
    elif first is None or second is None:
        raise UsageError("name two initialisers (bench compare mask default), or give --other-store DIR")
    else:
        report = compare_names(store, first, second, experiment, profile, plugin, terms)
    show(report, as_json, as_markdown)
    return ExitCode.FOUND if gate and report.worse else ExitCode.COMPLETE


def compare_names(
    store: Path,
    first: str,
    second: str,
    experiment: LoadedExperiment | None,
    profile: str | None,
    plugin: tuple[Path, ...],
    terms: Terms,
) -> Report:
    """Two initialisers of one store."""
    from leaderboard.compare import compare_initializers
    from leaderboard.reading import load_grid

    if terms.initializers:
        raise UsageError("--initializer is for --other-store; the two initialisers are the arguments")
    return compare_initializers(load_grid(open_store(store), experiment, profile, plugin), first, second, terms)


def compare_stores(
    store: Path,
    other: Path,
    experiment: LoadedExperiment | None,
    profile: str | None,
    plugin: tuple[Path, ...],
    terms: Terms,
) -> Report:
    """The same cells of two stores."""
    from leaderboard.compare import compare_grids
    from leaderboard.reading import load_grid

    grids = [load_grid(open_store(folder), experiment, profile, plugin) for folder in (store, other)]
    return compare_grids(grids[0], grids[1], (str(store), str(other)), terms)


def show(report: Report, as_json: bool, as_markdown: bool) -> None:
    """Print it."""
    from leaderboard.compare import as_document
    from leaderboard.render import comparison

    if as_json:
        emit_json(as_document(report))
        return
    if as_markdown:
        click.echo(comparison.markdown(report), nl=False)
        return
    print_table(comparison.headings(report), comparison.rows(report))
    click.echo("")
    for note in comparison.notes(report):
        click.echo(note)
    click.echo(report.summary)
