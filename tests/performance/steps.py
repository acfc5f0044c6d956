"""One optimiser step of the published ViT-T and GPT: the product against a plain PyTorch loop over the same model.

    python tests/performance/steps.py [--model vit|gpt] [--batch 8] [--rounds 5] [--compiled]

Inputs are random, since only time is asked for; augmentation is left out on both sides. Rounds alternate; medians and
all ratios are printed. Not a test: it asserts nothing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from benchmark.cell import Cell
from benchmark.parameters import Budget
from benchmark.plan import load_experiment
from benchmark.task import Examples, Task
from benchmark.train.build import build, build_all
from benchmark.train.mode import Mode
from benchmark.train.trainer import Trainer

TASKS = {"vit": "imagenet100", "gpt": "tinystories"}
EXAMPLES = 64


def resolved(name: str, batch: int) -> Cell:
    """The default cell of a task at the published scale, with a batch that suits a CPU and nothing random in it."""
    experiment = load_experiment("paper", profile="paper")
    task, initializer = experiment.task(TASKS[name]).task, experiment.initializer("default")
    assert task is not None
    changes: dict[str, Any] = {
        "budget": Budget(batch_size=batch, steps=1000, evaluate_every=1000),
        "optimizer": task.optimizer.model_copy(update={"ema_decay": None}),
    }
    if name == "vit":
        quiet = {field: default.default for field, default in type(task.augmentation).model_fields.items()}
        changes["augmentation"] = type(task.augmentation)(**{**quiet, "label_smoothing": 0.1})
    started = initializer.by_task[TASKS[name]]
    return Cell("0" * 64, TASKS[name], "default", 0, "paper", task.model_copy(update=changes), started)


def random_examples(name: str, task: Task) -> Examples:
    """Inputs and targets of the shapes the task trains on."""
    generator = torch.Generator().manual_seed(0)
    if name == "vit":
        size = task.image_size
        pixels = torch.randint(0, 256, (EXAMPLES, size, size, 3), dtype=torch.uint8, generator=generator)
        return Examples(pixels, torch.randint(0, 100, (EXAMPLES,), generator=generator))
    ids = torch.randint(0, task.vocabulary(), (EXAMPLES, task.model.context + 1), generator=generator).int()
    return Examples(ids[:, :-1], ids[:, 1:])


def plain_loop(cell: Cell, examples: Examples) -> Callable[[int], None]:
    """What one would write without the product."""
    model, task = build(cell).train(), cell.task
    settings = task.optimizer
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.learning_rate, betas=settings.betas, eps=settings.epsilon,
        weight_decay=settings.weight_decay,
    )  # fmt: skip

    def run(steps: int) -> None:
        for _ in range(steps):
            index = torch.randint(0, EXAMPLES, (task.budget.batch_size,))
            optimizer.zero_grad(set_to_none=True)
            task.loss(model(examples.inputs[index]), examples.targets[index]).backward()
            optimizer.step()

    return run


def product(cell: Cell, mode: Mode) -> Callable[[int], None]:
    """The engine's own step, one cell."""
    trainer = Trainer(build_all([cell])[0], mode, "cpu")
    step = trainer.prepare()
    return lambda steps: trainer.repeat(step, steps)


def seconds(run: Callable[[int], None], steps: int) -> float:
    started = time.process_time()
    run(steps)
    return (time.process_time() - started) / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=list(TASKS), default="vit")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--compiled", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    cell = resolved(asked.model, asked.batch)
    examples = random_examples(asked.model, cell.task)
    family = type(cell.task)
    with (
        patch.object(family, "training_examples", lambda self, seed: examples),
        patch.object(family, "training_size", lambda self: EXAMPLES),
        patch.object(family, "evaluation_examples", lambda self, seed, *, final: examples),
    ):
        ours, theirs = product(cell, Mode(compiled=asked.compiled, stack_size=1)), plain_loop(cell, examples)
        ours(1), theirs(1)
        rounds = [(seconds(theirs, asked.steps), seconds(ours, asked.steps)) for _ in range(asked.rounds)]
    ratios = [plain / mine for plain, mine in rounds]
    plain, mine = (statistics.median(column) * 1e3 for column in zip(*rounds, strict=True))
    sys.stdout.write(
        f"{asked.model}, batch {asked.batch}, one thread, {'compiled' if asked.compiled else 'alone'}: plain loop "
        f"{plain:.0f} ms, product {mine:.0f} ms (processor time per step, medians)\n"
        f"plain / product: {statistics.median(ratios):.2f} (rounds {', '.join(f'{ratio:.2f}' for ratio in ratios)})\n"
    )


if __name__ == "__main__":
    main()
