"""How `bench plan --cost` is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from benchmark.cli.common import print_table
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.cost.estimate import Cost, TaskCost, Total
    from benchmark.plan import Plan
    from benchmark.store import Store


def cost_of(plan: Plan, store: Store, gpu: str | None) -> Cost:
    """The cost of a plan on a named device. Raises UsageError for an unknown one."""
    from benchmark.cost import devices
    from benchmark.cost.estimate import estimate
    from benchmark.cost.rates import measured

    device = devices.device(gpu or devices.DEFAULT)
    from benchmark.train.operations import Counting  # imports torch, after a name that does not exist is refused

    count = Counting()
    return estimate(plan, device, measured(store, plan.loaded.registry, device, count), count)


def show_cost(cost: Cost) -> None:
    """Tables by task and by table, missing data, what is assumed."""
    click.echo(f"\nCost on {cost.device}{f' ({cost.reused} finished cells not counted)' if cost.reused else ''}\n")
    if not cost.tasks:
        click.echo("Nothing is left to train.")
        return
    headings = [
        "task",
        "cells",
        "parameters",
        "steps",
        "FLOPs/step",
        "FLOPs/cell",
        "memory",
        "time/cell",
        "rate",
        "run",
    ]
    print_table(headings, [task_row(task) for task in cost.tasks])
    for task in cost.tasks:
        if task.unknown:
            click.echo(f"{task.task}: {task.unknown}")
    click.echo()
    hours = "worker-hours" if cost.device == "cpu" else "GPU-hours"
    rows = [total_row(table) for table in (*cost.tables, cost.total)]
    print_table(["table", "cells", "FLOPs", hours, "storage"], rows)
    if len(cost.tables) > 1:
        click.echo("Cells that stand in several tables are counted in each, and once in all.")
    show_missing(cost)
    click.echo("\nAssumed and counted:")
    for text in cost.assumptions:
        click.echo(f"  {text}")


def task_row(task: TaskCost) -> list[str]:
    """One line of the first table."""
    work = task.work
    if work is None:
        return [task.task, str(len(task.cells)), *["?"] * 8]
    return [
        task.task,
        str(len(task.cells)),
        scaled(work.parameters, ""),
        str(task.steps),
        scaled(work.step.flops, ""),
        scaled(task.flops, ""),
        scaled(work.memory_bytes, "B"),
        "?" if task.seconds is None else span(task.seconds),
        task.rate or "unknown",
        task.execution,
    ]


def total_row(table: Total) -> list[str]:
    """One line of the second table."""
    known = f"{table.seconds / 3600:.3g}" if table.unknown < table.cells else "?"
    hours = f"{known} + {counted(table.unknown, 'cell')} unknown" if 0 < table.unknown < table.cells else known
    return [table.title, str(table.cells), scaled(table.flops, ""), hours, scaled(table.storage, "B")]


def show_missing(cost: Cost) -> None:
    """Data sets to put in place, their size, and the commands."""
    missing = cost.missing()
    reasons = dict.fromkeys(task.missing_reason for task in cost.tasks if task.missing_reason)
    if not reasons:
        return
    sizes = [f"{name} ({'size unknown' if size is None else scaled(size, 'B')})" for name, size in missing.items()]
    click.echo(f"\nMissing data: {', '.join(sizes) or 'size unknown'}")
    for reason in reasons:
        click.echo(f"  {reason}")


def scaled(value: float, unit: str) -> str:
    """Three digits and a decimal prefix: `1.33 M`, `170 P`, `2.4 GB`."""
    prefixes = ["", "k", "M", "G", "T", "P", "E", "Z"]
    while value >= 999.5 and len(prefixes) > 1:
        value, prefixes = value / 1000, prefixes[1:]
    return f"{value:.3g} {prefixes[0]}{unit}".rstrip()


def span(seconds: float) -> str:
    """`42 s`, `3.1 min`, `2.25 h`."""
    if seconds < 60:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 3600 else f"{seconds / 3600:.3g} h"
