"""`docs/cli.md`, made from the commands' own help: `python -m benchmark.cli.reference > docs/cli.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from benchmark.cli.shell import VERBS, group, load_verb
from benchmark.errors import PluginError

HEADING = """\
# Command line

<!-- Made by `python -m benchmark.cli.reference > docs/cli.md`; a test fails when it is out of date. -->

Exit codes: 0 complete · 1 internal error, or files that cannot be written (a full disk, for example) · 2 usage or
invalid spec (also: nothing selected) · 3 incomplete (failed, timed-out or missing cells) · 4 a check or comparison
found something · 130 interrupted. The last line of `bench run` says which and why.
"""
WIDTH = 100


def reference() -> str:
    """The page: the program's help, then every verb's and every subcommand's."""
    sections = [HEADING, section("bench", group)]
    for verb in VERBS:
        sections += described(verb)
    return "\n".join(sections)


def described(verb: str) -> Iterator[str]:
    """The sections of one verb; none when this version does not have it."""
    try:
        command = load_verb(verb)
    except PluginError:
        return
    yield section(f"bench {verb}", command)
    if isinstance(command, click.Group):
        for name, child in sorted(command.commands.items()):
            yield section(f"bench {verb} {name}", child, level=3)


def section(path: str, command: click.Command, level: int = 2) -> str:
    """A heading and the help text of one command."""
    context = click.Context(command, info_name=path, terminal_width=WIDTH, max_content_width=WIDTH)
    return f"{'#' * level} {path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
