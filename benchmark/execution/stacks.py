"""Which cells are trained together: groups that one program can run, cut into stacks of about the decided size."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from benchmark.cell import Cell
from benchmark.train.grouping import shape_key, stack_key
from benchmark.train.mode import Mode


@dataclass(frozen=True)
class Stack:
    """Cells to train in one go, and how."""

    cells: tuple[Cell, ...]
    mode: Mode


def form_stacks(
    cells: Sequence[Cell], todo: Collection[str], modes: Mapping[str, Mode], workers: int | None
) -> list[Stack]:
    """Stacks of the cells whose id is in `todo`.

    `modes` maps shape keys to the decided mode, whose stack size is an upper bound; with `workers` None, for a mode
    that the user has pinned, it is the size itself. The cut depends on all `cells`, finished ones too, where it can:
    then a run that was interrupted goes on with the very stacks it would have had, and ends with the same bits. A
    group in which finished cells would leave holes is cut anew.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(stack_key(cell), []).append(cell)
    limits = {key: modes[shape_key(group[0])] for key, group in groups.items()}
    whole = cut_all(groups, limits, workers)
    holed = {key for key in groups if any(has_hole(stack, todo) for stack in whole[key])}
    left = {key: [cell for cell in groups[key] if cell.id in todo] for key in holed}
    again = cut_all({key: group for key, group in left.items() if group}, limits, workers)
    kept = [stack for key in groups for stack in (again.get(key, []) if key in holed else whole[key])]
    return [stack for stack in kept if stack.cells[0].id in todo]


def has_hole(stack: Stack, todo: Collection[str]) -> bool:
    """Whether some of its cells, not all, are still to be trained."""
    return len({cell.id in todo for cell in stack.cells}) == 2


def cut_all(
    groups: Mapping[str, Sequence[Cell]], limits: Mapping[str, Mode], workers: int | None
) -> dict[str, list[Stack]]:
    """Each group cut evenly; so many stacks in all that the last round of the workers is as full as possible."""
    if workers is None:
        return {key: portions(group, limits[key]) for key, group in groups.items()}
    counts = {key: -(-len(group) // limits[key].stack_size) for key, group in groups.items()}
    while sum(counts.values()) % workers:
        widest = max(counts, key=lambda key: len(groups[key]) / counts[key])
        if counts[widest] >= len(groups[widest]):
            break
        counts[widest] += 1
    return {key: cut(group, counts[key], limits[key]) for key, group in groups.items()}


def portions(group: Sequence[Cell], mode: Mode) -> list[Stack]:
    """Stacks of exactly the mode's size, the last one of what remains."""
    size = mode.stack_size
    return [Stack(tuple(group[start : start + size]), mode) for start in range(0, len(group), size)]


def cut(group: Sequence[Cell], count: int, limit: Mode) -> list[Stack]:
    """`count` stacks whose sizes differ by one at most, all with the mode of the largest: one program serves all."""
    mode = replace(limit, stack_size=-(-len(group) // count))
    edges = [len(group) * k // count for k in range(count + 1)]
    return [Stack(tuple(group[a:b]), mode) for a, b in pairwise(edges)]
