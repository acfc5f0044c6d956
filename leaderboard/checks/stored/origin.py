"""Where numbers come from: other code, machines or specs behind one name or one mean."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from leaderboard.aggregate import Group
from leaderboard.checks.finding import Cell, Explanation, Finding, Severity, Tally, say
from leaderboard.checks.registry import on_store
from leaderboard.checks.stored.evidence import Row, StoreEvidence, cell, digest, flat, listed, named

PACKAGES = ("torch", "numpy", "scipy", "triton")
"""Libraries that take part in the arithmetic."""


def made_with(row: Row) -> dict[str, str]:
    """What a cell was made with, by the name a reader knows it by; what was not recorded is left out."""
    return _made_with(row.provenance_text, row.device.partition(":")[0], row.execution.partition("[")[0])


@lru_cache(maxsize=1 << 16)
def _made_with(provenance: str, device: str, execution: str) -> dict[str, str]:
    origin = json.loads(provenance or "{}")
    code, packages = origin.get("code") or {}, origin.get("packages") or {}
    families = {kind: {"digest": sha256} for kind, sha256 in (origin.get("plugins") or {}).items()}
    families |= origin.get("families") or {}
    found = {
        "code version": origin.get("initbench"),
        "commit": (code.get("commit") or "")[:10],
        "uncommitted changes": None if code.get("dirty") is None else "yes" if code["dirty"] else "no",
        **{f"{kind}'s code": _code(family) for kind, family in families.items()},
        "Python": origin.get("python"),
        **{name: v for family in families.values() for name, v in (family.get("packages") or {}).items()},
        **{name: packages.get(name) for name in PACKAGES},
        "machine": origin.get("machine"),
        "CPU": origin.get("cpu"),
        "GPU": ", ".join(sorted(set(origin.get("gpus") or ()))),
        "device": device,
        "threads": origin.get("threads"),
        "execution": execution,
    }
    return {name: str(value) for name, value in found.items() if value not in (None, "")}


def _code(family: Mapping[str, Any]) -> str:
    """`mypkg 1.0 3f2a9c01b7`, or the digest alone for a user's file."""
    told = family.get("distribution"), family.get("version"), family["digest"][:10]
    return " ".join(word for word in told if word)


def trained_on(row: Row) -> dict[str, str]:
    """Data sets → the start of the digest of their content; empty for cells stored without it."""
    return {f"data set {name}": content[:10] for name, content in (row.provenance.get("data") or {}).items()}


