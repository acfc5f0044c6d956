"""What only a GPU can tell, in at most eight minutes: `python tests/performance/gpu_figures.py [--out DIR] [--toy]`.

Stacked against alone at the published Boolean shape, the gain of bfloat16 on ViT-T, how much of a step the input
pipeline takes, then cells of Table 1 (default, mask and mask_frozen on 2parity, cyclic3 and majority3, 5 seeds) as far
as the time goes. Figures are kept in DIR/figures.json and cells in DIR/store, so the same command goes on where it
stopped. `--toy` tries every part at a small size, on a CPU too. Inputs of the figures are random. Not a test: it
asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from benchmark.cell import Cell
from benchmark.parameters import Budget
from benchmark.plan import load_experiment
from benchmark.task import Examples
from benchmark.train.batches import Batches
from benchmark.train.build import build_all
from benchmark.train.mode import Mode
from benchmark.train.trainer import Trainer

ROUNDS = 5
TABLE = ("2parity", "cyclic3", "majority3")
ARMS = ("default", "mask", "mask_frozen")
ALONE = Mode(compiled=False, stack_size=1)
GRACE = 20.0
"""Seconds that a run is given to write what it has once it was interrupted."""


def cell(task: str, profile: str, seed: int = 0, **changes: Any) -> Cell:
    """A default cell of the experiment `paper`; nothing of it is stored."""
    experiment = load_experiment("paper", profile=profile)
    found, initializer = experiment.task(task).task, experiment.initializer("default")
    assert found is not None
    return Cell(
        f"{seed:064d}", task, "default", seed, profile, found.model_copy(update=changes), initializer.by_task[task]
    )


def step_seconds(cells: list[Cell], mode: Mode, device: str, steps: int) -> list[float]:
    """Wall seconds of an optimiser step of these cells together, a round each; the first, which warms up, left out."""
    trainer = Trainer(build_all(cells, device)[0], mode, device)
    step = trainer.prepare()
    return [timed(lambda: trainer.repeat(step, steps), device) / steps for _ in range(ROUNDS + 1)][1:]


def timed(run: Callable[[], Any], device: str) -> float:
    started = time.perf_counter()
    run()
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - started


def stacked(device: str, toy: bool) -> dict[str, Any]:
    """Cell-steps per second alone and in stacks."""
    profile, sizes, steps = ("compact", (1, 4), 3) if toy else ("paper", (1, 5, 15), 20)
    found = {}
    for size in sizes:
        cells = [cell("2parity", profile, seed) for seed in range(size)]
        rounds = step_seconds(cells, Mode(compiled=False, stack_size=size), device, steps)
        found[f"stack:{size}" if size > 1 else "alone"] = [size / seconds for seconds in rounds]
    base = statistics.median(found["alone"])
    return {"cell_steps_per_second": found, "gain": {name: statistics.median(v) / base for name, v in found.items()}}


def vision(device: str, toy: bool) -> dict[str, Any]:
    """Steps of ViT-T in float32 and bfloat16, and what of the latter the input pipeline takes."""
    side, count, batch, steps = (32, 64, 8, 1) if toy else (224, 4096, 512, 5)
    generator = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (count, side, side, 3), dtype=torch.uint8, generator=generator)
    examples = Examples(pixels, torch.randint(0, 10, (count,), generator=generator))
    name, profile = ("digits", "compact") if toy else ("cifar10", "paper")
    budget = Budget(batch_size=batch, steps=1000, evaluate_every=1000)
    if toy:
        pixels = pixels[:, :8, :8, :1].contiguous()
        examples = Examples(pixels, examples.targets)
    changes = {"budget": budget, "optimizer": cell(name, profile).task.optimizer.model_copy(update={"warmup_steps": 0})}
    family = type(cell(name, profile).task)
    with (
        patch.object(family, "training_examples", lambda self, seed: examples),
        patch.object(family, "training_size", lambda self: count),
        patch.object(family, "evaluation_examples", lambda self, seed, *, final: examples),
    ):
        rounds = {
            precision: step_seconds(
                [cell(name, profile, precision=precision, **changes)], Mode(False, 1), device, steps
            )
            for precision in ("float32", "bfloat16")
        }
        made = cell(name, profile, precision="bfloat16", **changes)
        batches = Batches(made.task, [made], device)
        supply = [timed(lambda: batches.take(steps), device) / steps for _ in range(ROUNDS + 1)][1:]
    one, two = (statistics.median(rounds[name]) for name in rounds)
    return {
        "seconds_per_step": rounds,
        "bfloat16_gain": one / two,
        "input_seconds_per_batch": supply,
        "input_share_of_a_step": statistics.median(supply) / two,
    }


def table(out: Path, device: str, toy: bool, seconds: float) -> dict[str, Any]:
    """Train cells of Table 1 until the time is over; what is finished is in the store."""
    words = [sys.executable, "-m", "benchmark.cli", "run", "paper", "--profile", "compact" if toy else "paper"]
    words += ["--seeds", "1" if toy else "5", "--device", device, "--store", str(out / "store")]
    words += [word for name in TABLE for word in ("--task", name)] + [
        word for arm in ARMS for word in ("--initializer", arm)
    ]
    process = subprocess.Popen(words)
    try:
        code = process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        code = process.wait()
    return {"exit_code": code, "command": words[1:]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("gpu_figures"))
    parser.add_argument("--seconds", type=float, default=480.0, help="time for everything")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--toy", action="store_true")
    asked = parser.parse_args()
    started, file = time.monotonic(), asked.out / "figures.json"
    asked.out.mkdir(parents=True, exist_ok=True)
    known = json.loads(file.read_text()) if file.is_file() else {}
    known["device"] = torch.cuda.get_device_name() if asked.device != "cpu" else "cpu"
    for name, measure in (("stacked", stacked), ("vision", vision)):
        if name not in known:
            known[name] = measure(asked.device, asked.toy)
            file.write_text(json.dumps(known, indent=1))
    left = asked.seconds - (time.monotonic() - started) - GRACE
    if left > 0:
        known["table_1"] = table(asked.out, asked.device, asked.toy, left)
    file.write_text(json.dumps(known, indent=1))
    sys.stdout.write(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
