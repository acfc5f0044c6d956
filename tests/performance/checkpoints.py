"""What keeping a stack's state costs: every step, every checkpoint, and going on from one.

    python tests/performance/checkpoints.py [--cells 4] [--steps 200] [--repeats 5] [--experiment paper] [TASK ...]

For each task of an experiment, at its profile: CPU seconds of the same steps with checkpoints that are never due and
without (ratio, median of pairs), then size, wall and CPU seconds of one checkpoint, and CPU seconds of reading one and
drawing the shuffles up to half of the budget. Asserts nothing.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch

from benchmark.plan import build_plan, load_experiment
from benchmark.store.checkpoints import Stage, load
from benchmark.store.layout import Layout
from benchmark.train.build import build_all
from benchmark.train.checkpoint import Checkpoints
from benchmark.train.mode import Mode
from benchmark.train.trainer import Trainer, Trajectory


def cost(work):
    """(CPU seconds, wall seconds) of a call."""
    wall, began = time.perf_counter(), time.process_time()
    work()
    return time.process_time() - began, time.perf_counter() - wall


def measure(cells, steps, repeats):
    """Share of steps; megabytes, wall and CPU seconds of keeping; CPU seconds of going on."""
    trainer = Trainer(build_all(cells)[0], Mode(False, len(cells)), "cpu")
    step = trainer.prepare()
    trainer.repeat(step, 1)
    trainer.position = type(trainer.position)(tuple(cell.id for cell in cells))
    stage = Stage("task", trainer.position.cells, "stack", "run")
    with tempfile.TemporaryDirectory() as folder:
        layout = Layout(Path(folder))
        kept = Checkpoints(layout, "0" * 32, stage, 1e9)
        pairs = []
        for _ in range(repeats):
            trainer.checkpoints = None
            without = cost(lambda: trainer.repeat(step, steps))[0]
            trainer.checkpoints = kept
            pairs.append(cost(lambda: trainer.repeat(step, steps))[0] / without)
        half = trainer.total_steps // 2
        writes = [cost(lambda: trainer._keep(half, half, None, [Trajectory() for _ in cells])) for _ in range(repeats)]
        size = load(layout)[0].path.stat().st_size
        back = cost(lambda: Checkpoints(layout, "0" * 32, stage, 1e9))[0] + cost(lambda: trainer.batches.seek(half))[0]
    cpu, wall = (statistics.median(column) for column in zip(*writes, strict=True))
    return statistics.median(pairs), size / 1e6, wall, cpu, back


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*")
    parser.add_argument("--cells", type=int, default=4)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--experiment", default="paper")
    options = parser.parse_args()
    torch.set_num_threads(1)
    plan = build_plan(load_experiment(options.experiment, seeds=options.cells))
    cells = {}
    for line in plan.with_action("run"):
        cells.setdefault((line.task, line.initializer), []).append(line.cell)
    print(f"{'task':<14} {'steps':>6}  {'MB':>7} {'wall s':>7} {'CPU s':>7}  {'going on, CPU s':>15}")
    for task in options.tasks or dict.fromkeys(task for task, _ in cells):
        stack = next(found for (name, _), found in cells.items() if name == task)
        share, size, wall, cpu, back = measure(stack, options.steps, options.repeats)
        print(f"{task:<14} ×{share:5.3f}  {size:7.1f} {wall:7.3f} {cpu:7.3f}  {back:15.3f}", flush=True)


if __name__ == "__main__":
    main()
