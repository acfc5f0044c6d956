"""Training throughput, side by side in one run: the product, one cell at a time in eager PyTorch over joblib, and the
matrix-multiply peak of the same processes.

    python tests/performance/training.py                       # 5 seeds × 7 initialisers of 2parity, compact shape
    python tests/performance/training.py --shape dim64 --mode compiled
    python tests/performance/training.py --shape paper --device cuda --mode stack:35

Rounds alternate between the three, so that a change of the machine's load meets all of them; medians are printed. A
cell-step is one optimiser step of one cell. Preparation (tracing, compiling, the probe) is reported apart. Not a test:
it asserts nothing, and its numbers are the machine's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from joblib import Parallel, delayed

from benchmark.cell import Cell
from benchmark.plan import build_plan, load_experiment
from benchmark.train.build import build, build_all
from benchmark.train.grouping import stack_key
from benchmark.train.mode import Mode
from benchmark.train.probe import decide_mode
from benchmark.train.trainer import Trainer

SHAPES: dict[str, dict[str, int]] = {
    "dim64": {"layers": 4, "heads": 2, "dim": 64, "head_dim": 32, "mlp_dim": 128, "batch_size": 256},
    "dim128": {"layers": 4, "heads": 4, "dim": 128, "head_dim": 32, "mlp_dim": 256, "batch_size": 256},
    "dim256": {"layers": 4, "heads": 3, "dim": 256, "head_dim": 64, "mlp_dim": 256, "batch_size": 256},
}
"""Beside the profiles of the task, `compact` and `paper`."""

SGEMM = 512
"""Side of the square matrices of the peak."""


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="2parity", help="task of the experiment `paper`")
    parser.add_argument("--shape", default="compact", choices=["compact", "paper", *SHAPES])
    parser.add_argument("--mode", default="auto", help="auto, alone, compiled, stack:N or compiled-stack:N")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=40, help="optimiser steps of each cell per round")
    parser.add_argument("--workers", type=int, default=None, help="processes; all cores, or one for each GPU")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true", help="print the measurements as JSON too")
    return parser.parse_args()


def chosen_cells(task: str, shape: str, seeds: int) -> list[Cell]:
    """Cells of one task of the shipped experiment, resized if the shape is none of its profiles."""
    profile = "paper" if shape == "paper" else "compact"
    plan = build_plan(load_experiment("paper", seeds=seeds, profile=profile))
    cells = [cell for cell in plan.to_run() if cell.task_name == task]
    return [resized(cell, SHAPES[shape]) for cell in cells] if shape in SHAPES else cells


def resized(cell: Cell, shape: dict[str, int]) -> Cell:
    """The cell with another model and batch; its id is not one that any store would know."""
    resolved = cell.task.model_dump()
    resolved["model"] |= {key: value for key, value in shape.items() if key != "batch_size"}
    resolved["budget"] |= {"batch_size": shape["batch_size"]}
    task = type(cell.task).model_validate(resolved)
    return Cell(cell.id, cell.task_name, cell.initializer_name, cell.seed, cell.profile, task, cell.initializer)


# --- what runs in the processes --------------------------------------------------------------------------------------

_trainers: dict[Any, tuple[Trainer, Any]] = {}


def product_share(shares: list[list[Cell]], mode: str, device: str, steps: int) -> tuple[float, float]:
    """Train each stack for `steps`; start and end by the clock that all processes share."""
    torch.set_num_threads(1)
    prepared = [_trainer(tuple(share), mode, device) for share in shares]
    started = time.perf_counter()
    for trainer, step in prepared:
        trainer.repeat(step, steps)
    _wait_for(device)
    return started, time.perf_counter()


def _trainer(share: tuple[Cell, ...], mode: str, device: str) -> tuple[Trainer, Any]:
    key = (tuple(cell.id for cell in share), mode, device)
    if key not in _trainers:
        built, errors = build_all(share)
        if errors:
            raise RuntimeError("\n".join(errors.values()))
        trainer = Trainer(built, Mode.parse(mode), device)
        step = trainer.prepare()
        trainer.repeat(step, 2)
        _trainers[key] = (trainer, step)
    return _trainers[key]


def eager_cell(cell: Cell, device: str, steps: int) -> None:
    """What anybody would write: one model, `torch.optim.Adam`, a shuffled loop over batches."""
    torch.set_num_threads(1)
    task = cell.task
    model = build(cell).to(device)
    examples = task.training_examples(cell.seed)
    inputs, targets = examples.inputs.to(device), examples.targets.to(device)
    settings = task.optimizer
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, task.budget.total_steps(len(examples)))
    order, size = torch.randperm(len(examples)).to(device), task.budget.batch_size
    for step in range(steps):
        start = step * size % (len(examples) - size + 1)
        batch = order[start : start + size]
        optimizer.zero_grad()
        task.loss(model(inputs[batch]), targets[batch]).backward()
        optimizer.step()
        scheduler.step()
    _wait_for(device)


def peak(device: str, seconds: float = 1.0) -> float:
    """Floating-point operations per second of square float32 matrix products in this process."""
    torch.set_num_threads(1)
    side = SGEMM if device == "cpu" else 16 * SGEMM
    a, b = torch.randn(side, side, device=device), torch.randn(side, side, device=device)
    a @ b
    _wait_for(device)
    started, count = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        for _ in range(10):
            a @ b
        _wait_for(device)
        count += 10
    return count * 2 * side**3 / (time.perf_counter() - started)


def _wait_for(device: str) -> None:
    if device != "cpu":
        torch.cuda.synchronize()


# --- the comparison ----------------------------------------------------------------------------------------------


def step_operations(cell: Cell) -> int:
    """Floating-point operations of the matrix products of one training step, forward and backward."""
    from torch.utils.flop_counter import FlopCounterMode

    model, examples = build(cell), cell.task.training_examples(cell.seed)
    size = cell.task.budget.batch_size
    with FlopCounterMode(display=False) as counter:
        cell.task.loss(model(examples.inputs[:size]), examples.targets[:size]).backward()
    return counter.get_total_flops()


def dealt(cells: list[Cell], size: int, workers: int) -> list[list[list[Cell]]]:
    """Stacks of about equal size, dealt to the workers."""
    count = -(-len(cells) // size)
    count += -count % workers if count > 1 else 0
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(stack_key(cell), []).append(cell)
    size = -(-len(cells) // count)
    cut = [group[start : start + size] for group in groups.values() for start in range(0, len(group), size)]
    return [cut[start::workers] for start in range(workers)]


def main() -> None:
    """Measure and print."""
    options = arguments()
    workers = options.workers or (os.cpu_count() or 1 if options.device == "cpu" else torch.cuda.device_count())
    cells = chosen_cells(options.task, options.shape, options.seeds)
    started = time.perf_counter()
    mode = options.mode
    if mode == "auto":
        torch.set_num_threads(1)
        decision = decide_mode(cells, options.device, workers=workers)
        mode = decision.mode.name
        print(f"probe ({time.perf_counter() - started:.0f} s): {decision.reason}")
    shares = dealt(cells, Mode.parse(mode).stack_size, workers)
    largest = max(len(stack) for share in shares for stack in share)
    mode = Mode(Mode.parse(mode).compiled, largest).name

    def product(steps: int) -> float:
        times = pool(delayed(product_share)(share, mode, options.device, steps) for share in shares)
        return max(end for _, end in times) - min(start for start, _ in times)

    def baseline(steps: int) -> float:
        begun = time.perf_counter()
        pool(delayed(eager_cell)(cell, options.device, steps) for cell in cells)
        return time.perf_counter() - begun

    rounds: list[dict[str, float]] = []
    with Parallel(n_jobs=workers, batch_size=1) as pool:
        started = time.perf_counter()
        product(2)
        product(2)
        baseline(1)
        print(f"{len(cells)} cells of {options.task} ({options.shape}), {workers} workers, {mode}; ", end="")
        print(f"prepared in {time.perf_counter() - started:.0f} s")
        for _ in range(options.rounds):
            total = len(cells) * options.steps
            rounds.append(
                {
                    "product": total / product(options.steps),
                    "joblib": total / baseline(options.steps),
                    "peak": sum(pool(delayed(peak)(options.device) for _ in range(workers))),
                }
            )
    report(rounds, step_operations(cells[0]), options.json)


def report(rounds: list[dict[str, float]], operations: int, as_json: bool) -> None:
    """Medians, and the ratio of each round."""
    median = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    ratios = [one["product"] / one["joblib"] for one in rounds]
    shares = {name: [one[name] * operations / one["peak"] for one in rounds] for name in ("product", "joblib")}
    print(f"{'':24}{'cell-steps/s':>14}{'share of the sgemm peak':>26}")
    for name, title in (("product", "product"), ("joblib", "joblib, eager, alone")):
        print(f"{title:24}{median[name]:14.1f}{statistics.median(shares[name]):26.1%}")
    print(f"{'sgemm peak':24}{median['peak'] / 1e9:10.1f} GF/s{operations / 1e6:15.1f} MF per cell-step")
    print(f"product / joblib: {statistics.median(ratios):.2f} (rounds {', '.join(f'{ratio:.2f}' for ratio in ratios)})")
    if as_json:
        print(json.dumps({"rounds": rounds, "operations_per_cell_step": operations}))


if __name__ == "__main__":
    main()
