"""Whether plugin files have changed since the cells that would be reused were trained."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.registry import plugin_of
from benchmark.spec.catalog import shown_path
from benchmark.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmark.cell import Cell, PluginFile
    from benchmark.plan import Plan
    from benchmark.store import Store


def plugins_of(cell: Cell) -> dict[str, PluginFile]:
    """`task` and `initializer` → the plugin file it comes from; without those that come from none."""
    found = {"task": plugin_of(type(cell.task)), "initializer": plugin_of(type(cell.initializer))}
    return {kind: plugin for kind, plugin in found.items() if plugin is not None}


def changed_plugins(plan: Plan, store: Store) -> list[str]:
    """For each plugin file that is not the one that reused cells were trained with, a sentence that says so.

    A cell's id holds the family's `version`, not its code: an edit that forgets to raise it would go unseen. Only
    cells of plugin families are looked up; those stored without a digest say nothing.
    """
    reused = [line.cell for line in plan.with_action("reuse") if line.cell]
    used = {cell.id: plugins for cell in reused if (plugins := plugins_of(cell))}
    counts = Counter(path for _, path in differing(used, store))
    return [
        f"{shown_path(Path(path))} differs from the file {counted(count, 'reused cell')} "
        f"{'was' if count == 1 else 'were'} trained with; raise `version` in it or use --force"
        for path, count in counts.items()
    ]


def differing(used: dict[str, dict[str, PluginFile]], store: Store) -> Iterator[tuple[str, str]]:
    """Cell id and path of each plugin file with another digest than the cell was stored with, each pair once."""
    for id, origin in (store.provenance(used) if used else {}).items():
        stored = origin.get("plugins") or {}
        yield from {(id, p.path) for kind, p in used[id].items() if stored.get(kind) not in (None, p.sha256)}
