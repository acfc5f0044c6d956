"""Whether code or data are other ones than those the cells that would be reused were trained with."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from benchmark.registry import origin_of
from benchmark.wording import counted, shown_path

if TYPE_CHECKING:
    from benchmark.cell import Cell
    from benchmark.origin import Origin
    from benchmark.plan import Plan
    from benchmark.store import Store
    from benchmark.task import Task

Origins = Mapping[str, Mapping[str, Any]]
"""Cell id → the provenance it is stored with."""


def families_of(cell: Cell) -> dict[str, Origin]:
    """`task` and `initializer` → the code it is."""
    return {"task": origin_of(type(cell.task)), "initializer": origin_of(type(cell.initializer))}


def data_of(task: Task) -> dict[str, str]:
    """`Task.data_digests`, or nothing when it raises: what it says is worth no cell, and no plan."""
    try:
        return dict(task.data_digests())
    except Exception:
        return {}


def changes(plan: Plan, store: Store) -> list[str]:
    """A sentence for each family's code and each data set that is not the one reused cells were trained with."""
    reused = [line.cell.id for line in plan.with_action("reuse") if line.cell]
    stored = store.provenance(reused) if reused else {}
    return [*changed_code(plan, stored), *changed_data(plan, stored)]


def code_of(provenance: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """`task` and `initializer` → what is stored of its code; of older cells, the digest of their plugin file."""
    older = {kind: {"digest": sha256} for kind, sha256 in (provenance.get("plugins") or {}).items()}
    return {**older, **(provenance.get("families") or {})}


def changed_data(plan: Plan, stored: Origins) -> list[str]:
    """For each data set that is here with other content than reused cells were trained on, a sentence that says so.

    A cell's id holds the name of its data set, not the content: seeds trained from here on would meet them in one
    mean. Data that is not here, and cells stored without a digest, say nothing.
    """
    here = {task.name: data_of(task.task) for task in plan.loaded.tasks if task.task is not None}
    tasks = {line.cell.id: line.task for line in plan.with_action("reuse") if line.cell and here[line.task]}
    there: dict[tuple[str, str], list[str]] = defaultdict(list)
    for id, origin in stored.items():
        others = origin.get("data") or {}
        for name, digest in here[tasks[id]].items() if id in tasks else ():
            if others.get(name) not in (None, digest):
                there[name, digest].append(others[name])
    return [
        f"data set {name} here is not the one {counted(len(found), 'reused cell')} "
        f"{'was' if len(found) == 1 else 'were'} trained on (content {digest[:10]} here, "
        f"{', '.join(sorted({other[:10] for other in found}))} there); put that one in place, or train all cells "
        "on this one, into another --store"
        for (name, digest), found in there.items()
    ]


def changed_code(plan: Plan, stored: Origins) -> list[str]:
    """For each family whose code is not that which reused cells were trained with, a sentence that says so.

    A cell's id holds the family's `version`, not its code: an edit that forgets to raise it would go unseen. Cells
    stored without digests say nothing.
    """
    cells = {line.cell.id: line.cell for line in plan.with_action("reuse") if line.cell}
    counts: Counter[str] = Counter()
    for id, origin in stored.items():
        if id in cells:
            families = families_of(cells[id])
            told = (difference(families[kind], was) for kind, was in code_of(origin).items() if kind in families)
            counts.update({text for text in told if text})
    return [
        text.replace("{}", f"{counted(count, 'reused cell')} {'was' if count == 1 else 'were'} trained with")
        + "; raise `version` in it or use --force"
        for text, count in counts.items()
    ]


def difference(now: Origin, was: Mapping[str, Any]) -> str:
    """How a family's code differs from that a cell was stored with, with a place for which cells; empty if it does not.

    Of a user's file: `own.py differs from the file {}`. Of a package: `mypkg 2.0 (mypkg/a.py) differs from mypkg 1.0
    that {}`. Packages that it imports count by their version.
    """
    own = next(iter(now.modules), None)
    if now.digest == was.get("digest") or own is None:
        then = was.get("packages") or {}
        other = [name for name, version in now.packages.items() if then.get(name, version) != version]
        told = ", ".join(f"{name} {now.packages[name]} (not {then[name]})" for name in other)
        return f"{told}, imported by {own.file}, is not what {{}}" if own and other else ""
    files, before = {module.file: sha256[:16] for module, sha256 in now.modules.items()}, was.get("files") or {}
    edited = [name for name in {**files, **before} if files.get(name) != before.get(name)] if before else [own.file]
    if now.distribution:
        stored = f"{was.get('distribution', now.distribution)} {was.get('version', '')}".strip()
        return f"{now.distribution} {now.version} ({', '.join(edited)}) differs from {stored} that {{}}"
    if edited == [own.file]:
        return f"{shown_path(own.path)} differs from the file {{}}"
    return f"{shown_path(own.path)} differs, with what it imports ({', '.join(edited)}), from the file {{}}"
