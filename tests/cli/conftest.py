"""A throwaway project with the toy families, driven through the real command line."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.store import Store

TOY = Path(__file__).parent.parent / "execution" / "toy.py"

SPEC = """
experiment: toy
seeds: {seeds}
plugins: [toy.py]
tasks: [{{name: toy_regression, parameters: {{pause: {pause}}}}}]
initializers: {initializers}
"""


class Project:
    """A folder with `toy.py` and `toy.yaml`; commands run in it."""

    def __init__(self, folder, initializers="[toy_plain]", seeds=2, pause=0.0):
        self.folder = folder
        shutil.copy(TOY, folder / "toy.py")
        self.store = Store(folder / "results")
        self.spec(initializers, seeds, pause)

    def spec(self, initializers="[toy_plain]", seeds=2, pause=0.0):
        text = SPEC.format(initializers=initializers, seeds=seeds, pause=pause)
        (self.folder / "toy.yaml").write_text(text)

    def start(self, *arguments, **keywords):
        return subprocess.Popen(
            [sys.executable, "-m", "benchmark.cli", *arguments],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONWARNINGS": "default"}, **keywords,
        )  # fmt: skip

    def bench(self, *arguments, code=0, timeout=120):
        process = self.start(*arguments)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        assert process.returncode == code, f"exit code {process.returncode}, expected {code}\n{out}\n{err}"
        return out + err

    def run(self, *arguments, code=0, **keywords):
        return self.bench("run", "toy.yaml", "--execution", "stack:8", *arguments, code=code, **keywords)

    def events(self, *arguments, code=0):
        return [json.loads(line) for line in self.run("--json", *arguments, code=code).splitlines()]

    def statuses(self):
        return {(r.initializer, r.seed): r.status for r in self.store.records()}


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("finished"), initializers="[toy_plain, toy_raising]")
    project.said = project.run("--workers", "1", code=3)
    return project


@pytest.fixture
def finished(finished_once, tmp_path):
    """A project after its first run: three cells finished, one failed; a copy that a test may change."""
    shutil.copytree(finished_once.folder, tmp_path / "finished")
    project = Project(tmp_path / "finished", initializers="[toy_plain, toy_raising]")
    project.said = finished_once.said
    return project


@pytest.fixture(scope="session")
def make_project(tmp_path_factory):
    return lambda **keywords: Project(tmp_path_factory.mktemp("project"), **keywords)
