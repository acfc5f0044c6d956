"""docs/api.md is what others may import: all of it is there, and what is shipped needs nothing else."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "api.md").read_text()


def promised():
    """Module → names."""
    table = [line.split("|")[2] for line in PAGE.splitlines() if line.startswith("| ")][1:]
    found = {}
    for part in " · ".join(table).split(" · "):
        module, *names = re.findall(r"`([\w.]+)`", part)
        found[module] = {*found.get(module, ()), *names}
    return found


PROMISED = promised()


@pytest.mark.parametrize("module", PROMISED)
def test_every_name_is_there_and_says_what_it_is(module):
    there = importlib.import_module(module)
    for name in PROMISED[module]:
        assert hasattr(there, name), f"{module} has no {name}"
        thing = getattr(there, name)
        assert not isinstance(thing, type) or (thing.__doc__ or "").strip(), f"{module}.{name} says nothing"


def used(file):
    """What a file imports from the engine."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "benchmark":
            yield from ((node.module, alias.name) for alias in node.names)


@pytest.mark.parametrize(
    "folder", ["tasks", "initializers", "probes" if (ROOT / "probes").is_dir() else "benchmark/probes"]
)
def test_what_is_shipped_needs_nothing_else(folder):
    files = sorted((ROOT / folder).glob("*.py"))
    assert files
    for file in files:
        for module, name in used(file):
            own = module.startswith("benchmark.probes")
            assert own or name in PROMISED.get(module, ()), f"{file.name}: from {module} import {name}"


def test_the_groups_of_entry_points_are_those_that_are_declared():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    assert set(re.findall(r"`(bench\.\w+)`", PAGE)) >= set(declared)
