"""`bench doctor`: this machine, the installation and the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmark.cli import common
from benchmark.errors import ExitCode
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.execution.doctor import Answer


@click.command()
@common.plugin_option()
@common.store_option()
@common.json_option()
def command(plugin: tuple[Path, ...], store: Path, as_json: bool) -> ExitCode:
    """Check this machine, the installation and the store; exit code 4 when something needs mending."""
    from benchmark import __version__
    from benchmark.execution.doctor import asked, examine
    from benchmark.registry import Registry
    from benchmark.store import Store

    answers = [*examine(Store(store), Registry.discover(), plugin), *asked("data", data_sets)]
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


def data_sets() -> Iterator[Answer]:
    """Which data sets are prepared, which cannot be read, and what killed preparations left."""
    from benchmark.cli.data import REMOVED, left_behind, line_of
    from benchmark.execution.doctor import Answer
    from tasks.data import data_root, names
    from tasks.data.places import VARIABLE

    lines = [line_of(name, None) for name in names()]
    prepared = [line["name"] for line in lines if line["state"] == "prepared"]
    found = f"{', '.join(prepared) or 'no data set'} prepared in {data_root()}"
    if data_root().parts[:1] == ("~",):
        yield Answer("data", "note", f"{found}; this user has no home folder", f"name a place with {VARIABLE}")
    else:
        yield Answer("data", "ok", found)
    for line in lines:
        if line["state"] == "unreadable":
            yield Answer("data", "problem", line["missing"])
        for left in line["leftovers"]:
            yield Answer("data", "note", f"{line['name']}: {left_behind(left)}", REMOVED.format(line["name"]))
