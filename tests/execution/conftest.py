"""Cells of the toy families, made in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.cell import Cell
from benchmark.identity import cell_id
from benchmark.plan import cell_to_json
from benchmark.registry import Registry

TOY = Path(__file__).parent / "toy.py"


@pytest.fixture(scope="session")
def toy_registry():
    registry = Registry.discover()
    registry.add_file(TOY)
    return registry


@pytest.fixture(scope="session")
def toy_cells(toy_registry):
    """`toy_cells(n, initializer, **task parameters)`: seeds 0 to n − 1."""

    def make(count, initializer="toy_plain", **parameters):
        task = toy_registry.task("toy_regression")(**parameters)
        start = toy_registry.initializer(initializer)()
        return [
            Cell(cell_id(task, start, "compact", seed), "toy", initializer, seed, "compact", task, start)
            for seed in range(count)
        ]

    return make


@pytest.fixture(scope="session")
def toy_job(toy_registry, tmp_path_factory):
    """`toy_job(cells, **fields)`: a job with a store of its own."""
    from benchmark.execution.job import Job

    def make(cells, **fields):
        values = {
            "store": str(tmp_path_factory.mktemp("store")), "run_id": "run-1", "stack_id": "0", "task": "toy",
            "cells": tuple((cell.id, cell_to_json(cell)) for cell in cells), "mode": "stack:8", "device": "cpu",
            "threads": 1, "plugins": toy_registry.plugin_files,
        }  # fmt: skip
        return Job(**{**values, **fields})

    return make
