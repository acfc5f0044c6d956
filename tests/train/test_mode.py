"""Names of modes, decisions as JSON, and how cells are dealt to workers."""

import json

import pytest

from benchmark.errors import UsageError
from benchmark.train.decision import Decision, Timing, span
from benchmark.train.mode import ALONE, Mode


@pytest.mark.parametrize("name", ["alone", "compiled", "stack:20", "compiled-stack:8"])
def test_a_mode_reads_what_it_writes(name):
    assert Mode.parse(name).name == name


def test_a_stack_of_one_is_alone():
    assert Mode.parse("stack:1") == ALONE
    assert Mode.parse("compiled-stack:1").name == "compiled"


@pytest.mark.parametrize("text", ["", "auto", "stack", "stack:0", "stack:-1", "alone:2", "compiled-stack", "Stack:2"])
def test_anything_else_is_refused_with_the_forms(text):
    with pytest.raises(UsageError, match=r"stack:N or compiled-stack:N"):
        Mode.parse(text)


def test_a_decision_survives_json():
    decision = Decision(Mode.parse("compiled-stack:7"), "cpu", {"alone": Timing(0.01, 0.5, 30.0)}, "because")
    assert Decision.from_json(json.loads(json.dumps(decision.to_json()))) == decision


def test_the_span_counts_padding_and_the_busiest_worker():
    assert span([35], size=8, workers=2) == 24  # 5 stacks, 3 of them on one worker
    assert span([35], size=6, workers=2) == 18
    assert span([35, 35, 35, 35], size=7, workers=2) == 70
    assert span([5], size=1, workers=1) == 5
