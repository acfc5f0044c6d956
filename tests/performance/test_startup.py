"""`bench --help` is as quick as a click program that does nothing."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

EMPTY = "import click\n@click.command()\ndef program(): pass\nprogram(['--help'])"
BENCH = "from benchmark.cli import main; main(['--help'])"
LIMIT = 1.6
ROUNDS = 9


def seconds(code):
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def test_help_starts_within_1_6_times_an_empty_click_program():
    seconds(BENCH), seconds(EMPTY)
    ratios = [seconds(BENCH) / seconds(EMPTY) for _ in range(ROUNDS)]
    assert statistics.median(ratios) <= LIMIT, f"ratios {[round(ratio, 2) for ratio in ratios]}"
