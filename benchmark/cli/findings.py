"""`bench findings`: what experiments have found, in sentences."""

from __future__ import annotations

from pathlib import Path

import click

from benchmark.cli.common import plugin_option, profile_option, seeds_option, store_option
from benchmark.cli.leaderboard import write
from benchmark.cli.stores import open_store
from benchmark.errors import ExitCode, UsageError

TITLE = """# Findings

What the experiments of `specs/` have found, made by

    {command}

Each line stands alone: means ± sample standard deviation (number of seeds), their difference with its 95 % interval, a
verdict by a t-test over seeds (Holm within each question), and on how many single seeds the order is that of the mean.
{margin}

"""


@click.command()
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@click.option(
    "--margin", type=click.FloatRange(min=0, min_open=True), metavar="X",
    help="Differences below X do not matter, in the metric's unit; without it nothing is called practically equal.",
)  # fmt: skip
@click.option(
    "--first", type=click.IntRange(min=1), default=3, show_default=True, metavar="N",
    help="Seeds of the first round, of a search over readings (see `bench readings`).",
)  # fmt: skip
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="File to write, or to check.")
@click.option("--check", is_flag=True, help="Write nothing: exit 4 when --output is not what would be written.")
@seeds_option()
@profile_option()
@plugin_option()
@store_option()
def command(
    specs: tuple[str, ...],
    margin: float | None,
    first: int,
    output: Path | None,
    check: bool,
    seeds: tuple[int, ...] | None,
    profile: str | None,
    plugin: tuple[Path, ...],
    store: Path,
) -> int:
    """Answer the questions of each SPEC from the store: Markdown with intervals, "cannot be told apart" included."""
    from benchmark.spec.load import load_experiment
    from leaderboard.findings import page

    experiments = [load_experiment(spec, profile=profile, seeds=seeds, plugins=plugin) for spec in specs]
    words = ["bench findings", *(one.name for one in experiments), *(["--profile", profile] if profile else [])]
    words += [*(["--margin", f"{margin:g}"] if margin else []), *(["--first", str(first)] if first != 3 else [])]
    unless = f"Practically equal: within ±{margin:g} by two one-sided tests." if margin else ""
    text = (
        TITLE.format(command=" ".join(words), margin=unless).rstrip()
        + "\n\n"
        + page(open_store(store), experiments, margin, first)
    )
    if check:
        if output is None:
            raise UsageError("--check compares with a file; name it with --output")
        same = output.is_file() and output.read_text(encoding="utf-8") == text
        click.echo(f"{output} {'is' if same else 'is not'} what the store gives")
        return ExitCode.COMPLETE if same else ExitCode.FOUND
    if output is None:
        click.echo(text, nl=False)
    else:
        write(output, text)
    return ExitCode.COMPLETE
