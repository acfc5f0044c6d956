"""What probes cost: CPU seconds of training the same cells without and with them, in turns. Not a test:

    python tests/performance/probes.py [--task NAME] [--rounds N] [--probes drift,retention ...]

Prints the median of each, and of each probe alone what it adds, as a share of training without any.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch

from benchmark.plan import build_plan, load_experiment
from benchmark.train.mode import Mode
from benchmark.train.stack import train_stack

SPEC = "experiment: probes\ntasks: {task}\ninitializers: [default, mask]\nseeds: 2\nprobes: [{probes}]\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="2parity")
    parser.add_argument("--mode", default="stack:4")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--probes", nargs="*", default=["drift", "retention", "updates", "fourier"])
    options = parser.parse_args()
    torch.set_num_threads(1)
    together = ",".join(options.probes)
    seconds: dict[str, list[float]] = {choice: [] for choice in dict.fromkeys(["", *options.probes, together])}
    for _ in range(options.rounds):
        for choice, found in seconds.items():
            cells = cells_of(options.task, choice)
            began = time.process_time()
            train_stack(cells, mode=Mode.parse(options.mode))
            found.append(time.process_time() - began)
    plain = statistics.median(seconds[""])
    for choice, found in seconds.items():
        median = statistics.median(found)
        added = f", {100 * (median / plain - 1):+.1f} %" if choice else ""
        print(f"{choice or 'none':<36} {median:6.1f} CPU s (n = {len(found)}){added}")


def cells_of(task: str, probes: str):
    with tempfile.TemporaryDirectory() as folder:
        (path := Path(folder) / "probes.yaml").write_text(SPEC.format(task=task, probes=probes))
        return build_plan(load_experiment(path)).to_run()


if __name__ == "__main__":
    main()
