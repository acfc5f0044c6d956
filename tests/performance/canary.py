"""What holding every cell against its own plain module costs, as a share of what its training takes.

    python tests/performance/canary.py [--cells 4] [--steps 20] [--experiment paper] [TASK ...]

For one shape of each task of an experiment, at its profile: CPU seconds a cell of the reference (a trace, one batch and
one chunk by the plain module, and once a task and process the names of the final metrics: in the first row of a task)
and of the canary's own step, beside those of a step of training times the steps of the budget and of an evaluation
times the points of the curve. Asserts nothing.
"""

from __future__ import annotations

import argparse
import time
from contextlib import contextmanager
from typing import Any

from benchmark.plan import build_plan, load_experiment
from benchmark.train import build, trainer
from benchmark.train.grouping import stack_key
from benchmark.train.mode import Mode

spent: dict[str, float] = {}


@contextmanager
def timed(name: str) -> Any:
    began = time.process_time()
    yield
    spent[name] = spent.get(name, 0.0) + time.process_time() - began


def wrapped(name: str, function: Any) -> Any:
    def call(*arguments: Any, **options: Any) -> Any:
        with timed(name):
            return function(*arguments, **options)

    return call


def share(cells: list[Any], steps: int, mode: Mode) -> tuple[float, float]:
    """CPU seconds a cell: of the reference and the canary, and of everything the budget asks for."""
    spent.clear()
    built, errors = build.build_all(cells)
    assert not errors, errors
    run = trainer.Trainer(built, mode, "cpu")
    step = run.prepare()
    with timed("point"):
        run.evaluator.measure(run.parameters, final=False)
    run._hold_observations()
    run.repeat(step, 1)  # holds the first step
    with timed("steps"):
        run.repeat(step, steps)
    every = run.task.budget.evaluate_every or run.task.budget.steps_per_epoch(run.batches.examples)
    points = 2 + run.total_steps // every
    whole = spent["steps"] * run.total_steps / steps + spent["point"] * points
    return (spent["reference"] + spent["canary"]) / len(cells), whole / len(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--cells", type=int, default=4)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--experiment", default="paper")
    options = parser.parse_args()
    build.refer = wrapped("reference", build.refer)
    trainer.Trainer._hold_step = wrapped("canary", trainer.Trainer._hold_step)
    trainer.Trainer._hold_observations = wrapped("canary", trainer.Trainer._hold_observations)
    plan = build_plan(load_experiment(options.experiment, seeds=options.cells))
    found: dict[str, list[Any]] = {}
    for line in plan.cells:
        if line.cell is not None and line.action != "skip" and line.initializer in ("default", "mask"):
            found.setdefault(line.task, []).append(line.cell)
    print("| task | mode | reference and canary, s a cell | training, s a cell | share |\n|:--|:--|--:|--:|--:|")
    for task, cells in found.items():
        if options.tasks and task not in options.tasks:
            continue
        same = [cell for cell in cells if stack_key(cell) == stack_key(cells[0])][: options.cells]
        for mode in (Mode.parse("alone"), Mode.parse(f"stack:{options.cells}")):
            held, whole = share(same if mode.stack_size > 1 else same[:1], options.steps, mode)
            print(f"| {task} | {mode.name} | {held:.2f} | {whole:.2f} | {held / (held + whole):.1%} |", flush=True)


if __name__ == "__main__":
    main()
