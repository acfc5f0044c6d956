"""`bench claims`: list and show published numbers, and import them from papers and READMEs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmark.cli.common import emit_json, json_option, print_table
from benchmark.errors import DataError, ExitCode

if TYPE_CHECKING:
    from leaderboard.claims.importers import ImportResult
    from leaderboard.claims.model import Claim, ClaimSet

FORMATS = ("latex", "markdown", "html", "csv", "yaml", "parquet")
"""As `leaderboard.claims.importers.FORMATS` (a test holds them equal); written out so that `--help` imports nothing."""

SHOWN_UNREAD = 40


@click.group(name="claims", short_help="List, show and import published numbers.")
def command() -> None:
    """Published numbers as data: what ships with the package, and what can be read from a paper's own file."""


@command.command("list")
@json_option()
def list_sets(as_json: bool) -> int:
    """List the claim sets that ship with the package."""
    from leaderboard.claims import load, names

    sets = [load(name) for name in names()]
    if as_json:
        emit_json([_overview(claims) for claims in sets])
    elif not sets:
        click.echo("No claim set ships with this version; import one with 'bench claims import FILE'.")
    else:
        rows = [
            (item["id"], item["claims"], len(item["tables"]), item["source"], item["title"])
            for item in map(_overview, sets)
        ]
        print_table(("id", "numbers", "tables", "source", "title"), rows)
    return ExitCode.COMPLETE


@command.command("show")
@click.argument("id_or_file")
@click.option("--table", metavar="NAME", help="Only this table, for example 'Table 3'.")
@json_option()
def show(id_or_file: str, table: str | None, as_json: bool) -> int:
    """Print every number of a claim set, by id or from a file."""
    from leaderboard.claims import load

    claims = load(id_or_file)
    chosen = [claim for claim in claims.claims if table is None or claim.where.table == table]
    if table is not None and not chosen:
        known = ", ".join(dict.fromkeys(claim.where.table for claim in claims.claims)) or "none"
        raise DataError(f"{id_or_file} has no table called {table!r}; it has: {known}")
    if as_json:
        emit_json(
            {**_overview(claims), "claims": [claim.model_dump(mode="json", exclude_defaults=True) for claim in chosen]}
        )
        return ExitCode.COMPLETE
    click.echo(" · ".join(part for part in (claims.id, claims.title, claims.source) if part))
    _print_claims(chosen)
    return ExitCode.COMPLETE


@command.command("import")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--format", "format", type=click.Choice(FORMATS), help="How FILE is written; by its suffix if absent.")
@click.option(
    "--mapping",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What headers mean where they cannot say it themselves.",
)
@click.option(
    "--lexicon",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Words of your own for metrics, settings and names (docs/claims.md), before the shipped ones.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the claims: .yaml, .csv or .parquet.",
)
@click.option("--verbose", "-v", is_flag=True, help="Print every number that was read.")
@json_option()
def import_(
    files: tuple[Path, ...], format: str | None, mapping: Path | None, lexicon: Path | None, output: Path | None,
    verbose: bool, as_json: bool,
) -> int:  # fmt: skip
    """Read the tables of a paper or a README as claims.

    Prints what was read from each table and lists what could not be read, with its place and the reason. Nothing is
    guessed: where headers cannot say what a number is, a mapping file does (docs/importing.md).
    """
    from leaderboard.claims.importers import import_file, load_mapping
    from leaderboard.claims.importers.write import write_claims
    from leaderboard.lexicon import use

    if lexicon is not None:
        use(lexicon)

    rules = load_mapping(mapping) if mapping is not None else None
    results = [import_file(path, format, rules) for path in files]
    claims = [claim for result in results for claim in result.claims]
    if output is not None and claims:
        write_claims(claims, output, ", ".join(path.name for path in files), _comments(results))
    if as_json:
        emit_json([result.as_json() for result in results] if len(results) > 1 else results[0].as_json())
    else:
        for result in results:
            _print_result(result, verbose)
        _print_end(results, output if claims else None)
    return ExitCode.COMPLETE if claims else ExitCode.USAGE


