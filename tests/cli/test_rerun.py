"""`bench rerun`: equal numbers pass, a number that was tampered with is found."""

from __future__ import annotations

import dataclasses
import json


def rerun(project, *arguments, code=0):
    return project.bench("rerun", "--plugin", "toy.py", *arguments, code=code)


def numbers(project):
    return {record.cell_id: record for record in project.store.records() if record.status == "finished"}


def test_a_rerun_is_bit_equal_and_changes_no_table(finished):
    before = numbers(finished)
    assert "2 bit-equal" in rerun(finished, "--sample", "2")
    assert numbers(finished) == before
    again = [r for r in finished.store.records(every_attempt=True) if r.provenance.get("purpose") == "rerun"]
    assert {r.run_id for r in again} == {finished.store.runs()[-1].run_id}


def test_a_number_that_differs_is_found(finished):
    record = next(r for r in finished.store.records() if r.status == "finished")
    planted = dataclasses.replace(record, attempt_id="0-planted", finals={**record.finals, "loss": 0.5})
    finished.store.write_shard([planted])
    shown = json.loads(rerun(finished, "--cell", record.cell_id[:12], "--json", code=4).rpartition("\n}")[0] + "}")
    (cell,) = shown["cells"]
    assert cell["agreement"] == "differs"
    assert cell["metric"] == "loss"


def test_which_cells_must_be_said_and_exist(project, finished):
    assert "either --sample K or --cell ID" in rerun(project, code=2)
    assert "no finished cells" in rerun(project, "--sample", "1", code=2)
    assert "is the id of no finished cell" in rerun(finished, "--cell", "zz", code=2)


def test_without_its_plugin_a_cell_cannot_be_trained_again(finished):
    assert "must be given again with --plugin" in finished.bench("rerun", "--sample", "1", code=2)
