"""`bench validate`: every problem of spec files, without running them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmark.cli.common import add_plugins, emit_json, json_option, plugin_option
from benchmark.errors import ExitCode

if TYPE_CHECKING:
    from benchmark.spec.marks import Problem


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@plugin_option()
@json_option()
def command(files: tuple[Path, ...], plugin: tuple[Path, ...], as_json: bool) -> int:
    """Check spec FILES (tasks, initializers, experiments; the first key says which) or all specs in folders."""
    from benchmark.registry import Registry
    from benchmark.spec.catalog import files_in
    from benchmark.spec.marks import describe, in_order
    from benchmark.spec.validate import validate_file

    add_plugins(Registry.discover(), plugin)
    paths = [path for given in files for path in ([f.path for f in files_in(given)] if given.is_dir() else [given])]
    problems: list[Problem] = []
    for path in dict.fromkeys(paths):
        problems += validate_file(path, plugins=plugin, known={"claims": claim_names, "checks": check_ids})
    unique = in_order(problems)
    if as_json:
        emit_json({"files": [str(path) for path in paths], "problems": [problem.as_json() for problem in unique]})
    elif unique:
        click.echo(describe(unique), err=True)
    else:
        click.echo(f"{len(paths)} file{'' if len(paths) == 1 else 's'} valid")
    return ExitCode.USAGE if unique else ExitCode.COMPLETE


def claim_names() -> list[str]:
    """Sets of published numbers that an experiment may name."""
    from leaderboard.claims import names

    return list(names())


def check_ids() -> list[str]:
    """Checks that an experiment may configure."""
    from leaderboard.checks.registry import catalogue

    return [check.id for check in catalogue()]
