"""Every shipped task and initialiser holds to the rules, at the compact scale and a handful of steps."""

from __future__ import annotations

import pytest

from benchmark.conformance import check_initializer, check_task
from benchmark.conformance.context import Context, Numbers
from benchmark.conformance.rules import RULES
from benchmark.conformance.subject import Finder, Subject
from benchmark.execution.process import TrainingProcess
from benchmark.spec.resolve import family_of

ELSEWHERE = {"torch-import", "compiled", "other-process", "time-spent"}
"""Rules that start a process or a compiler: tests/test_imports.py and the last test here ask them of all at once."""
NUMBERS = {"after-another", "other-seed", "stack"}
"""Rules that train most, asked once for each family."""
CHEAP = {"structured_opt": {"steps": 20}, "structured_opt_2401": {"steps": 20}, "structured_opt_2404": {"steps": 20}}
"""Parameters that make a start take less time."""
FINDER = Finder()


def shipped(kind):
    """Names, and whether each is the first of its family."""
    seen = set()
    for name in FINDER.catalog.names(kind):
        family = family_of(FINDER.catalog.get(kind, name))
        task = FINDER.resolved_task(name) if kind == "task" else None
        if kind == "initializer" or (task and task.task):
            yield pytest.param(name, family not in seen, id=name)
            seen.add(family)


def rules(first):
    return RULES.keys() - ELSEWHERE - (set() if first else NUMBERS)


@pytest.mark.parametrize(("name", "first"), [*shipped("task")])
def test_a_shipped_task_holds_to_the_rules(name, first):
    check_task(name, rules=rules(first))


@pytest.mark.parametrize(("name", "first"), [*shipped("initializer")])
def test_a_shipped_initialiser_holds_to_the_rules(name, first):
    check_initializer(name, rules=rules(first), parameters=CHEAP.get(name))


def test_a_task_of_every_family_has_the_same_numbers_in_another_process():
    default = FINDER.named("initializer", "default")
    pairs = (default.pair, *default.others)
    process = TrainingProcess(default.place(1))
    for pair in pairs:
        subject = Subject("initializer", "default", "compact", pair)
        there = Numbers.from_json(process.ask(subject.question("numbers", 1)).answer["numbers"])
        assert there == Context(subject).cleared
        assert there.status == "finished"
    process.close()
    assert len({pair.task.family for pair in pairs}) == 4
