"""`bench new`: what it writes runs as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.cli.new import class_name
from benchmark.cli.shell import main
from benchmark.plan import build_plan, load_experiment
from benchmark.spec.validate import validate_file

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(capsys, *args):
    with pytest.raises(SystemExit) as ended:
        main(["new", *args])
    captured = capsys.readouterr()
    return ended.value.code, captured.out, captured.err


def test_a_new_spec_is_valid_and_plans(capsys):
    code, out, _ = run(capsys, "spec", "hello")
    assert code == 0
    assert out.startswith("wrote hello.yaml\nNext: bench plan hello.yaml")
    assert validate_file(Path("hello.yaml")) == []
    assert len(build_plan(load_experiment("hello.yaml")).to_run()) == 6


def test_a_new_probe_is_shown_and_measures(capsys):
    from benchmark.train.mode import ALONE
    from benchmark.train.stack import train_stack

    code, out, _ = run(capsys, "probe", "evenness")
    assert (code, "bench show evenness --plugin evenness.py" in out) == (0, True)
    with pytest.raises(SystemExit):
        main(["show", "evenness", "--plugin", "evenness.py"])
    shown = capsys.readouterr().out
    assert "probe evenness — How evenly each head looks" in shown
    assert "least: 1e-12" in shown
    Path("e.yaml").write_text(
        "experiment: e\nplugins: evenness.py\nprobes: evenness\ninitializers: default\n"
        "tasks: {name: 2parity, parameters: {budget: {steps: 2, batch_size: 4}, curve_inputs: 64}}\n"
    )
    cell, *_ = build_plan(load_experiment("e.yaml")).to_run()
    points = train_stack([cell], mode=ALONE)[0].recorded.points
    assert {(p.probe, p.metric, p.step) for p in points} >= {("evenness", "entropy", 0), ("evenness", "entropy", 2)}
    assert all(0 < p.value <= 1 for p in points)


def test_a_new_task_and_initializer_can_be_planned_together(capsys, tmp_path):
    run(capsys, "task", "my-parity")
    run(capsys, "initializer", "my-init")
    (tmp_path / "e.yaml").write_text(
        "experiment: e\ntasks: my-parity\ninitializers: [default]\nplugins: my_parity.py\n"
    )
    plan = build_plan(load_experiment("e.yaml", plugins=["my_init.py"]))
    assert {line.initializer for line in plan.cells} == {"default", "my-init"}
    assert {line.action for line in plan.cells} == {"run"}
    assert build_plan(load_experiment("e.yaml", profile="paper")).to_run()[0].task.length == 10


def test_the_new_task_and_initializer_really_work(capsys):
    import torch

    from benchmark.initializer import Context

    run(capsys, "task", "my-parity")
    run(capsys, "initializer", "my-init")
    Path("e.yaml").write_text(
        "experiment: e\ntasks: my-parity\ninitializers: my-init\nplugins: [my_parity.py, my_init.py]\n"
    )
    cell = build_plan(load_experiment("e.yaml")).to_run()[0]
    train, test = cell.task.training_examples(0), cell.task.evaluation_examples(0, final=True)
    assert len(train) == cell.task.training_size()
    assert len(train) + len(test) == 2**cell.task.length
    model = cell.task.build_model()
    with torch.no_grad():
        cell.initializer.apply(model, Context(cell.task, 0, torch.Generator()))
        observed = cell.task.observe(model(test.inputs), test.targets)
    scores = cell.task.summarize(observed, test, final=True)
    assert scores.keys() == {metric.name for metric in cell.task.metrics()}
    assert cell.task.loss(model(train.inputs), train.targets).requires_grad


def test_what_is_written_passes_the_linter(capsys, tmp_path):
    run(capsys, "task", "my-parity")
    run(capsys, "initializer", "my-init")
    for tool in (
        ["ruff", "check", "--ignore=I001", "--config", str(ROOT / "pyproject.toml")],
        ["ruff", "format", "--check", "--line-length=120"],
    ):
        done = subprocess.run([sys.executable, "-m", *tool, str(tmp_path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["task", "initializer", "spec"])
def test_nothing_is_overwritten(capsys, kind):
    run(capsys, kind, "mine")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    code, _, err = run(capsys, kind, "mine")
    assert code == 2
    assert "exists and is left as it is" in err
    assert before == {path: path.read_bytes() for path in Path().iterdir()}


def test_a_task_is_not_half_written_when_one_of_its_files_exists(capsys):
    Path("mine.yaml").write_text("mine\n")
    assert run(capsys, "task", "mine")[0] == 2
    assert [path.name for path in Path().iterdir()] == ["mine.yaml"]


@pytest.mark.parametrize(
    ("kind", "name"), [("initializer", "mask"), ("task", "2parity"), ("task", "boolean"), ("spec", "paper")]
)
def test_a_name_that_is_taken_is_refused(capsys, kind, name):
    code, _, err = run(capsys, kind, name)
    assert code == 2
    assert f"the name of {kind} '{name}' is taken by " in err
    assert not list(Path().iterdir())


def test_the_yaml_file_of_a_new_initializer_sets_its_parameters(capsys):
    run(capsys, "initializer", "my-init")
    path = Path("my-init.yaml")
    assert validate_file(path, plugins=["my_init.py"]) == []
    path.write_text(path.read_text().replace("strength: 1.0", "strength: 3"))
    Path("e.yaml").write_text("experiment: e\ntasks: 2parity\ninitializers: default\n")
    loaded = load_experiment("e.yaml", plugins=["my_init.py"])
    assert loaded.initializer("my-init").by_task["2parity"].strength == 3.0


def test_another_folder_is_made_when_asked_for(capsys):
    run(capsys, "initializer", "mine", "--dir", "a/b")
    assert Path("a/b/mine.py").is_file()


@pytest.mark.parametrize("name", ["../x", "a b", "", "-x"])
def test_what_is_no_name_is_refused(capsys, name):
    code, _, _ = run(capsys, "spec", "--", name)
    assert code == 2
    assert not list(Path().iterdir())


@pytest.mark.parametrize(("name", "expected"), [("my-init", "MyInit"), ("2parity", "Family2parity"), ("a_b.c", "ABC")])
def test_class_names_are_made_from_names(name, expected):
    assert class_name(name) == expected
