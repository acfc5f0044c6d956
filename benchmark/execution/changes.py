"""Whether plugin files or data are other ones than those the cells that would be reused were trained with."""

from __future__ import annotations

from collections import Counter, defaultdict
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
    from benchmark.task import Task


def plugins_of(cell: Cell) -> dict[str, PluginFile]:
    """`task` and `initializer` → the plugin file it comes from; without those that come from none."""
    found = {"task": plugin_of(type(cell.task)), "initializer": plugin_of(type(cell.initializer))}
    return {kind: plugin for kind, plugin in found.items() if plugin is not None}


def data_of(task: Task) -> dict[str, str]:
    """`Task.data_digests`, or nothing when it raises: what it says is worth no cell, and no plan."""
    try:
        return dict(task.data_digests())
    except Exception:
        return {}


def changes(plan: Plan, store: Store) -> list[str]:
    """A sentence for each plugin file and each data set that is not the one reused cells were trained with."""
    return [*changed_plugins(plan, store), *changed_data(plan, store)]


def changed_data(plan: Plan, store: Store) -> list[str]:
    """For each data set that is here with other content than reused cells were trained on, a sentence that says so.

    A cell's id holds the name of its data set, not the content: seeds trained from here on would meet them in one
    mean. Data that is not here, and cells stored without a digest, say nothing.
    """
    here = {task.name: data_of(task.task) for task in plan.loaded.tasks if task.task is not None}
    tasks = {line.cell.id: line.task for line in plan.with_action("reuse") if line.cell and here[line.task]}
    there: dict[tuple[str, str], list[str]] = defaultdict(list)
    for id, origin in (store.provenance(tasks) if tasks else {}).items():
        stored = origin.get("data") or {}
        for name, digest in here[tasks[id]].items():
            if stored.get(name) not in (None, digest):
                there[name, digest].append(stored[name])
    return [
        f"data set {name} here is not the one {counted(len(found), 'reused cell')} "
        f"{'was' if len(found) == 1 else 'were'} trained on (content {digest[:10]} here, "
        f"{', '.join(sorted({other[:10] for other in found}))} there); put that one in place, or train all cells "
        "on this one, into another --store"
        for (name, digest), found in there.items()
    ]


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
