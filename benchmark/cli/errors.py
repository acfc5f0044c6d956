"""The one error boundary: every way a command can end becomes a message and an exit code here."""

from __future__ import annotations

import sys
import traceback
from typing import Any, NoReturn

import click

from benchmark import __version__
from benchmark.cli.output import OutputLostError, careful_streams
from benchmark.errors import BenchError, ExitCode


def guarded(command: click.Command, args: list[str] | None = None, **extra: Any) -> NoReturn:
    """Run a click command; always ends in `SystemExit` with the code of `benchmark.errors.ExitCode`.

    A command says its own exit code by returning an int (None means 0).
    """
    with careful_streams():
        code = ending(command, args, extra)
    sys.exit(code)


def ending(command: click.Command, args: list[str] | None, extra: dict[str, Any]) -> int:
    """Run a click command, say what went wrong, and return the exit code."""
    try:
        code = command.main(args=args, prog_name="bench", standalone_mode=False, **extra)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return ExitCode.INTERRUPTED
    except OutputLostError as error:
        if error.reader_left:
            return ExitCode.COMPLETE
        click.echo(f"Error: {error}", err=True)
        return ExitCode.INTERNAL
    except BenchError as error:
        click.echo(f"Error: {error}", err=True)
        return error.exit_code
    except Exception:
        report_bug()
        return ExitCode.INTERNAL
    return int(code) if isinstance(code, int) else 0


def report_bug() -> None:
    """An error nobody foresaw: the traceback and where to take it."""
    traceback.print_exc()
    click.echo(f"This is a bug in bench {__version__}: please report it with the lines above.", err=True)
