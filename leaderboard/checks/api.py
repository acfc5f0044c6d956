"""The checks of a store for other packages: a whole report, and the one line after a run."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.wording import counted
from leaderboard.checks.acknowledgements import FILE, acknowledged, read_kept, unmatched
from leaderboard.checks.finding import Finding, Severity, Tally
from leaderboard.checks.registry import Check, find, select
from leaderboard.checks.runner import Override, Report, order, overridden, overrides_of, summed_up, whole
from leaderboard.checks.stored.evidence import StoreEvidence, read_evidence

if TYPE_CHECKING:
    from benchmark.plan import Selection
    from benchmark.spec.load import LoadedExperiment
    from benchmark.store import Store
    from leaderboard.aggregate import Grid


def check_store(
    store: Store,
    experiment: LoadedExperiment | None = None,
    *,
    profile: str | None = None,
    plugins: Sequence[Path] = (),
    exported: Sequence[Path] = (),
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    overrides: Mapping[str, Override] | None = None,
    part: Selection | None = None,
) -> Report:
    """Run the checks that need a store on the cells of an experiment, by default of the last run's.

    Args:
        exported: files written by `bench leaderboard`, to be compared with the store.
        part: the part of the experiment to look at; what the last run was asked for where none is named.
        overrides: check id → how it is run; by default what the experiment says under `checks`.

    Raises:
        StoreError: the store has no results.
        UsageError: `only` or `without` names no check, or the experiment sets a threshold where there is none.
    """
    from leaderboard.reading import load_grid

    grid = load_grid(store, experiment, profile, plugins, part)
    return check_grid(store, grid, experiment, plugins, exported, only, without, overrides)


def check_grid(
    store: Store,
    grid: Grid,
    experiment: LoadedExperiment | None = None,
    plugins: Sequence[Path] = (),
    exported: Sequence[Path] = (),
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    overrides: Mapping[str, Override] | None = None,
) -> Report:
    """`check_store` for a grid that has been read already."""
    start = time.perf_counter()
    wishes = {find(id).id: wish for id, wish in overrides.items()} if overrides is not None else wishes_of(experiment)
    checks = [check for check in select(only, without) if check.on_store is not None]
    evidence = read_evidence(store, grid, experiment, plugins, exported)
    report = Report(tallies={check.id: Tally() for check in checks})
    report.sources = [f"{store.root} ({grid.experiment}, {grid.profile})"]
    report.numbers = sum(len(result.finals) for group in grid.groups.values() for result in group.seeds)
    report.notes = [f"{task.name}: {task.trouble}" for task in grid.tasks if task.trouble]
    for check in checks:
        report.findings += run_one(check, evidence, report.tallies[check.id], wishes.get(check.id) or Override())
    kept = read_kept(store.root / FILE)
    report.findings = acknowledged(report.findings, kept)
    report.unmatched = unmatched(report.findings, kept, whole(checks, wishes))
    report.findings.sort(key=order)
    report.seconds = time.perf_counter() - start
    return report


def wishes_of(experiment: LoadedExperiment | None) -> dict[str, Override]:
    """What an experiment says under `checks`; nothing without one."""
    checks = experiment.experiment.checks if experiment is not None else {}
    return overrides_of({id: setting.model_dump() for id, setting in checks.items()})


def run_one(check: Check, evidence: StoreEvidence, tally: Tally, wish: Override) -> list[Finding]:
    """One check over the part of the store it is not kept from, many findings of one pattern summed up."""
    if check.on_store is None:
        return []
    threshold = check.threshold if wish.threshold is None else wish.threshold
    part = replace(evidence.without(wish.exceptions), threshold=threshold or 0.0)
    said = (replace(finding, check=check.id) for finding in check.on_store(part, tally))
    wished = (overridden(finding, wish) for finding in said)
    source, kept_in = str(evidence.store.root), str(evidence.store.root / FILE)
    findings = [
        replace(finding, source=source, path=source, kept_in=kept_in) for finding in wished if finding is not None
    ]
    return [replace(finding, kept_in=kept_in) for finding in summed_up(findings)]


def store_summary(store: Store, experiment: LoadedExperiment | None = None, part: Selection | None = None) -> str:
    """One line for the end of a run; never raises, since a check must not fail a run that has its numbers."""
    try:
        return summary(check_store(store, experiment, part=part))
    except Exception as error:
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        return f"Checks: could not be made ({reason}); bench check tries again"


def summary(report: Report) -> str:
    """`Checks: 0 errors, 2 warnings (DB-MIXENV, SINGLE); bench check shows them`."""
    open_ones = [finding for finding in report.findings if finding.acknowledged is None]
    grave = [finding for finding in open_ones if finding.severity is not Severity.INFO]
    counts = [counted(report.count(s), str(s)) for s in (Severity.ERROR, Severity.WARNING)]
    ids = ", ".join(dict.fromkeys(finding.check for finding in grave))
    told = f"{', '.join(counts)} ({ids})" if ids else ", ".join(counts)
    notes = report.count(Severity.INFO)
    more = f", {counted(notes, 'note')}" if notes else ""
    return f"Checks: {told}{more}" + ("; bench check shows them" if open_ones else "")
