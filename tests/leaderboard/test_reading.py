"""From a real store and a real spec to a grid."""

from __future__ import annotations

import math

import pytest

from benchmark.errors import DataError, StoreError
from benchmark.plan import build_plan
from benchmark.spec.load import load_experiment
from benchmark.store import Heartbeat, RunRecord, Store
from leaderboard.api import render_leaderboard
from leaderboard.checks.api import check_store
from leaderboard.checks.render import text as plain
from leaderboard.reading import load_grid
from leaderboard.render.report import render
from leaderboard.report import make_page


def test_every_planned_cell_is_in_the_grid(experiment, store):
    grid = load_grid(store, experiment)
    assert grid.initializers == ("default", "mask")
    assert [task.name for task in grid.tasks] == ["toy"]
    group = grid.group("toy", "default")
    assert [result.status for result in group.seeds] == ["missing"] * 3
    assert grid.task("toy").primary.name == "accuracy"


def test_stored_cells_are_found_by_id_under_any_name(experiment, store, record):
    store.write_shard([record("default", 0, {"accuracy": 70.0}, name="an earlier name")])
    group = load_grid(store, experiment).group("toy", "default")
    assert group.values("accuracy") == {0: 70.0}
    assert group.counts("accuracy") == {"missing": 2}


def test_finished_cells_are_shown_where_their_data_is_not(experiment, store, record, monkeypatch):
    store.write_shard([record("default", 0, {"accuracy": 70.0}), record("default", 1, {}, status="failed")])
    monkeypatch.setattr(
        type(experiment.tasks[0].task), "missing_data", lambda task: "no data; run bench data fetch far"
    )
    grid = load_grid(store, experiment)
    group = grid.group("toy", "default")
    assert group.values("accuracy") == {0: 70.0}
    assert group.counts("accuracy") == {"failed": 1, "missing": 1}
    assert grid.group("toy", "mask").skipped == "no data; run bench data fetch far"
    text = render_leaderboard(store, experiment, "markdown")
    assert "mask × toy skipped: no data; run bench data fetch far." in text
    assert "1 of 3 cells" in text


def test_without_a_spec_too_cells_are_shown_where_their_data_is_not(experiment, store, record, monkeypatch, tmp_path):
    store.write_shard([record(name, 0, {"accuracy": 70.0}) for name in ("default", "mask")])
    ids = tuple(line.cell.id for line in build_plan(experiment).cells)
    store.save_run(
        RunRecord(
            "run1", ("bench", "run", str(experiment.path)), "2026-01-01T00:00:00Z", experiment="demo",
            profile="compact", spec={"seeds": [0, 1, 2]}, source=experiment.text, cell_ids=ids,
        )
    )  # fmt: skip
    monkeypatch.setattr(type(experiment.tasks[0].task), "missing_data", lambda task: "no data")
    grid = load_grid(store)
    assert grid.title == "A demonstration"
    assert grid.group("toy", "mask").values("accuracy") == {0: 70.0}


def test_a_task_whose_references_fail_keeps_its_cells_and_says_what_is_wrong(experiment, store, record, monkeypatch):
    def fail(task):
        raise DataError("alice train has 130 rows; expected at least 503")

    store.write_shard([record("default", 0, {"accuracy": 70.0})])
    monkeypatch.setattr(type(experiment.tasks[0].task), "references", fail)
    grid = load_grid(store, experiment)
    assert grid.group("toy", "default").values("accuracy") == {0: 70.0}
    told = "toy: no reference rows (alice train has 130 rows; expected at least 503)"
    assert told in grid.notes
    assert told in render_leaderboard(store, experiment, "markdown")
    assert told in render(make_page(store, experiment), "markdown")
    assert check_store(store, experiment).notes == [told]
    assert told in plain(check_store(store, experiment))


def test_a_broken_task_is_named_below_the_table(store, spec_path):
    (spec_path.parent / "odd.py").write_text("1 / 0  # @task('odd')\n@task('odd')\nclass Odd: ...\n")
    text = spec_path.read_text().replace("[plugin.py]", "[plugin.py, odd.py]").replace("tasks:", "tasks:\n  - odd")
    spec_path.write_text(text)
    notes = load_grid(store, load_experiment(spec_path)).notes
    assert any(note.startswith("odd: task 'odd' (") and "ZeroDivisionError" in note for note in notes), notes


def test_nan_counts_as_diverged_and_failures_by_their_status(experiment, store, record):
    store.write_shard([record("mask", 0, {"accuracy": math.nan}), record("mask", 1, {}, status="timeout")])
    assert load_grid(store, experiment).group("toy", "mask").counts("accuracy") == {
        "diverged": 1,
        "timeout": 1,
        "missing": 1,
    }


def test_without_a_spec_the_last_run_is_shown(experiment, store, record, tmp_path):
    store.write_shard(
        [record(name, seed, {"accuracy": 70.0 + seed}) for name in ("default", "mask") for seed in (0, 1)]
    )
    store.write_shard([record("default", 2, {"accuracy": 71.0})])
    ids = tuple(line.cell.id for line in build_plan(experiment).cells)
    store.save_run(RunRecord("run1", experiment="gone", profile="compact", cell_ids=ids, started_at="2026-01-01"))
    grid = load_grid(store, plugins=[tmp_path / "plugin.py"])
    assert grid.experiment == "gone"
    assert grid.group("toy", "default").values("accuracy") == {0: 70.0, 1: 71.0, 2: 71.0}
    assert grid.group("toy", "mask").counts("accuracy") == {"missing": 1}
    assert grid.task("toy").primary.direction == "max"


def test_a_direction_is_never_guessed(experiment, store, record):
    store.write_shard([record("default", 0, {"accuracy": 70.0})])
    grid = load_grid(store)
    assert grid.task("toy").primary.direction == "none"
    assert "give --plugin" in grid.notes[0]


def test_an_empty_store_says_what_to_do(tmp_path):
    with pytest.raises(StoreError, match="run a spec first"):
        load_grid(Store(tmp_path / "nothing"))


def test_the_spec_alone_renders_a_table_of_gaps(experiment, store):
    text = render_leaderboard(store, experiment, "markdown")
    assert "– (n=0/3; 3 missing)" in text
    assert "Incomplete: 0 of 6 cells; 6 missing." in text


def test_cells_being_trained_now_are_said_to_be_running(experiment, store):
    ids = [line.cell.id for line in build_plan(experiment).cells if line.initializer == "mask"]
    store.beat(Heartbeat("run1", "stack1", "toy", tuple(ids[:2])))
    grid = load_grid(store, experiment)
    assert grid.group("toy", "mask").counts("accuracy") == {"running": 2, "missing": 1}
    assert "2 running, 1 missing" in render_leaderboard(store, experiment, "markdown").replace(";", ",")
