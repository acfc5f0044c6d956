"""`bench plot`: pictures of what is in the store."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from benchmark.cli.common import emit_json, json_option, part_options, plugin_option, store_option, suggestion
from benchmark.cli.leaderboard import load_spec, write
from benchmark.cli.stores import open_store
from benchmark.errors import ExitCode, UsageError


@click.group(name="plot", short_help="Draw a prior through training.")
def command() -> None:
    """Pictures of what is in the store, each as one file that needs nothing else."""


@command.command("prior")
@click.argument("spec", required=False)
@click.option(
    "--output", "-o", type=click.Path(dir_okay=False, path_type=Path), default=Path("prior.html"), show_default=True,
    help="File to write; `-` for the screen.",
)  # fmt: skip
@part_options("Curves of metrics that match, such as `retention.*` (repeatable); if absent, of retention and drift.")
@click.option("--seed", type=int, metavar="N", help="Heat maps of this seed; of the first one if absent.")
@store_option()
@plugin_option()
@json_option("Print the numbers as JSON instead of writing a file.")
def prior(
    spec: str | None,
    output: Path,
    metric: tuple[str, ...],
    task: tuple[str, ...],
    initializer: tuple[str, ...],
    profile: str | None,
    seeds: tuple[int, ...] | None,
    seed: int | None,
    store: Path,
    plugin: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Draw how the priors of SPEC, or of the last run in the store, live or die: retention and drift through training
    with their spread over seeds, bias and attention of every head at the start and at the end.

    Needs `probes: [drift, retention]` in the spec.
    """
    from leaderboard.prior import METRICS, read_prior
    from leaderboard.reading import load_grid
    from leaderboard.render.html import page
    from leaderboard.render.report import prior_parts
    from leaderboard.tables import Selection, build

    opened, experiment = open_store(store), load_spec(spec, profile, seeds, plugin)
    grid = load_grid(opened, experiment, profile, plugin)
    board = build(grid, Selection((), task, initializer))
    found = read_prior(opened, grid, board, experiment.probes if experiment else (), metric or METRICS, seed)
    if not (found.sentences or found.charts or found.maps):
        raise UsageError(
            "no probe has recorded anything of these cells; put `probes: [drift, retention]` into the spec, then "
            f"`{suggestion('run')}` records it"
        )
    if as_json:
        emit_json(asdict(found))
        return ExitCode.COMPLETE
    title = f"{board.title or board.experiment} ({board.profile}): the prior through training"
    text = page(title, "\n".join([f"<h1>{title}</h1>", *prior_parts(found)]))
    if str(output) == "-":
        click.echo(text, nl=False)
    else:
        for sentence in found.sentences:
            click.echo(sentence)
        write(output, text)
    return ExitCode.COMPLETE
