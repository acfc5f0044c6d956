"""`bench list`: what there is to run."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from benchmark.cli.common import add_plugins, emit_json, json_option, plugin_option, print_table

KINDS = {"tasks": "task", "initializers": "initializer", "probes": "probe", "specs": "experiment"}


@click.command()
@click.argument("kind", type=click.Choice([*KINDS, "claims", "plugins"]), required=False)
@plugin_option()
@json_option()
def command(kind: str | None, plugin: tuple[Path, ...], as_json: bool) -> None:
    """List tasks, initializers, probes, specs, claims (published numbers) or plugins; all but plugins without KIND.

    What cannot be used is listed with the reason.
    """
    wanted = [kind] if kind else [*KINDS, "claims"]
    found = {name: lines_of(name, plugin) for name in wanted}
    if as_json:
        emit_json(found[kind] if kind else found)
        return
    for number, (name, lines) in enumerate(found.items()):
        if number:
            click.echo()
        show(name, lines)


def lines_of(kind: str, plugins: tuple[Path, ...]) -> list[dict[str, Any]]:
    """The lines of one kind as plain data."""
    if kind == "claims":
        from leaderboard.claims import names

        return [{"name": name} for name in names()]
    from benchmark.registry import Registry
    from benchmark.spec.catalog import Catalog
    from benchmark.spec.overview import families, summaries

    registry = Registry.discover()
    add_plugins(registry, plugins)
    if kind == "plugins":
        return families(registry)
    catalog = Catalog.discover(file.path for file in registry.plugin_files)
    return [asdict(line) for line in summaries(KINDS[kind], registry, catalog)]  # type: ignore[arg-type]


def show(kind: str, lines: list[dict[str, Any]]) -> None:
    """A table of one kind, then the reasons of what cannot be used."""
    if not lines:
        click.echo(f"No {kind}.")
        return
    columns = [key for key in ("kind", "name", "title", "family", "origin") if any(line.get(key) for line in lines)]
    columns = [key for key in columns if key != "kind" or kind == "plugins"]
    columns = [key for key in columns if key != "family" or kind != "specs"]
    rows = [[mark(line) if key == "name" else line.get(key) or "" for key in columns] for line in lines]
    print_table(columns, rows, title=kind)
    for line in lines:
        if line.get("problem"):
            click.echo(f"! {line['name']}: {line['problem']}")


def mark(line: dict[str, Any]) -> str:
    """The name, with a mark when it cannot be used."""
    return f"{line['name']} !" if line.get("problem") else str(line["name"])
