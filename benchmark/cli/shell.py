"""The group of verbs. A verb's module is imported only when that verb is called, so `bench --help` stays instant."""

from __future__ import annotations

import difflib
import importlib
import sys
from typing import Any

import click

from benchmark import __version__
from benchmark.cli.errors import guarded
from benchmark.cli.output import Output
from benchmark.errors import PluginError

VERBS: dict[str, tuple[str, str]] = {
    "run": ("benchmark.cli.run", "Train what a spec asks for and is not in the store yet."),
    "plan": ("benchmark.cli.plan", "Show every cell a run would train or reuse, with the reason."),
    "status": ("benchmark.cli.status", "Show what is done, running and missing."),
    "leaderboard": ("benchmark.cli.leaderboard", "Print task × initialiser: mean ± std, n, published values."),
    "check": ("benchmark.cli.check", "Find the numbers that cannot be right."),
    "claims": ("benchmark.cli.claims", "List, show and import published numbers."),
    "compare": ("benchmark.cli.compare", "Compare two initialisers, stores or tables."),
    "report": ("benchmark.cli.report", "Write a page with tables, curves and findings."),
    "readings": ("benchmark.cli.readings", "Search an unclear paper's readings for its numbers."),
    "findings": ("benchmark.cli.findings", "Answer experiments' questions in sentences."),
    "plot": ("benchmark.cli.plot", "Draw a prior through training."),
    "conform": ("benchmark.cli.conform", "Hold a task or an initialiser to the rules of a plugin."),
    "sql": ("benchmark.cli.sql", "Query the store with SQL."),
    "export": ("benchmark.cli.export", "Write results as Parquet, CSV or JSON."),
    "import": ("benchmark.cli.import_", "Read results made elsewhere into the store."),
    "merge": ("benchmark.cli.merge", "Bring the results of other stores into this one."),
    "rerun": ("benchmark.cli.rerun", "Train finished cells again and compare the numbers."),
    "data": ("benchmark.cli.data", "List, verify, prepare and fetch data sets."),
    "list": ("benchmark.cli.list", "List tasks, initialisers, probes, specs or plugins."),
    "show": ("benchmark.cli.show", "Show a task, an initialiser, a probe, a spec or a cell."),
    "validate": ("benchmark.cli.validate", "Check spec files without running them."),
    "new": ("benchmark.cli.new", "Write a starting file for a task, initialiser, probe or spec."),
    "doctor": ("benchmark.cli.doctor", "Check this machine, the installation and the store."),
}
WORKING = ("run", "readings", "rerun", "merge", "import", "export", "data", "new")
"""Verbs of which what they do matters, and not what they print: they end by their result, read or unread."""


class VerbGroup(click.Group):
    """A group whose commands are looked up in a table and imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*VERBS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return load_verb(cmd_name) if cmd_name in VERBS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of verbs, without importing one of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in VERBS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in VERBS and not name.startswith("-"):
            near = difflib.get_close_matches(name, VERBS, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else f" Commands: {', '.join(VERBS)}."
            raise click.UsageError(f"No such command '{name}'.{hint}", ctx)
        if name in WORKING and isinstance(sys.stdout, Output):
            sys.stdout.let_work_go_on()
        return super().resolve_command(ctx, args)


def load_verb(name: str) -> click.Command:
    """The click command of one verb.

    Raises:
        PluginError: this version has no such verb, although the table names it.
    """
    module_name = VERBS[name][0]
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        raise PluginError(f"'bench {name}' is not part of this version ({__version__}).") from None
    command: click.Command = module.command
    command.name = name
    return command


@click.group(
    cls=VerbGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 complete, 1 internal error or files that cannot be written, 2 usage or invalid spec, "
    "3 incomplete, 4 a check or comparison found something, 130 interrupted.",
)
@click.version_option(__version__, "--version", "-V", prog_name="bench")
def group() -> None:
    """InitBench: Transformer initialisers and structural priors, benchmarked from a YAML spec."""


def main(args: list[str] | None = None, **extra: Any) -> None:
    """Run `bench` and end the process with its exit code."""
    guarded(group, args, **extra)
