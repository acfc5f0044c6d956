"""`bench rerun`: the determinism audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmark.cli import common
from benchmark.errors import ExitCode, UsageError
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.execution.audit import Comparison
    from benchmark.execution.execute import Settings
    from benchmark.records import CellRecord
    from benchmark.store import Store

WORDS = {
    "equal": "bit-equal",
    "close": "within tolerance",
    "differs": "DIFFERS",
    "failed": "NO NUMBERS THIS TIME",
}


@click.command()
@click.option("--sample", type=click.IntRange(min=1), metavar="K", help="Train K finished cells, drawn at random.")
@click.option("--cell", "cells", multiple=True, metavar="ID", help="Train this cell; the start of its id is enough.")
@click.option("--draw", type=int, default=0, show_default=True, help="Seed of the random draw.")
@click.option(
    "--tolerance", type=click.FloatRange(min=0), default=1e-6, show_default=True,
    help="Largest relative difference, of finals and curve, that passes.",
)  # fmt: skip
@common.filter_options(seed=True)
@common.profile_option()
@common.plugin_option()
@common.store_option()
@click.option("--workers", type=click.IntRange(min=1), help="Stacks trained at once  [default: cores, or GPUs]")
@click.option("--cell-timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="As in bench run.")
@common.json_option()
def command(
    sample: int | None, cells: tuple[str, ...], draw: int, tolerance: float, store: Path, as_json: bool, **options: Any
) -> ExitCode:
    """Train finished cells again and compare the numbers with the stored ones.

    Each cell is trained within the stack, mode and order it had; the new attempts are kept, marked as reruns, and
    change no table. Ends with exit code 4 when a number differs by more than the tolerance.
    """
    from benchmark.execution.audit import choose
    from benchmark.store import Store

    if bool(cells) == (sample is not None):
        raise UsageError("say which cells: either --sample K or --cell ID (repeatable)")
    results = Store(store)
    chosen = choose(finished_records(results, options), sample, cells, draw)
    comparisons, interrupted = train_again(chosen, results, tolerance, options)
    show(comparisons, tolerance, as_json)
    if interrupted:
        return ExitCode.INTERRUPTED
    parted = any(comparison.agreement in ("differs", "failed") for comparison in comparisons)
    return ExitCode.FOUND if parted else ExitCode.COMPLETE


def finished_records(store: Store, options: dict[str, Any]) -> list[CellRecord]:
    """Counting attempts with numbers that the filters take."""
    from benchmark.plan import Selection
    from benchmark.records import DONE

    wanted = Selection(options["task"], options["initializer"], options["seed"])
    return [
        record
        for record in store.records()
        if record.status in DONE
        and wanted.takes(record.task, record.initializer, record.seed)
        and options["profile"] in (None, record.profile)
    ]


def train_again(
    chosen: Sequence[CellRecord], store: Store, tolerance: float, options: dict[str, Any]
) -> tuple[list[Comparison], bool]:
    """Train the stacks of the chosen cells again; the comparisons, and whether Ctrl-C came."""
    from benchmark.execution.audit import audit_jobs, compare
    from benchmark.execution.progress import Brief
    from benchmark.execution.run import run_audit

    settings = make_settings(options)
    jobs = audit_jobs(chosen, store, settings)
    total = sum(len(job.cells) for job in jobs)
    say = Brief(len(jobs), lambda text: click.echo(text, err=True))
    say.note(
        f"Training {counted(len(chosen), 'cell')} again, "
        f"in {counted(len(jobs), 'stack')} of {counted(total, 'cell')} in all"
    )
    execution = run_audit(jobs, store, settings, say)
    again = [record for record in store.records(every_attempt=True) if record.run_id == settings.run_id]
    return compare(chosen, again, tolerance), execution.interrupted


def make_settings(options: dict[str, Any]) -> Settings:
    """Execution settings; device, mode and threads are those of the stored cells."""
    from benchmark.backends.contract import Wanted
    from benchmark.backends.local import Local
    from benchmark.execution.execute import Settings
    from benchmark.registry import Registry
    from benchmark.store import new_run_id

    registry = Registry.discover()
    common.add_plugins(registry, options["plugin"])
    return Settings(
        run_id=new_run_id(),
        backend=Local(None, Wanted(options["workers"], "cpu")),
        cell_seconds=options["cell_timeout"],
        plugins=registry.plugin_files,
        purpose="rerun",
    )


def show(comparisons: Sequence[Comparison], tolerance: float, as_json: bool) -> None:
    """The verdicts, the worst first, and their counts."""
    counts = Counter(comparison.agreement for comparison in comparisons)
    if as_json:
        common.emit_json({"tolerance": tolerance, "counts": counts, "cells": [vars(c) for c in comparisons]})
        return
    rows = [
        (c.cell_id[:12], c.label, WORDS[c.agreement], f"{c.largest:.3g}" if c.largest else "", c.error or c.metric)
        for c in sorted(comparisons, key=lambda c: -c.largest)
    ]
    common.print_table(("cell", "what", "verdict", "relative difference", "where"), rows)
    click.echo(", ".join(f"{count} {WORDS[kind]}" for kind, count in counts.items()) + f" (tolerance {tolerance:g}).")
