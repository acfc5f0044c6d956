"""`docs/cli.md` is what the commands say of themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from benchmark.cli.shell import VERBS, load_verb
from benchmark.errors import PluginError

PAGE = Path(__file__).parent.parent.parent / "docs" / "cli.md"


def test_the_command_line_reference_is_up_to_date():
    """In a process of its own: click keeps a command's first --help option, whichever test asked for it."""
    made = subprocess.run(
        [sys.executable, "-m", "benchmark.cli.reference"], check=True, capture_output=True, text=True, encoding="utf-8"
    ).stdout
    assert PAGE.read_text(encoding="utf-8") == made, "run: python -m benchmark.cli.reference > docs/cli.md"


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
