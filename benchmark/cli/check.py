"""`bench check`: find the numbers that cannot be right, in papers and in the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmark.cli.common import emit_json, json_option, print_table, store_option
from benchmark.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from leaderboard.checks.runner import Report

PAPER = "arxiv-2608.00418"
"""Claims checked when nothing is named and no run says otherwise."""


@click.command(name="check", short_help="Find the numbers that cannot be right.")
@click.argument("claims", nargs=-1, metavar="[ID|FILE]...")
@store_option()
@click.option("--only", multiple=True, metavar="CHECK", help="Only this check (repeatable).")
@click.option("--except", "without", multiple=True, metavar="CHECK", help="Not this check (repeatable).")
@click.option("--strict", is_flag=True, help="Warnings end with exit code 4 too.")
@click.option("--coverage", is_flag=True, help="Also tell what each check passed and could not test.")
@click.option("--list", "listing", is_flag=True, help="List the checks and end.")
@click.option("--explain", metavar="CHECK", help="Rule, formula, source, power and blind spot of a check.")
@click.option("--format", "style", type=click.Choice(["text", "json", "github", "sarif"]), default="text")
@json_option()
def command(
    claims: tuple[str, ...],
    store: Path,
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
    (.tex, .md, .html). Without arguments: the claims the last run's experiment names, else those of arXiv:2608.00418.

    Ends with 4 when a number cannot be right, with 0 when there are only warnings (unless --strict).
    """
    style = "json" if as_json else style
    if listing:
        return show_list(style)
    if explain is not None:
        return show_explanation(explain, style)
    from leaderboard.checks.runner import Override, check_claims
    from leaderboard.claims import load

    spec = last_spec(store)
    overrides = {id: Override(wish.get("severity"), tuple(wish.get("except") or wish.get("exceptions") or ()))
                 for id, wish in (spec.get("checks") or {}).items()}  # fmt: skip
    chosen = claims or default_claims(spec)
    report = check_claims([load(name) for name in chosen], only, without, overrides)
    if report.numbers == 0:
        told = f"; not read: {'; '.join(report.unreadable[:3])}" if report.unreadable else ""
        raise UsageError(f"no numbers to check in {', '.join(chosen)}{told}")
    show(report, style, coverage)
    return ExitCode.FOUND if found(report, strict) else ExitCode.COMPLETE


def last_spec(store: Path) -> dict[str, Any]:
    """The experiment of the newest run in the store, as resolved; empty without one."""
    if not (store / "runs").is_dir():
        return {}
    from benchmark.store.layout import Layout
    from benchmark.store.runs import load_runs

    runs, _ = load_runs(Layout(store))
    return runs[-1].spec if runs else {}


def default_claims(spec: dict[str, Any]) -> tuple[str, ...]:
    """The claims an experiment names, those of the paper when it names none that can be found."""
    from leaderboard.claims.library import names

    named = spec.get("claims") or ()
    listed = (named,) if isinstance(named, str) else tuple(map(str, named))
    return tuple(name for name in listed if name in names() or Path(name).is_file()) or (PAPER,)


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
        emit_json([dict(zip(("id", "severity", "needs", "title"), row, strict=True)) for row in rows])
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
