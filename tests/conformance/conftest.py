"""Asking the kit about objects that tests make."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
import torch

from benchmark.conformance.rules import RULES
from benchmark.conformance.run import examine
from benchmark.conformance.subject import Pair, Subject
from benchmark.conformance.untouched import Untouched

HERE = Path(__file__).parent
TRAINED = {"after-another", "other-seed", "stack"}
"""Rules that train most, asked where a fault concerns numbers."""
SLOW = {"torch-import", "other-process", "compiled", "time-spent"}
"""Rules that start a process or a compiler; they have tests of their own."""


def loaded(name):
    spec = importlib.util.spec_from_file_location(f"conformance_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def toy():
    """`tests/conformance/toy.py`."""
    return loaded("toy")


@pytest.fixture
def found(toy):
    """What is found out about a task or an initialiser: rule → sentences."""

    def ask(subject, others=(), numbers=True):
        rules = RULES.keys() - SLOW - (set() if numbers else TRAINED)
        is_task = isinstance(subject, toy.Task)
        pair = Pair("toy", subject, Untouched()) if is_task else Pair("toy", toy.Sound(), subject)
        kind = "task" if is_task else "initializer"
        report = examine(Subject(kind, "mine", "compact", pair, tuple(others)), rules)
        return {result.rule: result.found for result in report.findings}

    return ask


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
