"""The built wheel: what is in it, and that it works from another folder without the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOP_LEVEL = {"benchmark", "tasks", "initializers", "leaderboard", "specs"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
        text=True,
    )
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A new environment with the wheel in it; only the dependencies are those of the environment under test."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    site = Path(
        subprocess.run(
            [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
            check=True, capture_output=True, text=True,
        ).stdout.strip()
    )  # fmt: skip
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def bench(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "BENCH_"))}
    return subprocess.run(
        [python, "-m", "benchmark.cli", *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )


def test_the_wheel_holds_exactly_the_five_packages_and_its_metadata(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names}
    assert {name for name in top if not name.endswith(".dist-info")} == TOP_LEVEL


def test_the_wheel_holds_every_tracked_file_of_its_packages(wheel):
    tracked = subprocess.run(
        ["git", "ls-files", *sorted(TOP_LEVEL)], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split()
    assert set(tracked) - set(zipfile.ZipFile(wheel).namelist()) == set()


def test_the_installed_tool_runs_from_another_folder(installed, tmp_path):
    where = subprocess.run(
        [installed, "-c", "import benchmark; print(benchmark.__file__)"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    assert str(ROOT) not in where
    planned = bench(installed, tmp_path, "plan", "specs/paper.yaml", "--seeds", "2")
    assert planned.returncode == 0, planned.stderr
    assert "2parity" in planned.stdout
    listed = bench(installed, tmp_path, "list", "initializers")
    assert "mask" in listed.stdout
    assert "broken" not in listed.stdout


def test_the_installed_tool_trains_and_shows_a_cell(installed, tmp_path):
    (tmp_path / "tiny.yaml").write_text(
        "experiment: tiny\ntitle: Tiny\nseeds: 1\n"
        "tasks: [{name: 2parity, as: short, parameters: {budget: {steps: 4, batch_size: 16}}}]\n"
        "initializers: [default]\n"
    )
    done = bench(installed, tmp_path, "run", "tiny.yaml", "--execution", "alone")
    assert done.returncode == 0, done.stdout + done.stderr
    shown = bench(installed, tmp_path, "leaderboard", "--format", "csv")
    assert "short,default" in shown.stdout
