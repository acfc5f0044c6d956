"""What ran before under the names of a plan, with other parameters than now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchmark.identity import resolved_cell

if TYPE_CHECKING:
    from benchmark.plan import Plan
    from benchmark.store import Store

SHOWN = 3
"""Differences named."""
LATEST = "select task, initializer, arg_max(resolved, attempt_id) from cells where profile = ? group by all"


def with_history(plan: Plan, store: Store) -> Plan:
    """The plan; where nothing of a task and initialiser is stored but under other parameters, new lines say which.

    An edited parameter makes other cells, and the old numbers are not theirs: that is meant, and may surprise.
    """
    new = {(line.task, line.initializer): line.cell for line in plan.cells if line.reason == "new" and line.cell}
    planned = {line.cell.id for line in plan.cells if line.cell}
    if not new or not store.counting().keys() - planned:
        return plan
    told = {}
    for task, initializer, resolved in store.ask(LATEST, [plan.loaded.profile]):
        if cell := new.get((task, initializer)):
            now = resolved_cell(cell.task, cell.initializer, cell.profile, cell.seed)
            if was := [*differences(json.loads(resolved), now)]:
                more = f" and {len(was) - SHOWN} more differences" if len(was) > SHOWN else ""
                told[task, initializer] = f"new; ran before with {', '.join(was[:SHOWN])}{more}"
    return replace(plan, cells=tuple(
        replace(line, reason=told.get((line.task, line.initializer), line.reason)) if line.reason == "new" else line
        for line in plan.cells
    ))  # fmt: skip


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """`gain 2.0` for each parameter of task or initialiser that was another one, with the value it had."""
    for kind in ("task", "initializer"):
        there, here = (dict(leaves(one.get(kind, {}))) for one in (before, now))
        for name in dict.fromkeys((*there, *here)) if there else ():
            if there.get(name) != here.get(name):
                value = json.dumps(there[name], ensure_ascii=False) if name in there else "not set"
                yield f"{name.removeprefix('parameters.') if '.' in name else f'{kind} {name}'} {value}"


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted name and value of everything in nested mappings."""
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, item in value.items():
        yield from leaves(item, f"{name}.{key}" if name else str(key))
