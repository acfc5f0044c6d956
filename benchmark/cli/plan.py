"""`bench plan`: what a run would do, cell by cell, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

import click

from benchmark.cli.common import (
    emit_json,
    filter_options,
    json_option,
    plugin_option,
    print_table,
    profile_option,
    seeds_option,
    store_option,
    suggestion,
)
from benchmark.cli.plan_cost import cost_of, show_cost
from benchmark.errors import ExitCode
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.plan import Estimate, Plan, PlannedCell

GAP = 3
"""Characters between two columns of a table, at most."""


@click.command()
@click.argument("spec")
@profile_option()
@seeds_option()
@filter_options(seed=True)
@click.option("--force", is_flag=True, help="Plan as `bench run --force` would: train finished cells again.")
@click.option("--cells", is_flag=True, help="List every cell.")
@click.option("--cost", is_flag=True, help="Count operations, memory, storage and hours (imports torch).")
@click.option("--gpu", metavar="NAME", help="Device the cost is for, or cpu; implies --cost.  [default: A100-40GB]")
@plugin_option()
@store_option()
@json_option()
def command(
    spec: str,
    profile: str | None,
    seeds: tuple[int, ...] | None,
    task: tuple[str, ...],
    initializer: tuple[str, ...],
    seed: tuple[int, ...],
    force: bool,
    cells: bool,
    cost: bool,
    gpu: str | None,
    plugin: tuple[Path, ...],
    store: Path,
    as_json: bool,
) -> int:
    """Show what `bench run SPEC` would train, reuse or skip, and why. SPEC is a file or the name of a shipped spec."""
    from benchmark.execution.changes import changes
    from benchmark.execution.history import with_history
    from benchmark.plan import Selection, build_plan, load_experiment
    from benchmark.store import Store

    loaded = load_experiment(spec, profile=profile, seeds=seeds, plugins=plugin)
    stored = Store(store)
    plan = build_plan(
        loaded, stored.finished(), stored.not_done(), recorded=stored.recorded(), force=force,
        selection=Selection(task, initializer, seed), seconds=stored.seconds(loaded.profile),
    )  # fmt: skip
    plan = with_history(plan, stored)
    for message in (*loaded.notices, *loaded.warnings, *changes(plan, stored), *stored.warnings):
        click.echo(message, err=True)
    costed = cost_of(plan, stored, gpu) if cost or gpu else None
    if as_json:
        emit_json(as_data(plan) | ({"cost": costed.as_json()} if costed else {}))
    else:
        show(plan, cells)
        show_cost(costed) if costed else click.echo(hint(plan), nl=False)
    return ExitCode.INCOMPLETE if plan.with_action("broken") else ExitCode.COMPLETE


def hint(plan: Plan) -> str:
    """Where to ask for what a plan leaves open."""
    estimate = plan.estimate()
    if estimate is not None and not estimate.unknown:
        return ""
    return f"`{suggestion('plan', options=['--cost'])}` estimates operations, memory and hours.\n"


def as_data(plan: Plan) -> dict[str, Any]:
    """The plan as plain data."""
    estimate = plan.estimate()
    return {
        "experiment": plan.loaded.name,
        "profile": plan.loaded.profile,
        "seeds": plan.loaded.seeds,
        "counts": plan.counts(),
        "estimate": vars(estimate) if estimate else None,
        "cells": [planned.as_json() for planned in plan.cells],
    }


def show(plan: Plan, cells: bool) -> None:
    """The plan as text."""
    loaded = plan.loaded
    click.echo(f"{loaded.name}, profile {loaded.profile}, seeds {', '.join(map(str, loaded.seeds))}\n")
    if cells:
        rows = [
            [p.task, p.initializer, p.seed, p.cell.id[:12] if p.cell else "", p.action, p.reason] for p in plan.cells
        ]
        print_table(["task", "initializer", "seed", "cell", "action", "reason"], rows)
    else:
        show_grid(plan)
    click.echo()
    for reason, count in plan.counts().items():
        click.echo(f"{count:>6}  {reason}")
    click.echo(f"\n{closing(plan)}")


def show_grid(plan: Plan) -> None:
    """One row per initialiser, one column per task."""
    groups: dict[tuple[str, str], list[PlannedCell]] = {}
    for planned in plan.cells:
        groups.setdefault((planned.task, planned.initializer), []).append(planned)
    tasks = list(dict.fromkeys(task for task, _ in groups))
    initializers = list(dict.fromkeys(initializer for _, initializer in groups))
    columns = [[task, *(summary(groups.get((task, name), [])) for name in initializers)] for task in tasks]
    heads = ["initializer", *initializers]
    for number, block in enumerate(blocks([widest(column) for column in columns], widest(heads))):
        click.echo("\n" * (number > 0), nl=False)
        headings, *rows = zip(heads, *(columns[k] for k in block), strict=True)
        print_table(headings, rows)


def widest(texts: Sequence[str]) -> int:
    """Characters of the longest text."""
    return max(map(len, texts))


def blocks(widths: Sequence[int], first: int) -> list[list[int]]:
    """Numbers of the columns side by side, cut into blocks that fit the terminal beside a first column each.

    A column that does not fit even alone has a block of its own: nothing is cut off.
    """
    room = get_terminal_size().columns - first - GAP
    found: list[list[int]] = []
    left = 0
    for number, width in enumerate(widths):
        if not found or left < width + GAP:
            found.append([])
            left = room
        found[-1].append(number)
        left -= width + GAP
    return found


def summary(cells: list[PlannedCell]) -> str:
    """`3 run, 2 reuse`."""
    return ", ".join(f"{count} {action}" for action, count in Counter(planned.action for planned in cells).items())


def closing(plan: Plan) -> str:
    """What a run would do, in one line, with its cost."""
    run = len(plan.to_run())
    if not run:
        return f"Nothing to do, {counted(len(plan.with_action('reuse')), 'cell')} reused."
    return f"{counted(run, 'cell')} to train; {time_left(plan.estimate())}."


def time_left(estimate: Estimate | None) -> str:
    """The estimate in words."""
    if estimate is None:
        return "time unknown, nothing comparable has run yet"
    text = f"about {duration(estimate.seconds)} of one worker"
    return f"{text} for {estimate.known} of them, unknown for {estimate.unknown}" if estimate.unknown else text


def duration(seconds: float) -> str:
    """`2 h 5 min`, `3 min 20 s`, `4.2 s`."""
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
