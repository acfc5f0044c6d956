"""The one error boundary: every way a command can end becomes a message and an exit code here."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any, NoReturn

import click

from benchmark import __version__
from benchmark.errors import BenchError, ExitCode


def guarded(command: click.Command, args: list[str] | None = None, **extra: Any) -> NoReturn:
    """Run a click command; always ends in `SystemExit` with the code of `benchmark.errors.ExitCode`.

    A command says its own exit code by returning an int (None means 0).
    """
    try:
        code = command.main(args=args, prog_name="bench", standalone_mode=False, **extra)
        flush_output()
    except click.ClickException as error:
        error.show()
        code = ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        code = ExitCode.INTERRUPTED
    except BenchError as error:
        click.echo(f"Error: {error}", err=True)
        code = error.exit_code
    except (BrokenPipeError, SystemExit) as error:
        code = after_exit(error)
    except Exception:
        report_bug()
        code = ExitCode.INTERNAL
    sys.exit(int(code) if isinstance(code, int) else 0)


def flush_output() -> None:
    """Write what is buffered now, so that a closed pipe is noticed inside the boundary."""
    sys.stdout.flush()


def after_exit(error: BrokenPipeError | SystemExit) -> object:
    """The code of a `SystemExit`; 0 when the reader (`| head`) has gone, which click turns into a `SystemExit(1)`."""
    if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
        return error.code
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter's own last flush goes nowhere
    return ExitCode.COMPLETE


def report_bug() -> None:
    """An error nobody foresaw: the traceback and where to take it."""
    traceback.print_exc()
    click.echo(f"This is a bug in bench {__version__}: please report it with the lines above.", err=True)
