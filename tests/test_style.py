"""The code passes the linter and the strict type checker, as configured in pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    "words",
    [("ruff", "check", "."), pytest.param(("mypy",), marks=pytest.mark.slow)],
    ids=["ruff", "mypy"],
)
def test_the_tree_is_clean(words):
    done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
