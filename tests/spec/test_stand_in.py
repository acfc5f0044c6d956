"""A task that lacks the asked profile: skipped when another stands in, refused otherwise."""

from __future__ import annotations

import pytest

from benchmark.errors import UsageError
from benchmark.plan import build_plan
from benchmark.spec.load import load_experiment
from benchmark.spec.marks import InvalidSpecError

TASK = """task: {name}
family: boolean
{extra}
parameters: {{bits: 3, target: [{{bits: [0]}}], seen: {{any_positive: [0]}}}}
profiles:
  {profile}:
    optimizer: {{learning_rate: 1e-3}}
    budget: {{batch_size: 4, steps: 1}}
    model: {{layers: 1, heads: 1, dim: 4, head_dim: 4, mlp_dim: 4}}
"""


@pytest.fixture
def folder(tmp_path):
    def write(tasks, *, stand_in="stand_in: small"):
        (tmp_path / "large.yaml").write_text(TASK.format(name="large", profile="paper", extra=stand_in))
        (tmp_path / "small.yaml").write_text(TASK.format(name="small", profile="compact", extra=""))
        path = tmp_path / "spec.yaml"
        path.write_text(f"experiment: e\nprofile: compact\ntasks: {tasks}\ninitializers: [default]\n")
        return path

    return write


def test_cells_of_a_task_without_the_profile_are_skipped_with_the_reason(folder):
    plan = build_plan(load_experiment(folder("[large, small]")))
    found = {(line.task, line.action, line.reason) for line in plan.cells}
    assert ("large", "skip", "large has no compact profile; small stands in") in found
    assert {action for task, action, _ in found if task == "small"} == {"run"}


def test_without_a_stand_in_it_is_refused(folder):
    with pytest.raises(InvalidSpecError, match="task 'large' has no profile 'compact'"):
        load_experiment(folder("[large, small]", stand_in=""))


def test_a_profile_no_task_has_is_refused_all_the_same(folder):
    with pytest.raises(InvalidSpecError, match=r"no task of this experiment has a profile 'compact'.*small stands in"):
        load_experiment(folder("[large]"))
    with pytest.raises(UsageError, match="has a profile 'papr'"):
        load_experiment(folder("[large, small]"), profile="papr")


def test_an_unknown_stand_in_is_named(folder):
    with pytest.raises(InvalidSpecError, match="unknown task 'smal' as stand_in"):
        load_experiment(folder("[large, small]", stand_in="stand_in: smal"))
