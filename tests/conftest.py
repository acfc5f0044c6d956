"""Tests of the real Dask, Ray and SLURM: left out where these are not there; BENCH_ENGINES demands them."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile

import pytest

os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="initbench-tests-")
"""No test reads the user's own `initbench.yaml`: it could send the cells of the tests to a cluster."""

NEEDED = {"dask": "distributed", "ray": "ray", "slurm": "submitit"}


def lacking(engine):
    """What is missing for tests with an engine, in words; None when it is there."""
    if importlib.util.find_spec(NEEDED[engine]) is None:
        return f"{engine}: pip install -c constraints.txt '.[{engine}]'"
    if engine == "slurm" and not slurm_answers():
        return "slurm: no cluster answers to `sinfo`; .ci/slurm.sh starts one on loopback"
    return None


def slurm_answers():
    return bool(shutil.which("sinfo")) and subprocess.run(["sinfo"], capture_output=True).returncode == 0


def pytest_collection_modifyitems(config, items):
    marked = [(item, mark.args[0]) for item in items for mark in item.iter_markers("engine")]
    missing = {engine: reason for engine in {engine for _, engine in marked} if (reason := lacking(engine))}
    demanded = set(os.environ.get("BENCH_ENGINES", "").split(",")) & set(missing)
    if demanded:
        raise pytest.UsageError("demanded by BENCH_ENGINES, but not there: " + "; ".join(missing[e] for e in demanded))
    for item, engine in marked:
        if engine in missing:
            item.add_marker(pytest.mark.skip(reason=f"left out: {missing[engine]}"))


def pytest_terminal_summary(terminalreporter):
    skipped = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", [])]
    left_out = sorted({reason.removeprefix("Skipped: ") for reason in skipped if "left out: " in reason})
    for reason in left_out:
        terminalreporter.write_line(f"{sum(reason in other for other in skipped)} tests {reason}")
