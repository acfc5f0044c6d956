"""Which cells are trained together: groups that one program can run, cut into stacks of about the decided size."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
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

    `modes` maps shape keys to the decided mode; `workers` None says that the user has pinned it, and then every stack
    has its very size. The cut depends on all `cells`, finished ones too, where it can: then a run that was interrupted
    goes on with the very stacks it would have had, and ends with the same bits. A group in which finished cells would
    leave holes is cut anew.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(stack_key(cell), []).append(cell)
    limits = {key: modes[shape_key(group[0])] for key, group in groups.items() if any(c.id in todo for c in group)}
    whole = cut_all({key: groups[key] for key in limits}, limits, workers)
    holed = {key for key in limits if any(has_hole(stack, todo) for stack in whole[key])}
    left = {key: [cell for cell in groups[key] if cell.id in todo] for key in holed}
    again = cut_all(left, limits, workers)
    kept = [stack for key in limits for stack in (again[key] if key in holed else whole[key])]
    return [stack for stack in kept if stack.cells[0].id in todo]


def has_hole(stack: Stack, todo: Collection[str]) -> bool:
    """Whether some of its cells, not all, are still to be trained."""
    return len({cell.id in todo for cell in stack.cells}) == 2


def cut_all(
    groups: Mapping[str, Sequence[Cell]], limits: Mapping[str, Mode], workers: int | None
) -> dict[str, list[Stack]]:
    """Every group in stacks: as many as the modes ask for, and where cells suffice enough to busy all workers.

    A compiled program is made for one size, so its stacks have exactly that (the last one is padded when trained);
    others are cut evenly.
    """
    exact = {key for key in groups if workers is None or limits[key].compiled}
    counts = {key: -(-len(group) // limits[key].stack_size) for key, group in groups.items()}
    while sum(counts.values()) < (workers or 0):
        free = [key for key in groups if key not in exact and counts[key] < len(groups[key])]
        if not free:
            break
        counts[max(free, key=lambda key: len(groups[key]) / counts[key])] += 1
    return {
        key: in_portions(group, limits[key]) if key in exact else evenly(group, counts[key], limits[key])
        for key, group in groups.items()
    }


def in_portions(group: Sequence[Cell], mode: Mode) -> list[Stack]:
    """Stacks of exactly the mode's size, the last one of what remains."""
    size = mode.stack_size
    return [Stack(tuple(group[start : start + size]), mode) for start in range(0, len(group), size)]


def evenly(group: Sequence[Cell], count: int, mode: Mode) -> list[Stack]:
    """`count` stacks whose sizes differ by one at most."""
    edges = [len(group) * k // count for k in range(count + 1)]
    return [Stack(tuple(group[a:b]), mode) for a, b in pairwise(edges)]
