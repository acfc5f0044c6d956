"""`bench rerun`: equal numbers pass, a number that was tampered with is found."""

from __future__ import annotations

import dataclasses
import json


def rerun(project, *arguments, code=0):
    return project.bench("rerun", "--plugin", "toy.py", *arguments, code=code)


def numbers(project):
    return {record.cell_id: record for record in project.store.records() if record.status == "finished"}


def test_a_rerun_is_bit_equal_and_changes_no_table(make_project):
    project = make_project(initializers="[toy_plain, toy_raising]", seeds=3)
    project.run(code=3)
    before = numbers(project)
    said = rerun(project, "--sample", "2")
    assert "2 bit-equal" in said
    assert numbers(project) == before
    again = [r for r in project.store.records(every_attempt=True) if r.provenance.get("purpose") == "rerun"]
    assert again
    assert {r.run_id for r in again} == {project.store.runs()[-1].run_id}


def test_a_number_that_differs_is_found(make_project):
    project = make_project()
    project.run()
    record = project.store.records()[0]
    planted = dataclasses.replace(record, attempt_id="0-planted", finals={**record.finals, "loss": 0.5})
    project.store.write_shard([planted])
    shown = json.loads(rerun(project, "--cell", record.cell_id[:12], "--json", code=4).rpartition("\n}")[0] + "}")
    (cell,) = shown["cells"]
    assert cell["agreement"] == "differs"
    assert cell["metric"] == "loss"


def test_which_cells_must_be_said_and_exist(project):
    assert "either --sample K or --cell ID" in rerun(project, code=2)
    assert "no finished cells" in rerun(project, "--sample", "1", code=2)
    project.run()
    assert "is the id of no finished cell" in rerun(project, "--cell", "zz", code=2)


def test_without_its_plugin_a_cell_cannot_be_trained_again(project):
    project.run()
    assert "must be given again with --plugin" in project.bench("rerun", "--sample", "1", code=2)
