"""Training processes and runs that are killed, and go on from their checkpoints with the bits they would have had."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from safetensors.torch import save_file as save

from benchmark.backends.contract import Options, Wanted
from benchmark.backends.local import Local
from benchmark.execution import execute, resume
from benchmark.execution.execute import Settings
from benchmark.execution.job import Request
from benchmark.execution.process import DeathError, Place, StoppedError, TrainingProcess
from benchmark.execution.progress import Screen
from benchmark.execution.resume import key_of, resumable, told
from benchmark.execution.stopping import HURRYING
from benchmark.execution.supervise import Part, what_next
from benchmark.origin import Origin
from benchmark.store import Heartbeat, Store, checkpoints
from benchmark.store.checkpoints import Stage
from benchmark.train.grouping import shape_key
from benchmark.train.mode import Mode

SPEC = """
experiment: long
seeds: 3
plugins: [toy.py]
tasks: [{name: toy_regression, parameters: {pause: 0.04, budget: {batch_size: 8, steps: 60, evaluate_every: 3}}}]
initializers: [toy_plain]
"""


class Long:
    """A project whose stack of three takes seconds and keeps its state every 0.1 s."""

    def __init__(self, folder):
        self.folder, self.store = folder, Store(folder / "results")
        folder.mkdir()
        shutil.copy(Path(__file__).parent / "toy.py", folder)
        (folder / "long.yaml").write_text(SPEC)

    def start(self, *options, mode="stack:3", every="0.001", workers="1"):
        command = [sys.executable, "-m", "benchmark.cli", "run", "long.yaml", "--execution", mode]
        return subprocess.Popen(
            [*command, "--workers", workers, "--checkpoint", every, *options],
            cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def finish(self, *options, **keywords):
        process = self.start(*options, **keywords)
        said = process.communicate(timeout=120)[0]
        assert process.returncode == 0, said
        return said

    def step(self):
        """Of the most advanced checkpoint."""
        return max((one.stage.step for one in self.store.checkpoints()), default=0)

    def wait_for(self, step, process):
        while self.step() < step:
            assert process.poll() is None, process.communicate()[0]
            time.sleep(0.01)

    def numbers(self):
        return {record.cell_id: (record.status, record.finals, record.curve) for record in self.store.records()}

    def training(self):
        return [beat.pid for beat in self.store.heartbeats() if beat.run_id and beat.steps_planned]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    project = Long(tmp_path_factory.mktemp("undisturbed") / "project")
    said = project.finish(every="0")
    assert not project.store.layout.checkpoints.exists()
    assert "continue" not in said
    return project.numbers()


@pytest.fixture
def project(tmp_path):
    return Long(tmp_path / "project")


def test_a_killed_training_process_goes_on_within_the_run(project, undisturbed):
    process = project.start()
    project.wait_for(10, process)
    (pid,) = project.training()
    os.kill(pid, signal.SIGKILL)
    project.wait_for(40, process)
    assert process.communicate(timeout=60)[0].count("Exit 0") == 1
    assert project.numbers() == undisturbed
    assert not project.store.checkpoints()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_next_run_goes_on_where_one_was_ended(project, undisturbed, number):
    process = project.start()
    project.wait_for(20, process)
    process.send_signal(number)
    process.communicate(timeout=30)
    left = project.step()
    assert 20 <= left < 60
    assert not project.numbers()  # checkpoints are no results
    said = project.finish()
    assert f"3 cells continue at step {left:,} of 60" in said
    assert project.numbers() == undisturbed
    assert not project.store.checkpoints()


def test_what_another_code_mode_or_machine_left_is_not_gone_on_from(toy_cells, tmp_path):
    cells = {cell.id: cell for cell in toy_cells(4)}
    store, three = Store(tmp_path), [*cells.values()][:3]
    key = key_of(three, "stack:3", "run", "cpu", 1)
    stage = Stage("toy", tuple(cell.id for cell in three), "stack:3", "run", step=20, steps_planned=60)
    checkpoints.keep(store.layout, key, stage, lambda path, header: save({}, path, header))
    ((stack, one),) = resumable(cells, store, None, "run", "cpu", 1)
    assert [*stack.cells] == three
    assert told(stack, one) == "  toy: 3 cells continue at step 20 of 60"
    assert resumable(cells, store, Mode.parse("stack:3"), "run", "cpu", 1)
    assert not resumable(cells, store, Mode.parse("stack:4"), "run", "cpu", 1)
    assert not resumable(cells, store, None, "forced", "cpu", 1)
    assert not resumable(cells, store, None, "run", "cuda", 1)
    assert not resumable(cells, store, None, "run", "cpu", 2)
    assert not resumable({cell.id: cell for cell in three[:2]}, store, None, "run", "cpu", 1)


def test_a_stack_that_is_gone_on_with_is_formed_as_it_was_whatever_else_is_asked_for(toy_cells, tmp_path, monkeypatch):
    """More seeds, and another stack size by now."""
    cells, store = toy_cells(6), Store(tmp_path)
    three, settings = cells[:3], Settings("run-1", Local(Options(), Wanted(1, "cpu")), checkpoint_seconds=600.0)
    left = {cell.id for cell in cells}
    monkeypatch.setattr(execute, "decide_modes", lambda cells, *_: {shape_key(c): Mode.parse("stack:5") for c in cells})
    sizes = lambda: [(len(job.cells), job.mode) for job in execute.prepare(cells, left, store, settings, Said())]  # noqa: E731
    assert sizes() == [(3, "stack:5"), (3, "stack:5")]
    threads = settings.backend.threads
    stage = Stage("toy", tuple(cell.id for cell in three), "stack:4", "run", step=20, steps_planned=60)
    key = key_of(three, "stack:4", "run", "cpu", threads)
    checkpoints.keep(store.layout, key, stage, lambda path, header: save({}, path, header))
    assert sizes() == [(3, "stack:4"), (3, "stack:5")]
    assert Said.notes == ["  toy: 3 cells continue at step 20 of 60"]
    store.beat(Heartbeat("another", "0", cell_ids=(cells[1].id,)))  # it is trained elsewhere, from where it was
    assert sizes() == [(3, "stack:5"), (3, "stack:5")]
    store.end_beat("another", "0")
    left -= {cell.id for cell in cells[3:]}
    assert sizes() == [(3, "stack:4")]


class Said(Screen):
    notes: ClassVar[list[str]] = []

    def __init__(self):
        self.notes.clear()

    def dispatching(self, stacks):
        pass

    def note(self, text):
        self.notes.append(text)


@pytest.mark.parametrize("hurried", [False, True])
def test_who_stops_waits_for_the_state_to_be_kept_and_by_a_second_signal_for_nothing(toy_cells, toy_job, hurried):
    job = toy_job(toy_cells(1, pause=3.0), checkpoint_seconds=1e-6)
    store, process = Store(job.store), TrainingProcess(Place(None, 1))
    asked = []

    def stopped():
        if store.checkpoints():
            asked.append(time.monotonic())
            (HURRYING.set if hurried else HURRYING.clear)()
        return bool(asked)

    try:
        with pytest.raises(StoppedError):
            process.ask(Request(job), stopped=stopped)
        took = time.monotonic() - asked[0]
    finally:
        HURRYING.clear()
        process.kill()
    assert took < 2.0 if hurried else store.reached(job.cell_ids)[1] > 1  # an evaluation of 3 s comes before


def test_deaths_between_which_training_got_on_do_not_part_a_stack(toy_cells, toy_job):
    part = Part(toy_job(toy_cells(4)))
    for reached in ((0, 5), (0, 9), (1, 2)):
        (part,) = what_next(part, DeathError("killed"), reached)
        assert len(part.job.cells) == 4
    assert [len(half.job.cells) for half in what_next(part, DeathError("killed"), (1, 2))] == [2, 2]


@pytest.mark.parametrize("what", ["engine_digest", "families_of", "data_of", "package_versions"])
def test_the_key_tells_code_data_and_packages_apart(toy_cells, monkeypatch, what):
    cells = toy_cells(2)
    before = key_of(cells, "alone", "run", "cpu", 1)
    assert before == key_of(cells, "alone", "run", "cpu", 1) != key_of(cells[::-1], "alone", "run", "cpu", 1)
    other = {"families_of": {"task": Origin({}, {}, "", "")}}.get(what, {"line": "other"})
    monkeypatch.setattr(resume, what, lambda *_: other)
    assert key_of(cells, "alone", "run", "cpu", 1) != before


def test_checkpoints_of_finished_cells_and_old_ones_are_swept(tmp_path):
    layout = Store(tmp_path).layout
    kept = [
        checkpoints.keep(layout, f"{n}" * 32, Stage("toy", ids, "alone", purpose), lambda p, h: save({}, p, h))
        for n, (ids, purpose) in enumerate([(("a", "b"), "run"), (("a",), "run"), (("a",), "forced"), (("c",), "run")])
    ]
    (layout.checkpoints / ".tmpabc").touch()
    for path in (kept[3].path, layout.checkpoints / ".tmpabc"):
        os.utime(path, (0, 0))
    checkpoints.sweep(layout, {"a"})
    assert {one.key[0] for one in checkpoints.load(layout)} == {"0", "2"}
    assert len([*layout.checkpoints.iterdir()]) == 2


def test_a_checkpoint_replaces_those_of_its_key_and_tells_damage(tmp_path):
    layout, stage = Store(tmp_path).layout, Stage("toy", ("a",), "alone", "run", step=7, steps_planned=60)
    checkpoints.keep(layout, "0" * 32, stage, lambda p, h: save({"x": torch.zeros(2)}, p, h))
    one = checkpoints.keep(layout, "0" * 32, replace(stage, step=9), lambda p, h: save({"x": torch.ones(2)}, p, h))
    assert checkpoints.load(layout) == [one]
    assert one.whole
    data = bytearray(one.path.read_bytes())
    data[-1] ^= 1
    one.path.write_bytes(data)
    assert not one.whole
    one.path.write_bytes(b"nonsense")
    assert checkpoints.load(layout) == []
