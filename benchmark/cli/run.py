"""`bench run`: train what a spec asks for and is not in the store yet."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmark.cli import common
from benchmark.errors import ExitCode, StoreError, UsageError
from benchmark.wording import counted

if TYPE_CHECKING:
    from benchmark.backends.contract import Backend, Options
    from benchmark.cell import Cell
    from benchmark.execution.execute import Settings
    from benchmark.execution.progress import Screen
    from benchmark.execution.run import RunResult
    from benchmark.plan import Plan
    from benchmark.store import Store


FILE_OPTIONS = "benchmark.backend_options"


def use_profile_file(context: click.Context, _: click.Parameter, path: Path | None) -> None:
    """Take the `execution:` block of the user's file for the defaults of this command's options."""
    from benchmark.execution.profile import load_profile

    defaults, backend_options = load_profile(path)
    context.default_map = {**(context.default_map or {}), **defaults}
    context.meta[FILE_OPTIONS] = {defaults.get("backend", "local"): backend_options}


def execution_options() -> common.Option[Any]:
    """How cells are executed, wherever: each option but the first two may stand in the user's own file."""
    options = [
        click.option(
            "--profile-file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE.yaml", is_eager=True,
            expose_value=False, callback=use_profile_file,
            help="File whose `execution:` block holds defaults of these options  [default: ~/.config/initbench.yaml]",
        ),
        click.option(
            "--backend-option", multiple=True, metavar="NAME=VALUE",
            help="Option of the backend, see docs/cluster.md (repeatable).",
        ),
        click.option("--workers", type=click.IntRange(min=1), help="Stacks trained at once  [default: cores, or GPUs]"),
        click.option(
            "--device", "--devices", "device", default="auto", show_default=True,
            help="auto, cpu, cuda, or GPUs by number: cuda:0,cuda:1.",
        ),
        click.option(
            "--execution", default="auto", show_default=True, metavar="MODE",
            help="auto (measured once per shape and kept), alone, compiled, stack:N or compiled-stack:N.",
        ),
        click.option(
            "--backend", default="local", show_default=True,
            help="Who trains: local, dask, ray, slurm, or an installed package's.",
        ),
        click.option(
            "--cell-timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
            help="Time limit of a cell; a stack of n cells may take n times as long  [default: none]",
        ),
        click.option(
            "--checkpoint", type=click.FloatRange(min=0), default=10, show_default=True, metavar="MINUTES",
            help="How often the state of long training is kept, to go on from after a kill; 0: never.",
        ),
        click.option(
            "--keep", type=click.Choice(["model"]), help="Write finished cells' weights into the store (safetensors)."
        ),
        click.option(
            "--retries", type=click.IntRange(min=0), default=2, show_default=True,
            help="How often a stack is handed out again because its worker was lost.",
        ),
        click.option(
            "--max-failures", type=click.IntRange(min=1), metavar="N", help="Stop when N cells have failed."
        ),
    ]  # fmt: skip
    return common.together(*options)


