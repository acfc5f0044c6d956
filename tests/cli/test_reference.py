"""`docs/cli.md` is what the commands say of themselves."""

from __future__ import annotations

from pathlib import Path

import click

from benchmark.cli.reference import reference
from benchmark.cli.shell import VERBS, load_verb
from benchmark.errors import PluginError

PAGE = Path(__file__).parent.parent.parent / "docs" / "cli.md"


def test_the_command_line_reference_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == reference(), "run: python -m benchmark.cli.reference > docs/cli.md"


def commands():
    for verb in VERBS:
        try:
            command = load_verb(verb)
        except PluginError:
            continue
        yield verb, command
        for name, child in getattr(command, "commands", {}).items():
            yield f"{verb} {name}", child


def test_every_command_and_option_says_what_it_does():
    silent = [
        f"{name} {parameter.opts[0]}"
        for name, command in commands()
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.help
    ]
    assert not silent
    assert not [name for name, command in commands() if not command.help]
