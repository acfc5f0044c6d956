"""Processor seconds that `bench check` takes for published numbers, for each 10,000 of them.

    python tests/performance/checks.py [--repeats 5] [CLAIMS.yaml ...]

The claims of tests/cases if none are given. The first time of a process is told apart: it fills what later ones reuse.
Asserts nothing.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from leaderboard.checks.runner import check_claims
from leaderboard.claims import load

CASES = Path(__file__).resolve().parents[1] / "cases"


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print("| claims | numbers | first, s | later, s (median) | later, s per 10,000 |\n|:--|--:|--:|--:|--:|")
    for path in options.files or sorted(CASES.rglob("*.yaml")):
        claims, taken, numbers = load(path), [], 0
        for _ in range(1 + options.repeats):
            began = time.process_time()
            numbers = check_claims([claims]).numbers
            taken.append(time.process_time() - began)
        later = statistics.median(taken[1:])
        print(f"| {path.stem} | {numbers} | {taken[0]:.2f} | {later:.2f} | {later * 1e4 / max(1, numbers):.2f} |")


if __name__ == "__main__":
    main()
