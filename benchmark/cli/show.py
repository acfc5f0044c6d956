"""`bench show`: one task, initialiser, spec or stored cell in full."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import click

from benchmark.cli.common import add_plugins, emit_json, json_option, plugin_option, print_table, store_option
from benchmark.errors import ExitCode, UsageError


@click.command()
@click.argument("name")
@plugin_option()
@store_option()
@json_option()
def command(name: str, plugin: tuple[Path, ...], store: Path, as_json: bool) -> ExitCode:
    """Show the task, initializer, probe or spec NAME: its file, what it resolves to, its metrics, where it comes from.

    NAME may also be a spec file, or a cell id of the store (its first characters are enough). Ends with 2 when the file
    has problems.
    """
    found, known = details(name, plugin)
    found = found or cells(name, store)
    if not found:
        from benchmark.registry import Kind
        from benchmark.spec.resolve import beside
        from benchmark.wording import hint

        guess = next((near for kind in get_args(Kind) if (near := beside(kind, name, Path()))), "")
        raise UsageError(f"no task, initializer, probe, spec or stored cell '{name}'{guess or hint(name, known)}")
    broken = any(one.get("problems") for one in found)
    if as_json:
        emit_json(found)
        return ExitCode.USAGE if broken else ExitCode.COMPLETE
    for number, one in enumerate(found):
        if number:
            click.echo("\n" + "-" * 40 + "\n")
        show(one)
    return ExitCode.USAGE if broken else ExitCode.COMPLETE


def details(name: str, plugins: tuple[Path, ...]) -> tuple[list[dict[str, Any]], list[str]]:
    """Everything of that name (a task and an initialiser may share one), and all names."""
    from benchmark.registry import Kind, Registry
    from benchmark.spec.catalog import Catalog, SpecFile, SpecKind, first_key
    from benchmark.spec.overview import detail

    registry = Registry.discover()
    add_plugins(registry, plugins)
    path = Path(name)
    if path.is_file() and (declared := first_key(path)):
        only = Catalog([SpecFile(*declared, path)])
        return [one for one in [detail(*declared, registry, only)] if one], []
    catalog = Catalog.discover(file.path for file in registry.plugin_files)
    wanted = name if catalog.get("experiment", name) else Path(name).stem
    found = [one for kind in get_args(SpecKind) if (one := detail(kind, wanted, registry, catalog)) is not None]
    known = {name for kind in get_args(Kind) for name in registry.names(kind)}
    return found, sorted(known.union(*(catalog.names(kind) for kind in get_args(SpecKind))))


def cells(prefix: str, store: Path) -> list[dict[str, Any]]:
    """Stored cells whose id starts so."""
    if not re.fullmatch(r"[0-9a-f]{6,64}", prefix) or not store.is_dir():
        return []
    from benchmark.store import Store

    stored = Store(store)
    ids = [cell for cell in stored.counting() if cell.startswith(prefix)]
    return [
        {"kind": "cell", "name": record.cell_id, **asdict(record), "models": models(store, record.cell_id)}
        for record in (stored.records(ids) if ids else ())
    ]


def models(store: Path, cell_id: str) -> list[str]:
    """Files with the cell's weights, and their moving average."""
    from benchmark.execution.models import path_of

    paths = [path_of(store, cell_id, averaged=averaged) for averaged in (False, True)]
    return [str(path) for path in paths if path.is_file()]


def show(one: dict[str, Any]) -> None:
    """One thing as text."""
    click.echo(f"{one['kind']} {one['name']}" + (f" — {one['title']}" if one.get("title") else ""))
    if one["kind"] == "cell":
        show_cell(one)
        return
    for key in ("family", "origin", "path", "source"):
        if one.get(key):
            click.echo(f"{key + ':':<8} {one[key]}")
    for key in ("description", "documentation"):
        if one.get(key):
            click.echo(f"\n{one[key].strip()}")
    for problem in one["problems"]:
        click.echo(f"! {problem['path']}:{problem['line']}:{problem['column']}: {problem['message']}")
    if one.get("problem"):
        click.echo(f"! cannot be used: {one['problem']}")
    if one["kind"] != "experiment":
        show_resolved(one)
    if one.get("yaml"):
        click.echo(f"\n{one['path']}:\n")
        click.echo("\n".join(f"  {line}".rstrip() for line in one["yaml"].rstrip().splitlines()))


def show_resolved(one: dict[str, Any]) -> None:
    """Parameters at each profile or override, and a task's metrics (the same at every profile)."""
    resolved = {label: value for label, value in one["resolved"].items() if value}
    for label, value in resolved.items():
        click.echo(f"\nparameters, {label if one['kind'] != 'task' else 'profile ' + label}:")
        for key, parameter in value["parameters"].items():
            click.echo(f"  {key}: {json.dumps(parameter, ensure_ascii=False)}")
        if value.get("missing_data"):
            click.echo(f"  ! {value['missing_data']}")
    metrics: list[dict[str, str]] = next((value["metrics"] for value in resolved.values() if value.get("metrics")), [])
    if metrics:
        click.echo()
        rows = [[m["name"], m["direction"], m["unit"], m["description"]] for m in metrics]
        print_table(["metric", "better", "unit", "what"], rows)


def show_cell(one: dict[str, Any]) -> None:
    """A stored cell: what it is, how it ended, its numbers."""
    for key in ("task", "initializer", "seed", "profile", "status", "run_id", "attempt_id", "seconds", "execution"):
        click.echo(f"{key + ':':<12} {one[key]}")
    for path in one["models"]:
        click.echo(f"{'model:':<12} {path}")
    if one["error"]:
        click.echo(f"\n{one['error'].rstrip()}")
    if one["finals"]:
        click.echo()
        print_table(["metric", "value"], [[name, repr(value)] for name, value in one["finals"].items()])
    click.echo(f"\nresolved: {json.dumps(one['resolved'], ensure_ascii=False, indent=2)}")
