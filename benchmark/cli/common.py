"""Options and output helpers that several verbs share."""

from __future__ import annotations

import json
import math
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

    from benchmark.registry import Registry

    SeedsBase = click.ParamType[tuple[int, ...]]
else:  # not generic before click 8.4
    SeedsBase = click.ParamType

Decorated = TypeVar("Decorated", bound=Callable[..., Any])
Option = Callable[[Decorated], Decorated]

STORE_VARIABLE = "BENCH_STORE"


class Seeds(SeedsBase):
    """`5` means seeds 0 to 4; `0,1,7` and `0-4` (and mixtures) name them; `3,` is seed 3 alone."""

    name = "seeds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            seeds = parse_seeds(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return seeds


def parse_seeds(text: str) -> tuple[int, ...]:
    """Seeds named by `text`, sorted, without repeats.

    Raises:
        ValueError: not a count, a list or a range, or it names no seed, too many or one too large.
    """
    from benchmark.seeds import check_seeds, seed_range

    text = text.strip()
    try:
        if text.isdecimal():
            bounds = [(0, int(text) - 1)]
        else:
            bounds = [seed_bounds(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = text if len(text) <= 60 else f"{text[:60]}..."
        raise ValueError(f"expected a count (5), a list (0,1,7) or a range (0-4), found '{found}'") from None
    seeds = {seed for first, last in bounds for seed in seed_range(first, last)}
    if not seeds:
        raise ValueError(f"'{text}' names no seed; a count must be at least 1, a range must not fall")
    check_seeds(tuple(seeds))
    return tuple(sorted(seeds))


def seed_bounds(part: str) -> tuple[int, int]:
    """`7` → 7, 7; `2-4` → 2, 4."""
    first, dash, last = part.strip().partition("-")
    return int(first), int(last if dash else first)


def store_option() -> Option[Any]:
    """`--store DIR`, given to the command as `store: Path`."""
    return click.option(
        "--store",
        type=click.Path(file_okay=False, path_type=Path),
        envvar=STORE_VARIABLE,
        default=Path("results"),
        show_default=True,
        show_envvar=True,
        help="Folder of the result store.",
    )


def plugin_option() -> Option[Any]:
    """`--plugin FILE.py`, repeatable, given as `plugin: tuple[Path, ...]`."""
    return click.option(
        "--plugin",
        multiple=True,
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE.py",
        help="Python file that registers tasks or initialisers (repeatable).",
    )


CARRIED = {"spec": "", "profile": "--profile", "seeds": "--seeds", "store": "--store", "plugin": "--plugin"}
"""What a suggested command takes over from the one that was given, where its verb has it too."""


def suggestion(verb: str, *words: str, options: Sequence[str] = ()) -> str:
    """`bench VERB WORDS ...` to copy: with the spec, store, plugins, profile and seeds that this command was given."""
    from benchmark.cli.shell import load_verb

    context = click.get_current_context()
    known = {parameter.name for parameter in load_verb(verb).params}
    given = [name for name in CARRIED if name in known and context.get_parameter_source(name) in GIVEN]
    parts = [part for name in given for part in spelt(CARRIED[name], context.params[name])]
    return shlex.join(["bench", verb, *words, *parts, *options])


GIVEN = (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.PROMPT)


def spelt(option: str, value: Any) -> list[str]:
    """An argument or option as words of a command line; `--plugin` once for each file, seeds as a list."""
    if option == "--seeds":
        counted_up = value == tuple(range(len(value)))
        value = str(len(value)) if counted_up else ",".join(map(str, value)) + "," * (len(value) == 1)
    values = value if isinstance(value, tuple) else (value,)
    return [word for item in values if item is not None for word in (option, str(item)) if word]


def add_plugins(registry: Registry, paths: Iterable[Path]) -> None:
    """Add plugin files, with a warning on the standard error for each that cannot be run."""
    for path in paths:
        registry.add_file(path)
    for notice in registry.broken_notices():
        click.echo(f"Warning: {notice}", err=True)


def profile_option() -> Option[Any]:
    """`--profile NAME`, given as `profile: str | None` (None: the spec's own)."""
    return click.option("--profile", metavar="NAME", help="Scale to run at (compact, paper); the spec's own if absent.")


def seeds_option() -> Option[Any]:
    """`--seeds 5 | 0,1,2 | 0-4`, given as `seeds: tuple[int, ...] | None` (None: the spec's own)."""
    return click.option("--seeds", type=Seeds(), metavar="N|LIST", help="5 (seeds 0 to 4), 0,1,7 or 0-4.")


def json_option(help: str = "Print JSON instead of text.") -> Option[Any]:
    """`--json`, given as `as_json: bool`."""
    return click.option("--json", "as_json", is_flag=True, help=help)


def filter_options(*, seed: bool = False) -> Option[Any]:
    """`--task GLOB` and `--initializer GLOB` (repeatable), given as `task`, `initializer`: tuple[str, ...].

    With `seed=True` also `--seed N` (repeatable), given as `seed: tuple[int, ...]`.
    """
    options = [
        click.option("--task", multiple=True, metavar="GLOB", help="Only tasks whose name matches (repeatable)."),
        click.option(
            "--initializer", "--init", "initializer", multiple=True, metavar="GLOB",
            help="Only initialisers whose name matches (repeatable).",
        ),
    ]  # fmt: skip
    if seed:
        options.append(click.option("--seed", multiple=True, type=int, help="Only these seeds (repeatable)."))
    return together(*options)


def together(*options: Option[Any]) -> Option[Any]:
    """Several options as one decorator, in their order."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def part_options(metric: str) -> Option[Any]:
    """What of the results is read: `metric` (helped by these words), `task`, `initializer`, `profile`, `seeds`."""
    by_metric = click.option("--metric", multiple=True, metavar="GLOB", help=metric)
    return together(by_metric, filter_options(), profile_option(), seeds_option())


def testing_options(family: str) -> Option[Any]:
    """How differences are tested: `scale`, and `alpha` over the tests of `family`."""
    return together(
        click.option(
            "--scale", type=click.Choice(["raw", "logit", "log"]), default=None,
            help="Scale of every test; each metric's own if absent. The numbers shown are always raw.",
        ),
        click.option(
            "--alpha", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.05, show_default=True,
            help=f"Familywise error {family}.",
        ),
    )  # fmt: skip


def emit_json(value: Any) -> None:
    """Print one strict JSON document (RFC 8259); see `strict` for numbers JSON does not have."""
    click.echo(json.dumps(strict(value), ensure_ascii=False, allow_nan=False, indent=2))


def emit_json_line(value: Any) -> None:
    """Print one NDJSON line and flush it."""
    click.echo(json.dumps(strict(value), ensure_ascii=False, allow_nan=False))


def strict(value: Any) -> Any:
    """`value` in JSON's own types; NaN and infinities become the strings "NaN", "Infinity", "-Infinity".

    Strings, as in the JSON mapping of Protocol Buffers, keep "diverged" apart from "not measured" (null).
    """
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, Iterable):
        return [strict(item) for item in value]
    return str(value)


def console(*, stderr: bool = False) -> Console:
    """The one rich console: texts are no markup, colour is off with NO_COLOR, and only a terminal is a terminal.

    FORCE_COLOR, which many CI systems set, would have a live table repainted into a log.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(
        file=stream, markup=False, emoji=False, highlight=False, force_terminal=stream.isatty(),
        no_color="NO_COLOR" in os.environ or None,
    )  # fmt: skip


def print_table(headings: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> None:
    """Print an aligned table: rich on a terminal, plain padded columns elsewhere (never cut to a width)."""
    text_rows = [[str(item) for item in row] for row in rows]
    screen = console()
    if not screen.is_terminal:
        click.echo(plain_table(headings, text_rows, title=title))
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(*headings, title=title, box=SIMPLE_HEAD, title_justify="left")
    for row in text_rows:
        table.add_row(*row)
    screen.print(table)


def plain_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None = None) -> str:
    """Columns padded with spaces, no cell cut."""
    lines = [list(headings), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    padded = ["  ".join(item.ljust(width) for item, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([title, *padded] if title else padded)
