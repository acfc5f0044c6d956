"""`bench conform`: what a task or an initialiser must hold to, asked of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmark.cli import common
from benchmark.errors import ExitCode, PluginError, UsageError

if TYPE_CHECKING:
    from benchmark.conformance.report import Report
    from benchmark.conformance.subject import Finder, Subject


@click.command()
@click.argument("subject", required=False, metavar="NAME|FILE.py")
@click.option(
    "--task", default="", metavar="NAME", help="Try an initialiser on this task, not on the cheapest it can start."
)
@click.option(
    "--profile", default="compact", show_default=True, metavar="NAME", help="Scale of the cells it is tried on."
)
@click.option("--parameters", default="", metavar="YAML", help="Parameters laid over those of the files: 'gain: 2'.")
@click.option("--rule", "only", multiple=True, metavar="ID", help="Only this rule (repeatable); --list names them.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=300,
    show_default=True,
    help="Seconds a rule may take.",
)
@click.option("--list", "listing", is_flag=True, help="List the rules, with the reason of each and the way out.")
@common.plugin_option()
@common.json_option()
def command(
    subject: str | None,
    task: str,
    profile: str,
    parameters: str,
    only: tuple[str, ...],
    timeout: float,
    listing: bool,
    plugin: tuple[Path, ...],
    as_json: bool,
) -> ExitCode:
    """Hold a task or an initializer to the rules of a plugin: NAME, or all that FILE.py registers.

    Tiny cells are trained (alone, in a stack, compiled, in another process) in a process of their own. Nothing is
    stored. Exit code 4 when a rule does not hold.
    """
    from benchmark.conformance.rules import RULES

    if unknown := [id for id in only if id not in RULES]:
        from benchmark.wording import hint

        raise UsageError(f"no rule '{unknown[0]}'{hint(unknown[0], RULES)}")
    if listing:
        return list_rules(as_json)
    if subject is None:
        raise UsageError("name a task, an initializer or a FILE.py; --list shows the rules")
    wanted = subjects(subject, task, profile, given(parameters), plugin)
    reports = [examined(one, only, timeout, as_json) for one in wanted]
    if as_json:
        common.emit_json([report.as_json() for report in reports])
    return ExitCode.FOUND if any(report.findings for report in reports) else ExitCode.COMPLETE


def list_rules(as_json: bool) -> ExitCode:
    """Every rule in its order."""
    from benchmark.conformance.rules import RULES

    if as_json:
        common.emit_json([vars(rule) for rule in RULES.values()])
        return ExitCode.COMPLETE
    for rule in RULES.values():
        click.echo(f"{rule.id} ({' and '.join(rule.kinds)}): {rule.holds}.")
        click.echo(f"  why: {rule.why}.\n  way out: {rule.way_out}.")
    return ExitCode.COMPLETE


def given(text: str) -> dict[str, Any]:
    """Parameters as a spec would have them. Raises InvalidSpecError when the text is no YAML mapping."""
    from benchmark.spec.marks import InvalidSpecError, Source
    from benchmark.spec.source import parse

    if not text.strip():
        return {}
    tree, problems = parse(Source("--parameters", text))
    if problems or tree is None:
        raise InvalidSpecError(problems)
    return dict(tree.plain())


def subjects(
    wanted: str, task: str, profile: str, parameters: dict[str, Any], plugins: tuple[Path, ...]
) -> Iterator[Subject]:
    """Everything that is meant by a name or a file."""
    from benchmark.conformance.subject import Finder

    path = Path(wanted)
    is_file = path.suffix == ".py"
    finder = Finder([*plugins, *([path] if is_file else [])], profile)
    if is_file:
        yield from of_file(finder, path, parameters, task)
        return
    for notice in finder.registry.broken_notices():
        click.echo(f"Warning: {notice}", err=True)
    for kind in finder.kinds_of(wanted):
        yield finder.named(kind, wanted, parameters, task)


def of_file(finder: Finder, path: Path, parameters: dict[str, Any], task: str) -> Iterator[Subject]:
    """What a plugin file registers. Raises PluginError, with its traceback's last lines, when it cannot be run."""
    from benchmark.wording import placed_reason

    if broken := finder.registry.broken_files.get(str(path.resolve())):
        raise PluginError(f"{path} cannot be run: {placed_reason(broken)}")
    added = finder.registry.add_file(path)
    for kind in ("task", "initializer"):
        for name in finder.resolver.names_from(kind, [added]):
            yield finder.named(kind, name, parameters, task)


def examined(subject: Subject, only: tuple[str, ...], timeout: float, quiet: bool) -> Report:
    """The report of a subject; each rule's line is printed as soon as it is known."""
    from benchmark.conformance.report import heading, lines
    from benchmark.conformance.run import examine_apart, report

    if not quiet:
        click.echo(heading(subject.kind, subject.name, subject.pair.task_name, subject.profile))
    results = []
    for result in examine_apart(subject, max(1, (os.cpu_count() or 1) // 2), timeout, only or None):
        results.append(result)
        if not quiet:
            click.echo(lines(result))
    made = report(subject, results)
    if not quiet:
        click.echo(made.verdict())
    return made