@on_store("DB-MIXENV")
def mixed(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """Code, data, libraries or machines mixed inside one mean."""
    together: dict[frozenset[frozenset[str]], list[str]] = defaultdict(list)
    groups = [(g, {row.cell_id: made_with(row) for row in evidence.rows_of(g)}) for _, g in evidence.groups()]
    for name in dict.fromkeys(name for _, cells in groups for facts in cells.values() for name in facts):
        together[_parts(groups, name)].append(name)
    for parts, names in together.items():
        if parts:
            yield _mixed(groups, parts, names)
        else:
            tally.ok(len(names) * len(groups))
    yield from _other_data(evidence, tally)
    yield from _uncommitted(evidence)


def _other_data(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    for task, groups in evidence.columns():
        cells = [(group, {row.cell_id: trained_on(row) for row in evidence.rows_of(group)}) for group in groups]
        for name in dict.fromkeys(name for _, made in cells for facts in made.values() for name in facts):
            told = _values(name, [facts for _, made in cells for facts in made.values()])
            if " and " in told:
                yield _on_other_data(task.name, name, told, cells)
            else:
                tally.ok()


def _on_other_data(task: str, name: str, told: str, cells: Made) -> Finding:
    mixed = [(group, made) for group, made in cells if len({f[name] for f in made.values() if name in f}) > 1]
    hit = mixed or cells
    inside = f"mixed inside {len(mixed)} mean{'s' * (len(mixed) != 1)}" if mixed else "is not the same in all means"
    return say(
        f"{name} {inside} of {task}: content {told}",
        *(found for group, made in hit[:4] for found in _sides(group, made, name)),
        arithmetic=f"in {listed((named(group) for group, _ in hit), 8)}", pattern=f"{name} mixed",
        could=[Explanation("the same files, decoded by another version of the image library", fits=True)],
        note="Train all cells on one of them, into a store of their own (`--store`).", severity=Severity.ERROR,
        basis=digest(sorted((r.cell_id, sorted(r.finals.items())) for g, _ in cells for r in g.seeds)),
    )  # fmt: skip


Made = Sequence[tuple[Group, Mapping[str, Mapping[str, str]]]]
"""Each group with cell id → what it was made with."""


def _parts(groups: Made, name: str) -> frozenset[frozenset[str]]:
    """How one fact divides the cells of the means in which it is mixed; empty when it is mixed in none."""
    parts: dict[str, set[str]] = defaultdict(set)
    for _, cells in groups:
        if len({facts[name] for facts in cells.values() if name in facts}) > 1:
            for cell_id, facts in cells.items():
                if name in facts:
                    parts[facts[name]].add(cell_id)
    return frozenset(map(frozenset, parts.values()))


def _mixed(groups: Made, parts: frozenset[frozenset[str]], names: list[str]) -> Finding:
    ids = frozenset[str]().union(*parts)
    hit = [(group, cells) for group, cells in groups if ids.intersection(cells)]
    told = "; ".join(f"{name} {_values(name, [facts for _, c in hit for facts in c.values()])}" for name in names)
    first = ", ".join(names[:3]) + (" ..." if len(names) > 3 else "")
    return say(
        f"{first} mixed inside {len(hit)} mean{'s' * (len(hit) != 1)}: {told}",
        *(found for group, cells in hit[:4] for found in _sides(group, cells, names[0])),
        arithmetic=f"in {listed((named(group) for group, _ in hit), 8)}", pattern=f"{names[0]} mixed",
        could=[Explanation("the change does not touch these numbers", "`bench rerun` trains stored cells again")],
        basis=digest(sorted((r.cell_id, sorted(r.finals.items())) for g, _ in hit for r in g.seeds)),
    )  # fmt: skip


def _values(name: str, cells: Sequence[Mapping[str, str]]) -> str:
    """`2.4 (3 cells) and 2.6 (2 cells)`."""
    counts = Counter(facts[name] for facts in cells if name in facts)
    return " and ".join(f"{value} ({count} cells)" for value, count in counts.items())


def _sides(group: Group, cells: Mapping[str, Mapping[str, str]], name: str) -> Iterator[Cell]:
    """One entry per value with the seeds that have it."""
    seeds: dict[str, list[int]] = defaultdict(list)
    for result in group.seeds:
        if name in cells.get(result.cell_id, {}):
            seeds[cells[result.cell_id][name]].append(result.seed)
    for value, found in seeds.items():
        yield cell(group, f"{name} {value}: seeds {listed(found, 10)}")


def _uncommitted(evidence: StoreEvidence) -> Iterator[Finding]:
    rows = [row for _, group in evidence.groups() for row in evidence.rows_of(group)]
    dirty = [row for row in rows if (row.provenance.get("code") or {}).get("dirty")]
    if dirty and len(dirty) == len(rows):
        commits = sorted({made_with(row).get("commit", "") for row in dirty})
        told = f"all {len(rows)} cells were made from uncommitted changes on {listed(commits)}"
        yield say(
            f"{told}: no commit tells which code ran", pattern="uncommitted changes", arithmetic=listed(commits),
            severity=Severity.INFO,
        )  # fmt: skip


@on_store("DB-NONDET")
def not_deterministic(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """The same cell trained again gives other numbers."""
    several = evidence.attempts()
    finals = evidence.finals_of_attempts() if several else {}
    for _, group in evidence.groups():
        for result in group.seeds:
            rows = several.get(result.cell_id, [])
            versions = [(row, found) for row in rows if (found := finals.get((row.cell_id, row.attempt_id)))]
            if len(versions) < 2:
                continue
            if (worst := _apart(versions, evidence.threshold)) is None:
                tally.ok()
            else:
                yield _other_numbers(group, result.seed, versions, worst)


Versions = Sequence[tuple[Row, Mapping[str, float]]]
"""Attempts with their finals."""


def _apart(versions: Versions, threshold: float) -> tuple[str, float] | None:
    """The metric whose values lie furthest apart, relatively; None when all are within the threshold."""
    apart = {}
    first = versions[0][1]
    for metric in sorted({name for _, finals in versions for name in finals}):
        distances = [_distance(first.get(metric), finals.get(metric)) for _, finals in versions[1:]]
        apart[metric] = max(distances)
    if not apart:
        return None
    worst = max(apart.items(), key=lambda item: item[1])
    return worst if worst[1] > threshold else None


def _distance(a: float | None, b: float | None) -> float:
    if a is None or b is None:
        return float("inf")
    if a == b or (a != a and b != b):
        return 0.0
    distance = abs(a - b) / max(abs(a), abs(b))
    return distance if distance == distance else float("inf")


def _other_numbers(group: Group, seed: int, versions: Versions, worst: tuple[str, float]) -> Finding:
    metric, distance = worst
    facts = [made_with(row) | trained_on(row) for row, _ in versions]
    names = [n for n in dict.fromkeys(n for fact in facts for n in fact) if len({fact.get(n) for fact in facts}) > 1]
    told = "; ".join(f"{name} {' and '.join(dict.fromkeys(str(fact.get(name)) for fact in facts))}" for name in names)
    stacks = list(dict.fromkeys(row.execution for row, _ in versions))
    values = [(row.attempt_id, repr(finals.get(metric))) for row, finals in versions]
    return say(
        f"{named(group)}, seed {seed}: {len(versions)} attempts at one cell, {metric} differs",
        *(cell(group, f"{value} (attempt {attempt})", metric, seed) for attempt, value in values),
        arithmetic=f"{metric}: {' and '.join(value for _, value in values)}, relative {distance:.2g}",
        could=(
            Explanation("made in another environment", told or "all that is recorded is the same", bool(names)),
            Explanation("another stack layout, which rounds differently", " and ".join(stacks), len(stacks) > 1),
        ),
        pattern="attempts at one cell that differ", note="The first attempt's numbers count, so no table changes.",
    )  # fmt: skip


@on_store("DB-SPECDRIFT")
def drift(evidence: StoreEvidence, tally: Tally) -> Iterator[Finding]:
    """One name with several specs."""
    tasks = {task.name for task in evidence.grid.tasks}
    names = {group.initializer for _, group in evidence.groups()}
    rows = [row for row in evidence.by_cell.values() if row.done and row.profile == evidence.grid.profile]
    used = {result.cell_id for _, group in evidence.groups() for result in group.seeds}
    kinds: dict[tuple[str, str], dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    told = cache(lambda spec, part: json.dumps(json.loads(spec).get(part), sort_keys=True))
    for row in rows:
        if row.task in tasks:
            kinds[row.task, ""][told(row.spec, "task")].append(row)
            if row.initializer in names:
                kinds[row.task, row.initializer][told(row.spec, "initializer")].append(row)
    for (task, initializer), specs in kinds.items():
        if len(specs) == 1:
            tally.ok()
        else:
            yield _drift(task, initializer, list(specs.values()), used)


def _drift(task: str, initializer: str, versions: list[list[Row]], used: set[str]) -> Finding:
    part = "initializer" if initializer else "task"
    what = f"initialiser '{initializer}' on {task}" if initializer else f"task '{task}'"
    specs = [flat(rows[0].resolved.get(part) or {}) for rows in versions]
    told = "; ".join(_field(name, specs, versions) for name in differing(specs))
    inside = [rows for rows in versions if any(row.cell_id in used for row in rows)]
    mixed_up = len(inside) > 1
    label, where = " · ".join(filter(None, (initializer, task))), "both are" if mixed_up else "one is"
    told_of = "cells of an earlier version of the spec, in no table of this experiment"
    return say(
        f"{what} has {len(versions)} specs in this store: {told}",
        *(Cell(f"{len(rows)} cells", task, initializer or "*", label=label) for rows in versions),
        arithmetic=f"{len(versions)} different resolved {part}s; {where} in this table",
        could=[Explanation(told_of, fits=not mixed_up)], pattern="names with several specs",
        note="A new name (`as:` in the experiment) keeps them apart; nothing stored is lost.",
        basis=digest(sorted(row.cell_id for rows in versions for row in rows)),
        severity=Severity.ERROR if mixed_up else Severity.WARNING,
    )  # fmt: skip


def differing(specs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Dotted names of the fields that are not the same in all."""
    names = dict.fromkeys(name for spec in specs for name in spec)
    return [name for name in names if len({repr(spec.get(name, "absent")) for spec in specs}) > 1]


def _field(name: str, specs: Sequence[Mapping[str, Any]], versions: Sequence[Sequence[Row]]) -> str:
    values = [f"{spec.get(name, 'absent')} ({len(rows)} cells)" for spec, rows in zip(specs, versions, strict=True)]
    return f"{name.removeprefix('parameters.')} {' and '.join(values)}"
