"""`bench doctor`: this machine, the installation and the store."""

from __future__ import annotations

from pathlib import Path

import click

from benchmark.cli import common
from benchmark.errors import ExitCode
from benchmark.wording import counted


@click.command()
@common.plugin_option()
@common.store_option()
@common.json_option()
def command(plugin: tuple[Path, ...], store: Path, as_json: bool) -> ExitCode:
    """Check this machine, the installation and the store; exit code 4 when something needs mending."""
    from benchmark import __version__
    from benchmark.execution.doctor import examine
    from benchmark.registry import Registry
    from benchmark.store import Store

    answers = examine(Store(store), Registry.discover(), plugin)
    problems = sum(answer.level == "problem" for answer in answers)
    if as_json:
        common.emit_json({"initbench": __version__, "problems": problems, "answers": [vars(a) for a in answers]})
    else:
        click.echo(f"InitBench {__version__}")
        common.print_table(
            ("", "subject", "found", "what to do"), [(a.level, a.subject, a.found, a.advice) for a in answers]
        )
        click.echo(f"{counted(problems, 'problem')}." if problems else "No problems.")
    return ExitCode.FOUND if problems else ExitCode.COMPLETE
