"""`bench doctor`: healthy places pass, planted faults are named."""

from __future__ import annotations

import json

SUBJECTS = {"python", "torch", "compiler", "cores", "memory", "gpu", "versions", "disk", "store", "plugins"}


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
