"""`bench check`: find the numbers that cannot be right, in papers and in the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmark.cli.common import emit_json, json_option, plugin_option, print_table, store_option
from benchmark.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leaderboard.checks.runner import Override, Report
    from leaderboard.claims.model import ClaimSet

PAPER = "arxiv-2608.00418"
"""Claims checked when nothing is named and no run says otherwise."""


BY_METRIC = ("XT-DUP", "DOMAIN", "SD-MAX", "GRIM-ACC", "ORDER", "COMPL", "F-HARM", "PPL")
"""Checks that go by the metric."""


@click.command(name="check", short_help="Find the numbers that cannot be right.")
@click.argument("claims", nargs=-1, metavar="[ID|FILE]...")
@store_option()
@click.option(
    "--table", "exported", multiple=True, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Also compare a table written by bench leaderboard with the store (repeatable).",
)  # fmt: skip
@click.option(
    "--mapping", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="What the headers of the named tables mean, as for bench claims import.",
)  # fmt: skip
@click.option(
    "--lexicon", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Words of your own for metrics, settings and names (docs/claims.md), before the shipped ones.",
)  # fmt: skip
@plugin_option()
@click.option("--only", multiple=True, metavar="CHECK", help="Only this check (repeatable).")
@click.option("--except", "without", multiple=True, metavar="CHECK", help="Not this check (repeatable).")
@click.option("--strict", is_flag=True, help="Warnings end with exit code 4 too.")
@click.option("--coverage", is_flag=True, help="Also tell what each check passed and could not test.")
@click.option("--list", "listing", is_flag=True, help="List the checks and end.")
@click.option("--explain", metavar="CHECK", help="Rule, formula, source, power and blind spot of a check.")
@click.option(
    "--format", "style", type=click.Choice(["text", "json", "github", "sarif"]), default="text",
    help="How findings are written; github makes annotations.",
)  # fmt: skip
@json_option()
@click.pass_context
def command(
    context: click.Context,
    claims: tuple[str, ...],
    store: Path,
    exported: tuple[Path, ...],
    mapping: Path | None,
    lexicon: Path | None,
    plugin: tuple[Path, ...],
    only: tuple[str, ...],
    without: tuple[str, ...],
    strict: bool,
    coverage: bool,
    listing: bool,
    explain: str | None,
    style: str,
    as_json: bool,
) -> int:
    """Check published numbers: shipped claims by id, claims files (.yaml, .csv, .parquet), or a paper's tables
    (.tex, .md, .html). Without arguments: the last run in the store, and the claims its experiment names; where
    nothing has been run yet, those of arXiv:2608.00418. With arguments the store is checked only if --store names it.

    Ends with 4 when a number cannot be right, with 0 when there are only warnings (unless --strict).
    """
    style = chosen_style(context, style, as_json)
    if listing:
        return show_list(style)
    if explain is not None:
        return show_explanation(explain, style)
    read_by(lexicon, mapping, claims)
    from leaderboard.checks.runner import merged, overrides_of

    spec = last_spec(store)
    overrides = overrides_of(spec.get("checks") or {})
    named = context.get_parameter_source("store") is click.core.ParameterSource.COMMANDLINE
    look = bool(named or exported or not claims)
    stored = check_results(store, exported, plugin, only, without, overrides) if look else None
    chosen = claims or default_claims(spec, stored is not None)
    if look and stored is None:
        click.echo(f"Note: no results in {store} yet; checked {', '.join(chosen)} only.", err=True)
    printed = check_numbers(chosen, only, without, overrides, mapping) if chosen else None
    report = merged([part for part in (printed, stored) if part is not None])
    show(report, style, coverage)
    return ExitCode.FOUND if found(report, strict) else ExitCode.COMPLETE


def read_by(lexicon: Path | None, mapping: Path | None, claims: tuple[str, ...]) -> None:
    """Read labels by a lexicon of the user's.

    Raises:
        UsageError: a mapping for no file.
    """
    if mapping is not None and not claims:
        raise UsageError("--mapping says what the headers of tables mean, and no file with tables is named")
    if lexicon is not None:
        from leaderboard.lexicon import use

        use(lexicon)


def chosen_style(context: click.Context, style: str, as_json: bool) -> str:
    """How findings are written.

    Raises:
        UsageError: --json beside another --format.
    """
    stated = context.get_parameter_source("style") is click.core.ParameterSource.COMMANDLINE
    if as_json and stated and style != "json":
        raise UsageError(f"--json and --format {style} ask for two formats; give one")
    return "json" if as_json else style


def check_results(
    store: Path,
    exported: tuple[Path, ...],
    plugins: tuple[Path, ...],
    only: tuple[str, ...],
    without: tuple[str, ...],
    overrides: Mapping[str, Override],
) -> Report | None:
    """The checks of the store's last run; None when nothing has been run.

    Raises:
        UsageError: an exported table is to be compared, and there are no results to compare it with.
    """
    if not any((store / "shards").glob("*.parquet")):
        if exported:
            raise UsageError(
                f"no results in {store}, so {exported[0]} cannot be compared (--store names another place)"
            )
        return None
    from benchmark.cli.stores import tell
    from benchmark.store import Store
    from leaderboard.checks.api import check_store

    opened = Store(store)
    report = check_store(opened, plugins=plugins, exported=exported, only=only, without=without, overrides=overrides)
    tell(opened.warnings)
    return report


def check_numbers(
    claims: tuple[str, ...],
    only: tuple[str, ...],
    without: tuple[str, ...],
    overrides: Mapping[str, Override],
    mapping: Path | None = None,
) -> Report:
    """The checks of published numbers; `mapping` says what the headers of tables mean.

    Raises:
        UsageError: there are none in what was named.
        SpecError: a claims or mapping file with problems, each with line and column.
    """
    from benchmark.spec.marks import InvalidSpecError
    from leaderboard.checks.runner import check_claims
    from leaderboard.claims import load

    try:
        sets = [load(name, mapping) for name in claims]
    except InvalidSpecError as error:
        raise InvalidSpecError(error.problems, "the claims") from None
    report = check_claims(sets, only, without, overrides)
    tell_notes(sets)
    if report.numbers == 0:
        notes = [note for claims_set in sets for note in claims_set.notes]
        untold = [*report.unreadable, *notes][:3]
        told = f"; not read: {'; '.join(untold)}" if untold else ""
        raise UsageError(f"no numbers to check in {', '.join(claims)}{told}")
    return report


def tell_notes(sets: Sequence[ClaimSet]) -> None:
    """Numbers of unknown metric, and how many other remarks the import of each file left; on stderr."""
    for claims in sets:
        counts = unmeasured(claims)  # one note of the import for each
        for table, count in counts.items():
            numbers = f"{count} number{'s have' if count != 1 else ' has'}"
            click.echo(
                f"Note: {table} of {claims.path}: {numbers} no metric that a heading or the caption names, so "
                f"{', '.join(BY_METRIC[:-1])} and {BY_METRIC[-1]} could not look at them; "
                "say `metric:` in a mapping file (--mapping)",
                err=True,
            )
        if count := len(claims.notes) - len(counts):
            remarks = f"{count} remark{'s' * (count != 1)}"
            click.echo(f"Note: {remarks} on how {claims.path} was read: bench claims import {claims.path}", err=True)


def unmeasured(claims: ClaimSet) -> dict[str, int]:
    """Table → how many of its numbers have no metric, for sets that were read from tables."""
    from leaderboard.claims.importers.result import is_unmeasured

    counts: dict[str, int] = {}
    for claim in claims.claims if claims.captions or claims.notes else ():
        if is_unmeasured(claim):
            counts[claim.where.table] = counts.get(claim.where.table, 0) + 1
    return counts


def last_spec(store: Path) -> dict[str, Any]:
    """The experiment of the newest run in the store, as resolved; empty without one."""
    if not (store / "runs").is_dir():
        return {}
    from benchmark.store.layout import Layout
    from benchmark.store.runs import load_runs

    runs, _ = load_runs(Layout(store))
    return next((run.spec for run in reversed(runs) if run.spec), {})


def default_claims(spec: dict[str, Any], results: bool = False) -> tuple[str, ...]:
    """The claims an experiment names; when none can be found, those of the paper, or none if there are results."""
    from leaderboard.claims.library import names

    named = spec.get("claims") or ()
    listed = (named,) if isinstance(named, str) else tuple(map(str, named))
    return tuple(name for name in listed if name in names() or Path(name).is_file()) or (() if results else (PAPER,))


def found(report: Report, strict: bool) -> bool:
    """Whether the exit code must say so."""
    from leaderboard.checks.finding import Severity

    return report.count(Severity.ERROR) > 0 or (strict and report.count(Severity.WARNING) > 0)


def show(report: Report, style: str, coverage: bool) -> None:
    """The report in the style asked for."""
    from leaderboard.checks import render

    if style == "json":
        emit_json(report.as_json())
    elif style == "sarif":
        from benchmark import __version__

        emit_json(render.sarif(report, __version__))
    elif style == "github":
        click.echo(render.github(report))
    else:
        click.echo(render.text(report))
        if coverage:
            click.echo(f"\n{render.coverage(report)}")


def show_list(style: str) -> int:
    """All checks, in the order of the catalogue."""
    from leaderboard.checks.registry import catalogue

    rows = [(check.id, str(check.severity), " ".join(check.needs), check.title) for check in catalogue()]
    if style == "json":
        names = ("id", "severity", "needs", "title", "threshold")
        thresholds = [check.threshold for check in catalogue()]
        emit_json([dict(zip(names, (*row, t), strict=True)) for row, t in zip(rows, thresholds, strict=True)])
    elif style == "text":
        print_table(("check", "at worst", "needs", "finds"), rows)
    else:
        raise UsageError(f"--list prints text or json, not {style}")
    return ExitCode.COMPLETE


def show_explanation(id: str, style: str) -> int:
    """One check's docstring."""
    from leaderboard.checks.registry import find

    check = find(id)
    if style == "json":
        emit_json({"id": check.id, "severity": check.severity, "title": check.title, "text": check.text})
    else:
        click.echo(f"{check.id}: {check.title} ({check.severity} at worst)\n\n{check.text}")
    return ExitCode.COMPLETE
