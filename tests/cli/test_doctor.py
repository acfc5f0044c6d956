"""`bench doctor`: healthy places pass, planted faults are named."""

from __future__ import annotations

import json
import os

SUBJECTS = {"python", "torch", "compiler", "cores", "memory", "gpu", "versions", "disk", "store", "data", "plugins"}


def answers(project, *arguments, code=0):
    shown = json.loads(project.bench("doctor", "--json", *arguments, code=code))
    return {answer["subject"]: answer for answer in shown["answers"]}, shown


def test_a_healthy_place_has_every_answer_and_no_problem(project):
    found, shown = answers(project)
    assert set(found) == SUBJECTS
    assert shown["problems"] == 0
    assert "No problems." in project.bench("doctor")


def test_a_damaged_shard_is_named(finished):
    shard = next(finished.store.layout.shards.glob("*.parquet"))
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)
    _, shown = answers(finished, code=4)
    problems = [answer["found"] for answer in shown["answers"] if answer["level"] == "problem"]
    assert any(shard.name in text and "damaged" in text for text in problems)
    _, shown = answers(finished, code=4)  # it lies in quarantine now, and still needs mending
    (problem,) = [answer for answer in shown["answers"] if answer["level"] == "problem"]
    assert "1 damaged files in" in problem["found"]
    assert shard.name in problem["found"]
    assert "run the spec again" in problem["advice"]


def test_a_broken_plugin_is_named_with_its_reason(project):
    broken = project.folder / "broken.py"
    broken.write_text('import not_there\n\n@initializer("late")\nclass Late: ...\n')
    found, _ = answers(project, "--plugin", "broken.py", code=4)
    assert found["plugins"]["level"] == "problem"
    assert "'late'" in found["plugins"]["found"]


def test_a_plugin_that_registers_nothing_is_a_problem_not_a_crash(project):
    (project.folder / "empty.py").write_text("")
    _, shown = answers(project, "--plugin", "empty.py", code=4)
    assert any("registers nothing" in answer["found"] for answer in shown["answers"])


def test_data_sets_are_told_with_what_a_killed_preparation_left(project, monkeypatch):
    root = project.folder / "data"
    monkeypatch.setenv("BENCH_DATA", str(root))
    found, _ = answers(project)
    assert found["data"]["level"] == "ok"
    assert str(root) in found["data"]["found"]
    left = root / "cifar10" / "prepared" / ".x.elsewhere.1-1-00.part"
    left.mkdir(parents=True)
    (left / "train-pixels.npy").write_bytes(bytes(2000))
    os.utime(left, (0, 0))
    _, shown = answers(project)
    (note,) = [answer for answer in shown["answers"] if answer["level"] == "note" and answer["subject"] == "data"]
    assert "2 kB left by a process that was killed" in note["found"]
    assert str(left) in note["found"]
    assert "bench data prepare cifar10" in note["advice"]


def test_data_that_cannot_be_read_are_a_problem(project, monkeypatch):
    (project.folder / "data" / "cifar10" / "prepared" / "x").mkdir(parents=True)
    (project.folder / "data" / "cifar10" / "prepared" / "x" / "meta.json").mkdir()
    monkeypatch.setenv("BENCH_DATA", str(project.folder / "data"))
    found, _ = answers(project, code=4)
    assert "cannot read" in found["data"]["found"]
