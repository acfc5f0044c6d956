"""Training throughput of this checkout against another one's, side by side in one run.

    git worktree add ../before COMMIT
    python tests/performance/against.py ../before [--mode stack:4] [--rounds 9] [--seconds 2] [TASK ...]

For each task of the shipped experiment, at `compact`: one process for each checkout trains the same cells in the same
mode on one thread, in turns, and the median of the rounds' ratios is printed (this one's steps a CPU second by the
other's). Asserts nothing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
TASKS = ("2parity", "cyclic3", "majority3", "addition", "digits")

CHILD = """
import sys, time
import torch
from benchmark.plan import build_plan, load_experiment
from benchmark.train.build import build_all
from benchmark.train.mode import Mode
from benchmark.train.trainer import Trainer
torch.set_num_threads(1)
task, mode = sys.argv[1], Mode.parse(sys.argv[2])
cells = build_plan(load_experiment("paper", seeds=mode.stack_size)).to_run()
built, errors = build_all([c for c in cells if c.task_name == task and c.initializer_name == "default"])
assert not errors, errors
trainer = Trainer(built, mode, "cpu")
step = trainer.prepare()
trainer.repeat(step, 3)
print("ready", flush=True)
for line in sys.stdin:
    began = time.process_time()
    trainer.repeat(step, int(line))
    print(time.process_time() - began, flush=True)
"""


class Side:
    """A process that trains with the packages of one checkout."""

    def __init__(self, checkout: Path, task: str, mode: str) -> None:
        environment = os.environ | {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1", "PYTHONSAFEPATH": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, task, mode],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=checkout,
        )  # fmt: skip
        self.heard()

    def heard(self) -> str:
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            raise SystemExit("a process has ended; its error is above")
        return line

    def train(self, steps: int) -> float:
        """CPU seconds of that many steps."""
        print(steps, file=self.process.stdin, flush=True)
        return float(self.heard())


def main() -> None:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("tasks", nargs="*", default=TASKS)
    parser.add_argument("--mode", default="stack:4")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each side's training in a round")
    options = parser.parse_intermixed_args()
    print("| task | mode | steps a round | throughput, this / other | lowest | highest |\n|:--|:--|--:|--:|--:|--:|")
    for task in options.tasks:
        this, other = (Side(checkout, task, options.mode) for checkout in (HERE, options.other.resolve()))
        steps = max(1, round(options.seconds / max(this.train(3) / 3, 1e-6)))
        ratios = []
        for turn in range(options.rounds):
            pair = (this, other) if turn % 2 else (other, this)
            spent = {side: side.train(steps) for side in pair}
            ratios.append(spent[other] / spent[this])
        for side in (this, other):
            side.process.communicate()
        row = (statistics.median(ratios), min(ratios), max(ratios))
        print(f"| {task} | {options.mode} | {steps} |", " | ".join(f"{value:.3f}" for value in row), "|", flush=True)


if __name__ == "__main__":
    main()