@click.command()
@click.argument("spec")
@common.seeds_option()
@common.profile_option()
@common.filter_options(seed=True)
@common.plugin_option()
@common.store_option()
@execution_options()
@click.option("--force", is_flag=True, help="Train finished cells again too; the first numbers keep counting.")
@click.option("--retry-failed/--no-retry-failed", default=True, show_default=True, help="Try failed cells again.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first failed cell: --max-failures 1.")
@click.option(
    "--wait/--no-wait", default=True, show_default=True, help="Wait for cells that another run is training right now."
)
@click.option(
    "--detach", is_flag=True, help="Submit and leave (slurm); the same command, without it, waits for what is missing."
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@common.json_option("Print NDJSON events instead of text.")
def command(spec: str, store: Path, as_json: bool, dry_run: bool, retry_failed: bool, **options: Any) -> ExitCode:
    """Train what SPEC (a file or a name) asks for and the store does not have yet.

    Running the same command again continues where the last run stopped; when nothing is missing it does nothing.
    """
    from benchmark.store import Store

    check_execution(options)
    results = Store(store)
    say = Speaker(as_json)
    plan = make_plan(spec, results, say, options)
    todo = cells_to_train(plan, retry_failed)
    announce(plan, todo, say)
    if options["keep"] == "model" and (lacking := without_model(plan, results.root)):
        say.line(f"  {counted(lacking, 'reused cell')} without a model; --force trains them again, and keeps it")
    if dry_run:
        return say.end(ExitCode.COMPLETE, f"dry run; {counted(len(todo), 'cell')} would be trained")
    if not todo:
        return nothing_to_do(plan, results, say)
    result = train(plan, todo, results, say, options)
    checks = ""
    if result.code is not ExitCode.INTERRUPTED and not result.detached:
        show_results(plan, results, say)
        checks = tell_checks(plan, results, say)
    say.hints(after(result))
    return say.end(result.code, result.why, trained=result.trained, missing=result.missing, checks=checks)


def check_execution(options: dict[str, Any]) -> None:
    """Refuse a mode, a backend or an option of it that there is not, before anything is done. Raises UsageError."""
    from benchmark.execution.devices import resolve_device
    from benchmark.train.mode import Mode, no_compiler

    if options["execution"] != "auto" and Mode.parse(options["execution"]).compiled and options["backend"] == "local":
        device = resolve_device(options["device"]).partition(":")[0]
        if reason := no_compiler(device):
            raise UsageError(f"--execution {options['execution']}: {reason}, so nothing can be compiled here.")
    if options["backend"] == "local" and not (options["backend_option"] or options["detach"]):
        return  # nothing to check, and something to import
    kind, _ = find_backend(options)
    if options["detach"] and not kind.can_detach:
        raise UsageError(f"--detach: jobs of --backend {options['backend']} end with their dispatcher; slurm's do not.")


def find_backend(options: dict[str, Any]) -> tuple[type[Backend], Options]:
    """The class of the backend, and its options: those of the user's file, then those of the command line."""
    from benchmark.backends.catalog import find, read_options

    name = options["backend"]
    written: dict[str, Any] = {}
    for text in options["backend_option"]:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise UsageError(f"--backend-option is NAME=VALUE, found '{text}'.")
        written[key] = value
    kind = find(name)
    of_file = click.get_current_context().meta.get(FILE_OPTIONS, {}).get(name, {})
    return kind, read_options(name, kind, {**of_file, **written})


class Speaker:
    """Text for people or NDJSON for programs, by the same calls."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json

    def line(self, text: str) -> None:
        """A line of text; nothing in NDJSON."""
        if not self.as_json:
            click.echo(text)

    def warn(self, texts: Sequence[str]) -> None:
        """Warnings, on the standard error."""
        for text in texts:
            click.echo(f"Warning: {text}", err=True)

    def event(self, name: str, **values: Any) -> None:
        """An NDJSON event; nothing in text."""
        if self.as_json:
            common.emit_json_line({"event": name, **values})

    def hints(self, texts: Sequence[str]) -> None:
        """What to do next."""
        for text in texts:
            self.line(f"  {text}")

    def end(self, code: ExitCode, why: str, **values: Any) -> ExitCode:
        """The last line: which exit code, and why."""
        self.line(f"Exit {int(code)}: {why}.")
        self.event("end", exit_code=int(code), why=why, **values)
        return code


def make_plan(spec: str, store: Store, say: Speaker, options: dict[str, Any]) -> Plan:
    """Spec × registry × store."""
    from benchmark.execution.changes import changes
    from benchmark.plan import Selection, build_plan, load_experiment

    loaded = load_experiment(spec, profile=options["profile"], seeds=options["seeds"], plugins=options["plugin"])
    for notice in loaded.notices:
        say.line(notice)
    chosen = Selection(options["task"], options["initializer"], options["seed"])
    standing = store.counting()
    finished = {id: attempt.run_id for id, attempt in standing.items() if attempt.done}
    failed = {id: attempt.status for id, attempt in standing.items() if not attempt.done}
    plan = build_plan(
        loaded, finished, failed, recorded=store.recorded(), force=options["force"], selection=chosen,
        seconds=store.seconds(loaded.profile),
    )  # fmt: skip
    say.warn([*loaded.warnings, *changes(plan, store), *store.warnings])
    return plan


def without_model(plan: Plan, store: Path) -> int:
    """How many reused cells' weights were not kept."""
    from benchmark.execution.models import path_of

    return sum(not path_of(store, line.cell.id).is_file() for line in plan.with_action("reuse") if line.cell)


def cells_to_train(plan: Plan, retry_failed: bool) -> list[Cell]:
    """Cells the plan says to run, each once."""
    lines = [line for line in plan.with_action("run") if retry_failed or line.before is None]
    return [*{line.cell.id: line.cell for line in lines if line.cell}.values()]


def announce(plan: Plan, todo: Sequence[Cell], say: Speaker) -> None:
    """What will be done, before anything is."""
    from benchmark.execution.board import shown_seconds

    loaded = plan.loaded
    counts = {action: len(plan.with_action(action)) for action in ("reuse", "same", "skip", "broken")}
    estimate = plan.estimate() if todo else None
    cost = f", about {shown_seconds(estimate.seconds)} of one worker's time" if estimate and estimate.known else ""
    words = {"reuse": "reused", "same": "the same as others", "skip": "skipped", "broken": "broken"}
    others = "".join(f", {count} {words[action]}" for action, count in counts.items() if count)
    axes = zip(*((line.task, line.initializer, line.seed) for line in plan.cells), strict=True)
    nouns = ("task", "initialiser", "seed")
    grid = " × ".join(counted(len(set(axis)), noun) for axis, noun in zip(axes, nouns, strict=True))
    say.line(f"{loaded.name} ({loaded.profile}): {grid}; {counted(len(todo), 'cell')} to train{cost}{others}.")
    for reason, count in reasons(plan):
        say.line(f"  {count} × {reason}")
    say.event("plan", experiment=loaded.name, profile=loaded.profile, to_train=len(todo), **counts)


def reasons(plan: Plan) -> list[tuple[str, int]]:
    """Why cells are not run: reason → how many."""
    from collections import Counter

    return Counter(line.reason for line in plan.cells if line.action in ("skip", "broken")).most_common()


def nothing_to_do(plan: Plan, store: Store, say: Speaker) -> ExitCode:
    """The second run."""
    from benchmark.execution.execute import Execution
    from benchmark.execution.run import RunResult, experiment_cells, note_idle_run, what_is_missing

    reused = len(plan.with_action("reuse"))
    missing = what_is_missing(plan, experiment_cells(plan), store, Execution())
    if reused:
        tell_checks(plan, store, say)
    say.hints([common.suggestion("leaderboard")] if reused else [])
    if missing:
        listed = ", ".join(f"{count} {status}" for status, count in missing.items())
        why = f"nothing to do, {counted(reused, 'cell')} reused; incomplete: {listed}"
        result = RunResult(ExitCode.INCOMPLETE, why, missing=missing)
    elif not reused:
        why = f"nothing can be trained, {counted(len(plan.with_action('skip')), 'cell')} skipped"
        result = RunResult(ExitCode.INCOMPLETE, why)
    else:
        result = RunResult(ExitCode.COMPLETE, f"nothing to do, {counted(reused, 'cell')} reused")
    try:
        note_idle_run(plan, store, result)
    except StoreError as error:  # a store that cannot be written to can still be asked
        say.warn([str(error)])
    return say.end(result.code, result.why, reused=reused, missing=missing)


def train(plan: Plan, todo: Sequence[Cell], store: Store, say: Speaker, options: dict[str, Any]) -> RunResult:
    """Execute with the screen that fits."""
    from benchmark.execution.devices import why_on_cpu
    from benchmark.execution.run import run_plan

    store.sweep_heartbeats()
    store.sweep_checkpoints()
    settings = make_settings(plan, store, options)
    if settings.backend.shares_memory and (notice := why_on_cpu(options["device"])):
        say.warn([notice])
    with make_screen(plan, todo, store, settings, say) as screen:
        return run_plan(plan, todo, store, settings, screen)


def make_settings(plan: Plan, store: Store, options: dict[str, Any]) -> Settings:
    """Execution settings from the command line, with a backend that is connected."""
    from benchmark.backends.contract import Wanted
    from benchmark.execution.execute import Settings
    from benchmark.store import new_run_id
    from benchmark.train.mode import Mode

    run_id = new_run_id()
    kind, backend_options = find_backend(options)
    wanted = Wanted(options["workers"], options["device"], store.root.resolve(), run_id)
    return Settings(
        run_id=run_id,
        backend=kind(backend_options, wanted),
        execution=None if options["execution"] == "auto" else Mode.parse(options["execution"]),
        cell_seconds=options["cell_timeout"],
        retries=options["retries"],
        max_failures=1 if options["fail_fast"] else options["max_failures"],
        wait=options["wait"],
        detach=options["detach"],
        purpose="forced" if options["force"] else "run",
        checkpoint_seconds=60 * options["checkpoint"] or None,
        keep_models=options["keep"] == "model",
        plugins=plan.loaded.plugin_files,
        primary=primary_metrics(plan),
    )


def primary_metrics(plan: Plan) -> dict[str, str]:
    """Task name → the metric that ranks its initialisers."""
    return {task.name: task.primary for task in plan.loaded.tasks if task.primary}


def make_screen(plan: Plan, todo: Sequence[Cell], store: Store, settings: Settings, say: Speaker) -> Screen:
    """A live table on a terminal, lines elsewhere, NDJSON for programs."""
    from benchmark.execution.board import Board
    from benchmark.execution.progress import Events, Lines, Live
    from benchmark.execution.run import experiment_cells

    seconds = plan.seconds
    board = Board(
        experiment_cells(plan),
        {cell.id for cell in todo},
        lambda cell: seconds.get((cell.task_name, cell.initializer_name)),
        settings.primary,
    )
    if say.as_json:
        return Events(board, common.emit_json_line, store, settings.run_id)
    screen = common.console()
    moving = screen.is_terminal and not screen.is_dumb_terminal
    return Live(board, store, settings.run_id, screen) if moving else Lines(board, click.echo, store, settings.run_id)


def show_results(plan: Plan, store: Store, say: Speaker) -> None:
    """The leaderboard of what was asked for."""
    if say.as_json:
        return
    from leaderboard.api import render_leaderboard

    say.line("")
    say.line(render_leaderboard(store, plan.loaded, "terminal", part=plan.selection).rstrip())


def tell_checks(plan: Plan, store: Store, say: Speaker) -> str:
    """One line about the checks of what is stored now."""
    from leaderboard.checks.api import store_summary

    line = store_summary(store, plan.loaded, plan.selection)
    say.line(line)
    return line


def after(result: RunResult) -> list[str]:
    """What the user may want next."""
    if result.code is ExitCode.INTERRUPTED:
        return [f"{shlex.join(['bench', *sys.argv[1:]])}   (the same command) goes on with what is missing"]
    if result.detached:
        same = shlex.join(["bench", *(word for word in sys.argv[1:] if word != "--detach")])
        return [f"{common.suggestion('status')}   shows the queue", f"{same}   waits for it and trains what is missing"]
    hints = [common.suggestion("leaderboard", options=("--format", "markdown")), common.suggestion("check")]
    if result.missing:
        why = "says which cells failed and why; running again tries them again"
        hints.insert(0, f"{common.suggestion('status')}   {why}")
    return hints