def _overview(claims: ClaimSet) -> dict[str, Any]:
    tables = list(dict.fromkeys(claim.where.table for claim in claims.claims))
    return {
        "id": claims.id,
        "title": claims.title,
        "source": claims.source,
        "claims": len(claims.claims),
        "text_claims": len(claims.text_claims),
        "tables": tables,
    }


def _print_claims(claims: list[Claim]) -> None:
    headings = ("where", "task", "metric", "method", "printed")
    print_table(
        headings,
        [
            (claim.where, claim.scope.task or "", claim.scope.metric or "", claim.scope.method or "", _number(claim))
            for claim in claims
        ],
    )


def _number(claim: Claim) -> str:
    text = claim.printed or "(blank)"
    if claim.spread is not None:
        text += f" ± {claim.spread.printed}"
    text += "".join(f" ({delta.printed})" for delta in claim.differences)
    return text + (" bold" if claim.bold else "") + (" underlined" if claim.underline else "")


def _print_result(result: ImportResult, verbose: bool) -> None:
    click.echo(f"{result.path} ({result.format})")
    if not result.tables:
        click.echo("  no table found")
    for table in result.tables:
        missing = f", {table.missing} missing" if table.missing else ""
        size = f" in {table.rows} × {table.columns} cells" if table.rows else ""
        place = f"  line {table.line}" if table.line else ""
        axes = table.axes + (" (assumed)" if table.assumed else "")
        click.echo(f"  {table.name}{place}: {table.numbers} numbers{missing}{size}; {axes}")
        for note in table.notes:
            click.echo(f"    note: {note}")
    for note in result.notes:
        click.echo(f"  note: {note}")
    if verbose:
        _print_claims(list(result.claims))
    if result.unread:
        click.echo("  not read:")
    for item in result.unread[:SHOWN_UNREAD]:
        click.echo(f"    {result.path}:{item}")
    if len(result.unread) > SHOWN_UNREAD:
        click.echo(f"    and {len(result.unread) - SHOWN_UNREAD} more (--json lists all)")
    _print_sentences(result)


def _print_sentences(result: ImportResult) -> None:
    """Sentences that compare results, which nothing holds against the tables."""
    if result.unread_sentences:
        click.echo("  sentences that compare results, not read:")
    for item in result.unread_sentences[:SHOWN_UNREAD]:
        click.echo(f"    {result.path}:{item}")
    if len(result.unread_sentences) > SHOWN_UNREAD:
        click.echo(f"    and {len(result.unread_sentences) - SHOWN_UNREAD} more (--json lists all)")


def _print_end(results: list[ImportResult], output: Path | None) -> None:
    claims = [claim for result in results for claim in result.claims]
    numbers = len(claims)
    spreads = sum(claim.spread is not None for claim in claims)
    differences = sum(len(claim.differences) for claim in claims)
    beside = [f"{count} {name}" for count, name in ((spreads, "spreads"), (differences, "differences")) if count]
    unread = sum(len(result.unread) for result in results)
    tables = sum(len(result.tables) for result in results)
    read = f"{numbers} numbers{' and their ' + ' and '.join(beside) if beside else ''}"
    end = f"{read} from {tables} tables, {unread} not read"
    if not numbers:
        end += ": nothing to check; give --format, or a mapping file that names header_rows and label_columns"
    click.echo(end + (f"; written to {output}" if output is not None else ""))


def _comments(results: list[ImportResult]) -> list[str]:
    lines = []
    for result in results:
        lines += [f"{table.name} ({table.axes}){': axes assumed' if table.assumed else ''}" for table in result.tables]
        lines += [f"not read: {item}" for item in result.unread[:200]]
    return lines
