"""What a run would do with each cell, and why."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmark.errors import PluginError, SpecError, UsageError
from benchmark.plan import Selection, build_plan, cell_from_json, cell_to_json, load_experiment
from benchmark.registry import Registry

TOY = Path(__file__).parent / "spec" / "toy_plugin.py"
BROKEN = """from benchmark.initializer import Initializer
from benchmark.registry import initializer
import no_such_module_anywhere


@initializer("broken")
class Broken(Initializer):
    def apply(self, model, context):
        pass
"""
HEAD = f"experiment: e\nplugins: [{TOY}]\nseeds: 2\n"


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write_and_load(text, **options):
        (tmp_path / "e.yaml").write_text(HEAD + text)
        return load_experiment("e.yaml", **options)

    return write_and_load


def reasons(plan):
    return {(line.task, line.initializer, line.seed): (line.action, line.reason) for line in plan.cells}


def test_every_cell_is_new_at_first(load):
    plan = build_plan(load("tasks: toy\ninitializers: [plain, picky]\n"))
    assert [line.label for line in plan.cells] == [
        "toy × plain, seed 0", "toy × plain, seed 1", "toy × picky, seed 0", "toy × picky, seed 1",
    ]  # fmt: skip
    assert plan.counts() == {"new": 4}
    assert len({cell.id for cell in plan.to_run()}) == 4


def test_finished_cells_are_reused_and_failed_ones_tried_again(load):
    loaded = load("tasks: toy\ninitializers: plain\nseeds: [0, 1, 2]\n".replace("seeds: [0, 1, 2]\n", ""), seeds=3)
    first, second, _ = (cell.id for cell in build_plan(loaded).to_run())
    plan = build_plan(loaded, {first: "run-7"}, {second: "timeout"})
    assert [(line.action, line.reason) for line in plan.cells] == [
        ("reuse", "reused from run run-7"), ("run", "failed before (timeout)"), ("run", "new"),
    ]  # fmt: skip
    assert plan.counts() == {"reused": 1, "failed before (timeout)": 1, "new": 1}
    forced = build_plan(loaded, {first: "run-7"}, force=True)
    assert forced.cells[0].reason == "forced"
    assert len(forced.to_run()) == 3


def test_when_all_is_finished_nothing_is_left_to_run(load):
    loaded = load("tasks: toy\ninitializers: plain\n")
    plan = build_plan(loaded, {cell.id: "r" for cell in build_plan(loaded).to_run()})
    assert plan.to_run() == ()
    assert plan.estimate().seconds == 0


def test_cells_that_cannot_be_run_say_why(load):
    plan = build_plan(load(
        "tasks: [toy, {name: toy, as: small, parameters: {size: 2}}, "
        "{name: toy, as: far, parameters: {missing: 'no data; run bench data fetch far'}}]\n"
        "initializers: [plain, picky]\nexclude: {task: toy, initializer: pi*, seed: 1, reason: too slow}\n"
    ))  # fmt: skip
    found = reasons(plan)
    assert found["toy", "picky", 0] == ("run", "new")
    assert found["toy", "picky", 1] == ("skip", "too slow")
    assert found["small", "picky", 0] == ("skip", "needs at least 4 tokens")
    assert found["small", "plain", 0] == ("run", "new")
    assert found["far", "plain", 1] == ("skip", "no data; run bench data fetch far")


def test_only_cells_that_would_be_trained_ask_for_data(load, monkeypatch):
    loaded = load("tasks: [toy]\ninitializers: [plain, picky]\n")
    first, second, *_ = (cell.id for cell in build_plan(loaded).to_run())
    monkeypatch.setattr(type(loaded.tasks[0].task), "missing_data", lambda task: "no data; run bench data fetch far")
    plan = build_plan(loaded, {first: "run-7"}, {second: "failed"})
    assert [line.action for line in plan.cells] == ["reuse", "skip", "skip", "skip"]
    assert {line.reason for line in plan.with_action("skip")} == {"no data; run bench data fetch far"}
    assert plan.cells[1].cell.id == second
    assert plan.to_run() == ()
    assert build_plan(loaded, {first: "run-7"}, force=True).cells[0].action == "skip"


def test_a_task_that_fails_when_asked_for_data_keeps_its_finished_cells(load, monkeypatch):
    loaded = load("tasks: [toy]\ninitializers: [plain]\n")
    first, _ = (cell.id for cell in build_plan(loaded).to_run())

    def fail(task):
        raise OSError("the disk is gone")

    monkeypatch.setattr(type(loaded.tasks[0].task), "missing_data", fail)
    plan = build_plan(loaded, {first: "run-7"})
    assert [line.action for line in plan.cells] == ["reuse", "broken"]
    assert plan.cells[1].reason == "failed while planning with OSError: the disk is gone"


def test_two_names_of_one_cell_wait_for_the_same_data(load, monkeypatch):
    loaded = load("tasks: toy\ninitializers: [plain, {name: plain, as: same, parameters: {gain: 1}}]\n")
    monkeypatch.setattr(type(loaded.tasks[0].task), "missing_data", lambda task: "no data")
    assert {line.action for line in build_plan(loaded).cells} == {"skip"}


def test_only_included_cells_are_run(load):
    plan = build_plan(load("tasks: toy\ninitializers: [plain, picky]\ninclude: [{initializer: plain}, {seed: 1}]\n"))
    found = reasons(plan)
    assert found["toy", "plain", 0][0] == found["toy", "picky", 1][0] == "run"
    assert found["toy", "picky", 0] == ("skip", "not among the cells the spec includes")


def test_two_names_of_one_cell_are_run_once_and_both_shown(load):
    plan = build_plan(load("tasks: toy\ninitializers: [plain, {name: plain, as: same, parameters: {gain: 1}}]\n"))
    assert reasons(plan)["toy", "same", 0] == ("same", "same as toy × plain, seed 0")
    assert len(plan.to_run()) == 2
    assert plan.cells[0].cell.id == plan.cells[2].cell.id


def test_a_broken_plugin_stops_only_the_cells_that_need_it(load, tmp_path):
    (tmp_path / "broken.py").write_text(BROKEN)
    plan = build_plan(load("tasks: toy\ninitializers: [plain, broken]\n", plugins=["broken.py"]))
    found = reasons(plan)
    assert found["toy", "plain", 0] == ("run", "new")
    action, reason = found["toy", "broken", 0]
    assert action == "broken"
    assert reason.endswith("cannot be used: ModuleNotFoundError: No module named 'no_such_module_anywhere'")
    assert all(line.cell is None for line in plan.with_action("broken"))


def test_a_family_that_fails_while_planning_stops_only_its_own_cells(load, tmp_path):
    (tmp_path / "odd.py").write_text(
        BROKEN.replace("import no_such_module_anywhere\n", "")
        .replace("broken", "odd")
        .replace("def apply", "def unsupported(self, task):\n        return task.nonsense\n\n    def apply")
    )
    found = reasons(build_plan(load("tasks: toy\ninitializers: [plain, odd]\n", plugins=["odd.py"])))
    assert found["toy", "odd", 0][0] == "broken"
    assert "failed while planning with AttributeError" in found["toy", "odd", 0][1]
    assert found["toy", "plain", 0][0] == "run"


@pytest.mark.parametrize(
    ("selection", "count"),
    [
        (Selection(), 8), (Selection(tasks=("to*",)), 4), (Selection(initializers=("plain",)), 4),
        (Selection(seeds=(1,)), 4), (Selection(("toy",), ("pi*", "pl*"), (0,)), 2),
    ],
)  # fmt: skip
def test_a_selection_takes_part_of_the_grid(load, selection, count):
    loaded = load("tasks: [toy, {name: toy, as: other, parameters: {size: 5}}]\ninitializers: [plain, picky]\n")
    assert len(build_plan(loaded, selection=selection).cells) == count


def test_selecting_nothing_is_an_error_that_lists_what_there_is(load):
    loaded = load("tasks: toy\ninitializers: [plain, picky]\n")
    with pytest.raises(UsageError, match=r"^nothing selected: --task 'x\*' matches nothing; known: toy$"):
        build_plan(loaded, selection=Selection(tasks=("x*",)))
    with pytest.raises(UsageError, match=r"--seed 7 is none of the seeds 0, 1$"):
        build_plan(loaded, selection=Selection(seeds=(7,)))


def test_a_misspelt_filter_is_answered_with_the_near_name(load):
    loaded = load("tasks: toy\ninitializers: [plain, picky]\n")
    with pytest.raises(UsageError, match="--initializer 'plian' matches nothing; did you mean 'plain'"):
        build_plan(loaded, selection=Selection(initializers=("plian",)))


def test_a_plan_too_large_to_list_is_refused_before_it_is_made(load, monkeypatch):
    monkeypatch.setattr("benchmark.plan.MOST_CELLS", 5)
    loaded = load("tasks: toy\ninitializers: [plain, picky]\n", seeds=3)
    with pytest.raises(UsageError, match=r"has 6 cells \(1 task × 2 initializers × 3 seeds\); at most 5"):
        build_plan(loaded)
    assert len(build_plan(loaded, selection=Selection(initializers=("plain",))).cells) == 3


def test_the_estimate_comes_from_cells_that_ran_and_counts_the_others(load):
    loaded = load("tasks: toy\ninitializers: [plain, picky]\n")
    assert build_plan(loaded).estimate() is None
    estimate = build_plan(loaded, seconds={("toy", "plain"): 2.5}).estimate()
    assert (estimate.seconds, estimate.known, estimate.unknown) == (5.0, 2, 2)


@given(st.permutations(["toy", "a", "b"]), st.permutations(["plain", "picky", "c"]), st.permutations([0, 1, 5]))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_order_of_tasks_initializers_and_seeds_never_matters(load, tasks, initializers, seeds):
    known = {
        "a": "{parameters: {weights: [1, 2], size: 4}, as: a, name: toy}",
        "b": "{name: toy, as: b, parameters: {shape: {depth: 2}}}",
        "c": "{name: plain, as: c, parameters: {gain: 3}}",
    }
    texts = [", ".join(known.get(name, name) for name in names) for names in (tasks, initializers)]
    plan = build_plan(load(f"tasks: [{texts[0]}]\ninitializers: [{texts[1]}]\n", seeds=tuple(seeds)))
    ids = {(line.task, line.initializer, line.seed): line.cell.id for line in plan.cells}
    assert len(set(ids.values())) == 27
    assert ids == getattr(test_the_order_of_tasks_initializers_and_seeds_never_matters, "ids", ids)
    test_the_order_of_tasks_initializers_and_seeds_never_matters.ids = ids


def test_the_profile_keeps_cells_of_different_scale_apart(load):
    text = "tasks: toy\ninitializers: plain\n"
    one, other = (build_plan(load(text, profile=name)).to_run()[0].id for name in ("compact", "paper"))
    assert one != other


# --- to workers and back ---


def cell_and_registry(
    load, text="tasks: {name: toy, parameters: {weights: [1, 0.1], shape: {depth: 2}}}\ninitializers: plain\n"
):
    loaded = load(text)
    return build_plan(loaded).to_run()[1], loaded


def test_a_cell_survives_the_way_to_a_worker_and_back(load):
    cell, loaded = cell_and_registry(load)
    again = cell_from_json(cell_to_json(cell), Registry.from_plugins(loaded.plugin_files))
    assert again == cell
    assert again.task.shape.depth == 2


def test_a_cell_whose_family_has_another_version_here_is_refused(load, monkeypatch):
    cell, loaded = cell_and_registry(load)
    text = cell_to_json(cell)
    monkeypatch.setattr(type(cell.task), "version", 2)
    with pytest.raises(PluginError, match="'toy' was planned at version 1 and is version 2 here"):
        cell_from_json(text, loaded.registry)


def test_a_cell_that_resolves_to_another_id_is_refused(load):
    cell, loaded = cell_and_registry(load)
    data = json.loads(cell_to_json(cell))
    data["resolved"]["task"]["parameters"]["size"] = 5
    with pytest.raises(PluginError, match="start the run again"):
        cell_from_json(json.dumps(data), loaded.registry)


def test_a_cell_whose_plugin_is_not_here_is_refused(load):
    cell, _ = cell_and_registry(load)
    with pytest.raises(PluginError, match="no task family 'toy'"):
        cell_from_json(cell_to_json(cell), Registry.discover())


def test_parameters_without_an_order_break_their_initialiser_alone(tmp_path):
    (tmp_path / "setparam.py").write_text(
        "from benchmark.initializer import Initializer\n"
        "from benchmark.registry import initializer\n\n\n"
        "@initializer('setparam')\n"
        "class SetParam(Initializer):\n"
        "    which: frozenset[str] = frozenset({'query', 'key'})\n\n"
        "    def apply(self, model, context):\n"
        "        pass\n"
    )
    spec = tmp_path / "spec.yaml"
    spec.write_text("experiment: s\nplugins: [setparam.py]\ntasks: [2parity]\ninitializers: [default, setparam]\n")
    lines = {line.initializer: line for line in build_plan(load_experiment(str(spec), seeds=1)).cells}
    assert lines["default"].action == "run"
    assert lines["setparam"].action == "broken"
    assert "SetParam.which is a set, which has no order to hash; use a tuple" in lines["setparam"].reason


# --- probes -----------------------------------------------------------------------------------------------------------


def test_probes_change_no_id_and_a_finished_cell_without_a_recording_is_run_again(load):
    plain = build_plan(load("tasks: toy\ninitializers: plain\n"))
    loaded = load(
        "tasks: toy\ninitializers: plain\nprobes: [drift, {name: drift, parameters: {steps: [0]}}, updates]\n"
    )
    cells = build_plan(loaded).to_run()
    assert [cell.id for cell in cells] == [cell.id for cell in plain.to_run()]
    first, second = cells
    finished = {cell.id: "run-7" for cell in cells}
    recorded = {first.id: {probe.key for probe in first.probes}, second.id: {first.probes[0].key}}
    plan = build_plan(loaded, finished, recorded=recorded)
    assert [(line.action, line.reason) for line in plan.cells] == [
        ("reuse", "reused from run run-7"), ("run", "finished, but not recorded: drift, updates"),
    ]  # fmt: skip
    assert build_plan(load("tasks: toy\ninitializers: plain\n"), finished).to_run() == ()


def test_a_cell_goes_to_a_worker_with_its_probes(load):
    loaded = load("tasks: toy\ninitializers: plain\nprobes: {name: drift, parameters: {steps: [0, 7]}}\n")
    (cell, _) = build_plan(loaded).to_run()
    again = cell_from_json(cell_to_json(cell), loaded.registry)
    assert again.probes == cell.probes
    assert again.probes[0].steps == (0, 7)


def test_what_a_probe_cannot_measure_is_said_once_and_asked_of_no_cell(load):
    loaded = load("tasks: toy\ninitializers: plain\nprobes: [drift, retention]\n")
    assert loaded.notices == ("probe 'retention' leaves toy out: the task has no interaction pattern",)
    assert [probe.family for probe in build_plan(loaded).to_run()[0].probes] == ["drift"]


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("drif", "no probe 'drif'; did you mean 'drift'?"),
        ("[drift, drift]", "probe 'drift' is listed twice with equal parameters"),
        ("{name: drift, parameters: {step: [0]}}", "unknown key 'step'"),
        ("{name: drift, parameters: {steps: [-1]}}", "steps"),
    ],
)
def test_a_wrong_probe_is_refused_at_its_place(load, listed, message):
    with pytest.raises(SpecError, match=re.escape(message)):
        load(f"tasks: toy\ninitializers: plain\nprobes: {listed}\n")
