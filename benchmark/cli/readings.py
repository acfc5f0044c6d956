"""`bench readings`: which reading of an unclear paper reproduces its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmark.cli import common
from benchmark.cli.run import Speaker, announce, check_execution, execution_options, make_plan, train
from benchmark.errors import ExitCode
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.plan import Plan
    from benchmark.spec.load import LoadedExperiment
    from benchmark.store import Store
    from leaderboard.search import Answer, Reading

WHOLE: dict[str, Any] = {"task": (), "initializer": (), "seed": (), "force": False, "fail_fast": False, "wait": True,
                         "detach": False}  # fmt: skip
"""What `bench run` may be asked for and a search is not."""


@click.command()
@click.argument("spec")
@click.option(
    "--first", type=click.IntRange(min=1), default=3, show_default=True, metavar="N",
    help="Seeds of the first round, over all readings; each round has twice the seeds and half the readings.",
)  # fmt: skip
@common.seeds_option()
@common.profile_option()
@common.plugin_option()
@common.store_option()
@execution_options()
@click.option("--dry-run", is_flag=True, help="Train nothing; answer from what is stored.")
@common.json_option("Print NDJSON events; the answer is one of them.")
def command(spec: str, first: int, store: Path, as_json: bool, **options: Any) -> ExitCode:
    """Search SPEC's readings, every combination of its grids' values, for those that give its published numbers.

    Successive halving: all readings with a few seeds, then the better half with twice as many, and so on up to SPEC's
    seeds. Everything is in the store: the same command goes on where it stopped, with the same choices.
    """
    from benchmark.spec.load import load_experiment
    from benchmark.store import Store
    from leaderboard.search import readings_of, rungs

    options |= WHOLE
    check_execution(options)
    results, say = Store(store), Speaker(as_json)
    loaded = load_experiment(spec, profile=options["profile"], seeds=options["seeds"], plugins=options["plugin"])
    alive = readings_of(loaded)
    seeds, missing = loaded.seeds, 0
    rounds = rungs(seeds, first)
    for index, used in enumerate([] if options.pop("dry_run") else rounds):
        say.line(f"Round {index + 1} of {len(rounds)}: {counted(len(alive), 'reading')} × {counted(len(used), 'seed')}")
        result = round_of(spec, alive, used, results, say, options)
        if result is not None and result.code is ExitCode.INTERRUPTED:
            return say.end(result.code, result.why)
        missing += sum(result.missing.values()) if result else 0
        alive = going_on(loaded, results, alive, used)
    found = tell(loaded, results, first, as_json)
    lacking = missing or any(hit.mean is None for score in found.scores for hit in score.hits)
    code = ExitCode.INCOMPLETE if lacking else ExitCode.COMPLETE
    return say.end(code, "some readings lack numbers" if lacking else f"{counted(len(found.scores), 'reading')} judged")


def round_of(
    spec: str, readings: Sequence[Reading], seeds: Sequence[int], store: Store, say: Speaker, options: dict[str, Any]
) -> Any:
    """Train what a round lacks; None when it lacks nothing."""
    plan = part_of(make_plan(spec, store, say, {**options, "seeds": tuple(seeds)}), readings)
    todo = [*{line.cell.id: line.cell for line in plan.with_action("run") if line.cell}.values()]
    announce(plan, todo, say)
    return train(plan, todo, store, say, options) if todo else None


def part_of(plan: Plan, readings: Sequence[Reading]) -> Plan:
    """The cells of these readings, under whichever name the plan trains each."""
    from leaderboard.search import is_of

    pairs = {(line.task, line.initializer) for line in plan.cells}
    ours = {pair for pair in pairs if any(is_of(reading, *pair) for reading in readings)}
    wanted = {line.cell and line.cell.id for line in plan.cells if (line.task, line.initializer) in ours} - {None}
    return replace(
        plan,
        cells=tuple(
            line
            for line in plan.cells
            if (line.task, line.initializer) in ours or (line.cell and line.cell.id) in wanted
        ),
    )


def going_on(
    loaded: LoadedExperiment, store: Store, readings: Sequence[Reading], seeds: Sequence[int]
) -> list[Reading]:
    """The readings of the next round."""
    from leaderboard.reading import load_grid
    from leaderboard.search import scores, survivors, targets_of

    grid = load_grid(store, loaded)
    return survivors(scores(readings, grid, targets_of(grid), seeds))


def tell(loaded: LoadedExperiment, store: Store, first: int, as_json: bool) -> Answer:
    """The answer from the store, printed."""
    from leaderboard.render import search as words
    from leaderboard.search import as_document, find

    found = find(store, loaded, first)
    if as_json:
        common.emit_json_line({"event": "answer", **as_document(found)})
    else:
        for title, (headings, rows) in words.tables(found).items():
            common.print_table(headings, rows, title=title)
            click.echo("")
        for sentence in words.sentences(found):
            click.echo(sentence)
    return found
