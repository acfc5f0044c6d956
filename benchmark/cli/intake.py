"""What `bench import` and `bench merge` say at their end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from benchmark.cli.common import emit_json
from benchmark.cli.stores import tell
from benchmark.errors import ExitCode

if TYPE_CHECKING:
    from benchmark.store import Store
    from benchmark.store.exchange import Conflict, Intake

SHOWN = 20


def report(target: Store, intakes: Sequence[Intake], as_json: bool) -> ExitCode:
    """Print what came in. Damaged or foreign files among the incoming ones are an incomplete intake."""
    warnings = [*(warning for intake in intakes for warning in intake.warnings), *target.warnings]
    tell(warnings)
    if as_json:
        emit_json([asdict(intake) for intake in intakes])
    else:
        for intake in intakes:
            show(intake)
    return ExitCode.INCOMPLETE if any(intake.warnings for intake in intakes) else ExitCode.COMPLETE


def show(intake: Intake) -> None:
    """One source in words."""
    click.echo(
        f"{intake.source}: {intake.new} new attempts ({intake.cells} cells that had no numbers), {intake.duplicate} "
        f"already here, differing values: {len(intake.conflicts)}; took {intake.files} files and {intake.runs} runs"
    )
    for conflict in intake.conflicts[:SHOWN]:
        click.echo(f"  differs: {line(conflict)}")
    if len(intake.conflicts) > SHOWN:
        click.echo(f"  ... and {len(intake.conflicts) - SHOWN} more (--json lists all)")
    if intake.conflicts:
        moved = len({conflict.cell_id for conflict in intake.conflicts if conflict.counts_now})
        shown = f"{moved} cells now show other numbers than before" if moved else "no number shown before has changed"
        click.echo(f"  Both numbers are kept in `attempts`; of two the earlier attempt counts: {shown}.")


def line(conflict: Conflict) -> str:
    """One conflicting value."""
    where = f"{conflict.task} × {conflict.initializer} ({conflict.cell_id[:12]}) {conflict.metric}"
    if conflict.counts_now:
        return f"{where}: now counts: {conflict.incoming} (was {conflict.here}); the incoming attempt is the earlier"
    return f"{where}: here {conflict.here}, incoming {conflict.incoming}"
