"""`bench status`: what is done, running and missing."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmark.cli.common import emit_json, emit_json_line, json_option, print_table, store_option, suggestion
from benchmark.cli.stores import open_store, tell
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.backends.contract import Underway
    from benchmark.store import Store
    from benchmark.store.overview import HalfTrained, Overview, Stack

SHOWN = 20


@click.command()
@click.option("--watch", is_flag=True, help="Look again and again, until Ctrl-C.")
@click.option(
    "--interval", type=click.FloatRange(min=0.2), default=2.0, show_default=True, help="Seconds between looks."
)
@click.option("--errors", is_flag=True, help="Show the whole traceback of every failed cell.")
@click.option("--compact", is_flag=True, help="First gather the result files into few large ones.")
@store_option()
@json_option("Print JSON (with --watch one line per look).")
def command(watch: bool, interval: float, errors: bool, compact: bool, store: Path, as_json: bool) -> None:
    """Show the last run of each experiment, what is being trained now, and what failed.

    Works while a run is going, and does not disturb it.
    """
    opened = open_store(store)
    if compact:
        compacted = opened.compact(threshold=1)
        click.echo(f"{compacted.shards} files became {compacted.segments}, {compacted.cells} attempts", err=True)
    if watch:
        keep_looking(opened, interval, errors, as_json)
        return
    look(opened, errors, as_json)


def keep_looking(store: Store, interval: float, errors: bool, as_json: bool) -> None:
    """Show the state until Ctrl-C; on a terminal in place, elsewhere one after the other."""
    from benchmark.store.overview import overview

    try:
        while True:
            if as_json:
                emit_json_line(as_data(overview(store)))
            else:
                if sys.stdout.isatty():
                    click.clear()
                click.echo(time.strftime("%Y-%m-%d %H:%M:%S"))
                look(store, errors, as_json)
            sys.stdout.flush()
            time.sleep(interval)
    except KeyboardInterrupt:
        return


def look(store: Store, errors: bool, as_json: bool) -> None:
    """Show the state once."""
    from benchmark.store.overview import overview

    found = overview(store)
    if as_json:
        emit_json(as_data(found))
        return
    tell(found.warnings)
    show_experiments(found)
    show_stacks(found.stacks)
    show_half_trained(found.half_trained)
    show_queue(queued(Path(found.store)))
    show_failures(found, errors)
    if found.quarantined:
        click.echo(f"\n{found.quarantined} damaged files in {found.store}/quarantine, each with its reason")


def as_data(found: Overview) -> dict[str, Any]:
    """The state as plain data."""
    data = asdict(found)
    data["queue"] = [vars(job) for job in queued(Path(found.store))]
    data["failures"] = [{**failure._asdict(), "reason": failure.reason} for failure in found.failures]
    return data


def show_experiments(found: Overview) -> None:
    """One line per experiment."""
    if not found.experiments:
        cells = counted(found.cells, "cell")
        click.echo(f"{found.store}: no runs yet, {cells} with numbers. Start with `{suggestion('run', 'SPEC')}`.")
        return
    headings = ("experiment", "profile", "run", "state", "done", "diverged", "running", "failed", "missing", "of")
    print_table(headings, [
        (e.name, e.profile, e.run_id, e.state, e.finished, e.diverged, e.running, e.failed, e.missing, e.total)
        for e in found.experiments
    ])  # fmt: skip


def show_stacks(stacks: tuple[Stack, ...]) -> None:
    """One line per stack that is being trained."""
    if not stacks:
        return
    click.echo()
    headings = ("training", "cells", "step", "metrics", "for", "pid", "checkpoint", "")
    print_table(headings, [stack_line(stack) for stack in stacks])


def show_half_trained(left: tuple[HalfTrained, ...]) -> None:
    """One line per stack that waits to be gone on with."""
    if left:
        click.echo()
        print_table(("half trained", "cells", "step", "MB", "since"), [
            (one.task, one.cells, f"{one.step}/{one.steps_planned}", f"{one.size / 1e6:.1f}", duration(one.age))
            for one in left
        ])  # fmt: skip


def queued(store: Path) -> list[Underway]:
    """What the queue of a cluster holds for this store; nothing is imported or asked when nothing was submitted."""
    from benchmark.backends.catalog import underway

    return underway(store)


def show_queue(jobs: list[Underway]) -> None:
    """One line per state of jobs that were submitted, and the last word of those that are gone with cells undone."""
    if not jobs:
        return
    states: dict[str, list[Underway]] = {}
    for job in jobs:
        states.setdefault(job.state if job.alive else f"gone: {job.state}", []).append(job)
    click.echo()
    print_table(("queue", "jobs", "cells", "first", "last word"), [
        (state, len(found), sum(len(job.cell_ids) for job in found), found[0].job, found[0].detail.rpartition("\n")[2])
        for state, found in states.items()
    ])  # fmt: skip


def stack_line(stack: Stack) -> tuple[Any, ...]:
    """What one stack is doing."""
    metrics = " ".join(f"{name}={value:.4g}" for name, value in stack.metrics.items())
    place = f"{stack.pid}@{stack.host}"
    state = "" if stack.alive else f"gone, silent for {duration(stack.silence)}"
    step = f"{stack.step}/{stack.steps_planned}"
    return (stack.task, stack.cells, step, metrics, duration(stack.age), place, stack.checkpoint, state)


def show_failures(found: Overview, errors: bool) -> None:
    """Failed cells, with the last line of the traceback or all of it."""
    if not found.failures:
        return
    shown = found.failures if errors else found.failures[:SHOWN]
    click.echo(f"\n{counted(len(found.failures), 'cell')} without numbers:")
    for failure in shown:
        name = f"{failure.task} × {failure.initializer}, seed {failure.seed} ({failure.cell_id[:12]})"
        click.echo(f"  {failure.status}: {name}: {failure.reason}")
        if errors and failure.error:
            click.echo("".join(f"    {line}\n" for line in failure.error.rstrip().splitlines()))
    if len(shown) < len(found.failures):
        click.echo(f"  ... and {len(found.failures) - len(shown)} more (--errors shows all, with their tracebacks)")


def duration(seconds: float) -> str:
    """Seconds as 42s, 3m05s or 2h07m."""
    whole = int(max(seconds, 0))
    if whole < 60:
        return f"{whole}s"
    return f"{whole // 60}m{whole % 60:02}s" if whole < 3600 else f"{whole // 3600}h{whole % 3600 // 60:02}m"
