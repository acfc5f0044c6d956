"""The one error boundary: every way a command can end becomes a message and an exit code here."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import click

from benchmark import __version__
from benchmark.errors import BenchError, ExitCode

Result = TypeVar("Result")


def guarded(command: click.Command, args: list[str] | None = None, **extra: Any) -> NoReturn:
    """Run a click command; always ends in `SystemExit` with the code of `benchmark.errors.ExitCode`.

    A command says its own exit code by returning an int (None means 0).
    """
    try:
        code = command.main(args=args, prog_name="bench", standalone_mode=False, **extra)
    except click.ClickException as error:
        error.show()
        code = ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        code = ExitCode.INTERRUPTED
    except BenchError as error:
        click.echo(f"Error: {error}", err=True)
        code = error.exit_code
    except Exception:
        report_bug()
        code = ExitCode.INTERNAL
    sys.exit(int(code) if isinstance(code, int) else 0)


def ending_quietly(action: Callable[[], Result]) -> Result | ExitCode:
    """What `action` returns; success and silence when the reader of our output (`| head`) has gone."""
    try:
        result = action()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where the interpreter's last flush goes
        return ExitCode.COMPLETE
    return result


def report_bug() -> None:
    """An error nobody foresaw: the traceback and where to take it."""
    traceback.print_exc()
    click.echo(f"This is a bug in bench {__version__}: please report it with the lines above.", err=True)
