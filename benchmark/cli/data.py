"""`bench data`: what data there is, where it lies, whether it is right, and how to get it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmark.cli.common import Option, console, emit_json, json_option, print_table
from benchmark.errors import ExitCode

if TYPE_CHECKING:
    from tasks.data.convert import Progress
    from tasks.data.prepare import Prepared
    from tasks.data.verify import Check


def data_option() -> Option[Any]:
    """`--data DIR`, given as `root: Path | None` (None: the default place)."""
    return click.option(
        "--data", "root",
        type=click.Path(file_okay=False, readable=False, path_type=Path),
        envvar="BENCH_DATA",
        show_envvar=True,
        help="Folder of the data sets; ~/.cache/initbench if absent.",
    )  # fmt: skip


@click.group()
def command() -> None:
    """List, locate, verify, prepare and fetch data sets.

    Nothing is ever downloaded unless `bench data fetch` is called.
    """


@command.command("list")
@data_option()
@json_option()
def list_(root: Path | None, as_json: bool) -> None:
    """List the data sets: whether each is here, its size and licence."""
    from tasks.data import names

    lines = [line_of(name, root) for name in names()]
    if as_json:
        emit_json(lines)
        return
    headings = ("data set", "kind", "here", "splits", "download", "licence")
    print_table(headings, [
        (line["name"], line["kind"], here(line), rows_of(line), size_of(line), line["licence"]) for line in lines
    ])  # fmt: skip
    for line in lines:
        for left in line["leftovers"]:
            click.echo(f"\n{line['name']}: {left_behind(left)}; {REMOVED.format(line['name'])}")
    absent = [line["name"] for line in lines if line["state"] == "missing"]
    if absent:
        click.echo(f"\n`bench data where {absent[0]}` says what gets a missing one.")


def line_of(name: str, root: Path | None) -> dict[str, Any]:
    """One data set as plain data."""
    from tasks.data import dataset, is_available
    from tasks.data.cache import leftovers
    from tasks.data.places import sizes_there

    info = dataset(name)
    missing = is_available(name, root=root)
    left = [] if info.embedded or (missing and missing.problem) else leftovers(info, root)
    return {
        "name": name,
        "title": info.title,
        "kind": info.kind,
        "size": info.size,
        "sizes": () if missing and missing.problem else sizes_there(info, root),
        "state": "embedded" if info.embedded else missing.state if missing else "prepared",
        "command": missing.command if missing else None,
        "missing": str(missing) if missing else None,
        "leftovers": [asdict(item) for item in left],
        "rows": {split: part.rows for split, part in info.splits.items()},
        "classes": len(info.classes) or None,
        "bytes": info.bytes,
        "licence": info.licence,
        "homepage": info.homepage,
        "sources": [{"layout": item.name, "source": item.source, "revision": item.revision} for item in info.layouts],
        "traps": info.traps,
    }


REMOVED = "the next `bench data prepare {}` removes it"


def left_behind(left: Mapping[str, Any]) -> str:
    """What a killed process left, in words."""
    return f"{readable(left['bytes'])} left by a process that was killed {ago(left['age_seconds'])} in {left['path']}"


def ago(seconds: float) -> str:
    """Some time ago, in its largest whole unit."""
    from benchmark.wording import counted

    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            return f"{counted(int(seconds // length), unit)} ago"
    return "less than a minute ago"


def here(line: dict[str, Any]) -> str:
    """Whether a data set is here; where images vary, at which sizes, and which one is wanted."""
    from tasks.data.places import squares

    if not line["sizes"]:
        return str(line["state"])
    there = squares(*line["sizes"])
    missing = line["state"] == "missing"
    return f"missing at {squares(line['size'])}, only at {there}" if missing else f"prepared at {there}"


def rows_of(line: dict[str, Any]) -> str:
    return ", ".join(f"{split} {rows:,}" for split, rows in line["rows"].items())


def size_of(line: dict[str, Any]) -> str:
    if line["state"] == "embedded":
        return "none"
    return readable(line["bytes"]) if line["bytes"] else "not known"


def readable(size: int) -> str:
    """Bytes as 1.5 MB."""
    value = float(size)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:.3g} GB"


@command.command()
@click.argument("names", nargs=-1)
@data_option()
@json_option()
def where(names: tuple[str, ...], root: Path | None, as_json: bool) -> None:
    """Show where data sets lie, or what gets them; the folder of all without NAME."""
    from tasks.data import data_root
    from tasks.data.places import squares

    found = [place_of(name, root) for name in names]
    if as_json:
        emit_json({"root": str(data_root(root)), "data_sets": found})
        return
    if not found:
        click.echo(data_root(root))
    for line in found:
        for folder, size in zip(line["folders"], line["sizes"], strict=True):
            click.echo(f"{line['name']}: {folder}{f' ({squares(size)})' if size else ''}")
        if line["missing"]:
            click.echo(line["missing"])


def place_of(name: str, root: Path | None) -> dict[str, Any]:
    """Where one data set lies, as plain data; `sizes`: of the images in each folder, null where they do not vary."""
    from tasks.data import dataset, is_available
    from tasks.data.manifest import EMBEDDED
    from tasks.data.places import prepared, size_of

    info = dataset(name)
    missing = is_available(name, root=root)
    folders = [] if info.embedded or (missing and missing.problem) else prepared(info, root=root)
    places = [(EMBEDDED, None)] if info.embedded else [(path, size_of(path)) for path in folders]
    return {
        "name": name,
        "folders": [str(path) for path, _ in places],
        "sizes": [size for _, size in places],
        "command": missing.command if missing else None,
        "missing": str(missing) if missing else None,
    }


@command.command()
@click.argument("names", nargs=-1)
@data_option()
@json_option()
def verify(names: tuple[str, ...], root: Path | None, as_json: bool) -> ExitCode:
    """Read data sets again and compare every digest; all that are here without NAME.

    Exit code 4 when something is wrong, 3 when a named data set is missing.
    """
    from tasks.data import is_available
    from tasks.data import names as all_names
    from tasks.data.verify import verify as verify_one

    chosen = names or tuple(
        name
        for name in all_names()
        if (missing := is_available(name, root=root)) is None or missing.sizes or missing.problem
    )
    with progress_bar() as progress:
        found = {name: verify_one(name, root=root, progress=progress) for name in chosen}
    if as_json:
        emit_json({name: [asdict(check) for check in checks] for name, checks in found.items()})
    else:
        rows = [(name, item.what, item.state, item.detail) for name, checks in found.items() for item in checks]
        print_table(("data set", "what", "state", "detail"), rows)
    return exit_code(found)


def exit_code(found: dict[str, list[Check]]) -> ExitCode:
    """Wrong comes before missing."""
    states = {check.state for checks in found.values() for check in checks}
    if "wrong" in states:
        return ExitCode.FOUND
    return ExitCode.INCOMPLETE if "missing" in states else ExitCode.COMPLETE


def size_option() -> Option[Any]:
    """`--size N`, given as `size: int | None`."""
    return click.option(
        "--size",
        type=int,
        metavar="PIXELS",
        help="Side of the prepared images where they vary; what the shipped task reads if absent (ImageNet-100: 256).",
    )


@command.command()
@click.argument("name")
@click.option(
    "--from", "source",
    type=click.Path(readable=False, path_type=Path), required=True, metavar="PATH", help="File or folder you have.",
)  # fmt: skip
@size_option()
@data_option()
@json_option()
def prepare(name: str, source: Path, size: int | None, root: Path | None, as_json: bool) -> None:
    """Verify files you have and convert them, so that tasks find them.

    PATH may hold any layout `bench data list --json` names: Parquet files of the Hugging Face hub, CIFAR's binary
    archive or its unpacked folder, image folders, or tokenizer files. Pickles are refused.
    """
    from tasks.data.prepare import prepare as prepare_one

    with progress_bar() as progress:
        done = prepare_one(name, source, size=size, root=root, progress=progress)
    tell(done, as_json)


@command.command()
@click.argument("name")
@click.option("--layout", metavar="NAME", help="Layout to fetch; the first that has addresses if absent.")
@size_option()
@data_option()
@json_option()
def fetch(name: str, layout: str | None, size: int | None, root: Path | None, as_json: bool) -> None:
    """Download a data set from its pinned source, verify it and prepare it.

    An interrupted download is continued by the same command.
    """
    from tasks.data.fetch import fetch as fetch_one
    from tasks.data.prepare import prepare as prepare_one

    with progress_bar() as progress:
        folder = fetch_one(name, layout=layout, size=size, root=root, progress=progress)
        done = prepare_one(name, folder, size=size, root=root, progress=progress)
    tell(done, as_json)


def tell(done: Prepared, as_json: bool) -> None:
    """What was prepared."""
    if as_json:
        emit_json({"name": done.name, "folder": done.folder, "reused": done.reused, **done.meta})
        return
    rows = ", ".join(f"{split} {count:,}" for split, count in done.meta["rows"].items())
    state = "was already prepared" if done.reused else "prepared"
    click.echo(f"{done.name}: {state} from {done.meta['layout']}: {rows}")
    click.echo(f"  in {done.folder}")
    unknown = [item["path"] for item in done.meta["sources"] if not item["known"]]
    if unknown:
        click.echo(f"  no published hash to compare with, recorded: {', '.join(unknown)}")
    for split, report in done.meta["report"].items():
        for what in ("empty_rows", "misencoded_rows"):
            if report.get(what):
                click.echo(f"  {split}: {report[what]:,} {what.replace('_', ' ')}, kept as they are")


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar on standard error when that is a terminal, silence elsewhere."""
    if not sys.stderr.isatty():
        yield lambda what, done, total: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    with Progress(*columns, TimeRemainingColumn(), console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("")

        def show(what: str, done: int, total: int | None) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield show
