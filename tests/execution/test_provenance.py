"""Provenance names code, packages and machine; it never fails and never names a person."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from benchmark.execution import provenance as module
from benchmark.execution.provenance import environment, provenance, repository, without_home


def git(folder, *arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def test_it_has_versions_and_machine_and_is_plain_json():
    found = provenance(3, "cpu")
    assert found["threads"] == 3
    assert found["packages"]["torch"]
    assert found["cpu"]
    json.dumps(environment(1, "cpu"), allow_nan=False)


def test_commit_and_dirty_flag_of_a_repository(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("1")
    git(tmp_path, "add", "a.py")
    git(tmp_path, "commit", "-qm", "first")
    module.repository.cache_clear()
    clean = repository(tmp_path)
    assert len(clean["commit"]) == 40
    assert clean["dirty"] is False
    (tmp_path / "a.py").write_text("2")
    (tmp_path / "untracked.py").write_text("3")
    module.repository.cache_clear()
    assert repository(tmp_path) == {"commit": clean["commit"], "dirty": True}
    inside = tmp_path / ".venv"
    inside.mkdir()
    assert repository(inside) is None


def test_without_git_or_repository_there_is_none(tmp_path, monkeypatch):
    module.repository.cache_clear()
    assert repository(tmp_path) is None
    monkeypatch.setenv("PATH", "")
    module.repository.cache_clear()
    assert repository(Path(module.__file__).parent) is None
    module.repository.cache_clear()


def test_the_home_folder_is_written_as_a_tilde(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    assert without_home("--store=/home/someone/x") == "--store=~/x"
