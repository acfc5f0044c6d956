"""An experiment with everything it names, resolved."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmark.errors import PluginError, SpecError, UsageError
from benchmark.parameters import Metric
from benchmark.plan import Selection, build_plan
from benchmark.registry import Registry
from benchmark.spec.load import load_experiment
from benchmark.spec.marks import InvalidSpecError
from benchmark.spec.overview import families
from benchmark.spec.validate import validate_file

TOY = Path(__file__).parent / "toy_plugin.py"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    write("tasks/sized.yaml", (
        "task: sized\nfamily: toy\nprimary: loss\n"
        "parameters: {size: 8, optimizer: {learning_rate: 1e-3, weight_decay: 0.1}}\n"
        "profiles:\n  compact: {size: 4}\n  paper: {optimizer: {learning_rate: 1e-4}}\n"
    ))  # fmt: skip
    write("initializers/tuned.yaml", (
        "initializer: tuned\ntitle: Tuned\nfamily: plain\nparameters: {gain: 2}\noverrides:\n"
        "  - {when: {task: 'siz*'}, parameters: {gain: 3}}\n  - {when: {profile: paper}, parameters: {layers: [1]}}\n"
    ))  # fmt: skip
    write(
        "specs/e.yaml", f"experiment: e\nplugins: {TOY}\ntasks: [sized, toy]\ninitializers: [plain, tuned]\nseeds: 3\n"
    )
    return write


def test_profiles_are_laid_over_the_shared_parameters_key_by_key(project):
    compact = load_experiment("e").task("sized").task
    paper = load_experiment("e", profile="paper").task("sized").task
    assert (compact.size, compact.optimizer.learning_rate, compact.optimizer.weight_decay) == (4, 1e-3, 0.1)
    assert (paper.size, paper.optimizer.learning_rate, paper.optimizer.weight_decay) == (8, 1e-4, 0.1)


def test_overrides_hold_on_the_tasks_and_profiles_they_name(project):
    tuned = load_experiment("e").initializer("tuned").by_task
    assert (tuned["sized"].gain, tuned["toy"].gain, tuned["sized"].layers) == (3.0, 2.0, ())
    assert load_experiment("e", profile="paper").initializer("tuned").by_task["toy"].layers == (1,)


def test_a_family_without_a_file_serves_under_its_own_name(project):
    loaded = load_experiment("e")
    assert loaded.task("toy").spec.family == "toy"
    assert loaded.initializer("plain").by_task["toy"].gain == 1.0


def test_inline_parameters_win_and_as_gives_them_a_name_of_their_own(project):
    project("x.yaml", (
        f"experiment: x\nplugins: [{TOY}]\ntasks: [sized, {{name: sized, as: tiny, parameters: {{size: 2}}}}]\n"
        "initializers: {name: tuned, parameters: {gain: 9}}\n"
    ))  # fmt: skip
    loaded = load_experiment("x.yaml")
    assert [task.name for task in loaded.tasks] == ["sized", "tiny"]
    assert loaded.task("tiny").task.size == 2
    assert loaded.initializer("tuned").by_task["tiny"].gain == 9.0  # the override for siz* means the spec, tiny is one


def test_titles_primary_and_identity_of_the_source_are_kept(project):
    loaded = load_experiment("e")
    assert loaded.task("sized").primary == "loss"
    assert loaded.task("toy").primary == "accuracy"
    assert loaded.initializer("tuned").title == "Tuned"
    assert loaded.initializer("plain").title == "plain"
    assert loaded.text.startswith("experiment: e")
    assert len(loaded.sha256) == 64
    assert loaded.plugin_files[0].path == str(TOY)


@pytest.mark.parametrize(("given", "seeds"), [(None, (0, 1, 2)), (2, (0, 1)), ((7, 3, 7), (7, 3))])
def test_seeds_are_the_spec_s_unless_others_are_asked_for(project, given, seeds):
    assert load_experiment("e", seeds=given).seeds == seeds


@pytest.mark.parametrize("given", [0, (), (-1,), (2**63,), 10_001, 10**20])
def test_no_seed_too_many_or_one_out_of_range_is_refused(project, given):
    with pytest.raises(UsageError, match="seed"):
        load_experiment("e", seeds=given)


def test_what_a_plugin_on_the_command_line_brings_joins_the_grid(project, tmp_path):
    project("own/more.py", (
        "from benchmark.initializer import Initializer\nfrom benchmark.registry import initializer\n\n\n"
        "@initializer('more')\nclass More(Initializer):\n    level: int = 1\n\n"
        "    def apply(self, model, context):\n        pass\n"
    ))  # fmt: skip
    loaded = load_experiment("e", plugins=["own/more.py"])
    assert [one.name for one in loaded.initializers] == ["plain", "tuned", "more"]
    assert loaded.notices == ("initializer 'more' of own/more.py joins the experiment",)
    project("own/more_2.yaml", "initializer: more_2\nfamily: more\nparameters: {level: 2}\n")
    loaded = load_experiment("e", plugins=["own/more.py"])
    assert [one.name for one in loaded.initializers] == ["plain", "tuned", "more_2"]
    assert loaded.initializer("more_2").by_task["toy"].level == 2


def test_problems_of_all_files_are_told_at_once(project):
    project("tasks/bad.yaml", "task: bad\nfamily: toy\nparameters: {size: none}\n")
    project("initializers/worse.yaml", "initializer: worse\nfamily: plain\nparametres: {}\n")
    project("x.yaml", f"experiment: x\nplugins: {TOY}\ntasks: bad\ninitializers: [worse, plian]\nextra: 1\n")
    with pytest.raises(InvalidSpecError) as error:
        load_experiment("x.yaml")
    places = {str(problem.mark) for problem in error.value.problems}
    assert places == {"tasks/bad.yaml:3:20", "initializers/worse.yaml:3:1", "x.yaml:4:23", "x.yaml:5:1"}


def test_an_unreadable_plugin_file_is_told_at_its_place(project):
    project("x.yaml", f"experiment: x\nplugins: [{TOY}, nowhere.py]\ntasks: toy\ninitializers: plain\n")
    with pytest.raises(InvalidSpecError, match=r"x\.yaml:2:.*nowhere\.py cannot be read"):
        load_experiment("x.yaml")


def test_a_task_whose_metrics_fail_is_broken_and_the_others_are_used(project, monkeypatch):
    loaded = load_experiment("e")

    def fail(task):
        raise OSError("no disk")

    monkeypatch.setattr(type(loaded.task("toy").task), "metrics", fail)
    broken = load_experiment("e").task("toy")
    assert (broken.task, broken.primary) == (None, None)
    assert broken.broken == "the metrics of task 'toy' fail with OSError: no disk"
    assert "the metrics of task 'sized' fail" in str(validate_file(Path("tasks/sized.yaml"), plugins=[TOY])[0])
    monkeypatch.setattr(type(loaded.task("toy").task), "metrics", lambda task: ())
    assert load_experiment("e").task("toy").broken == "task 'toy' reports no metric"
    monkeypatch.setattr(
        type(loaded.task("toy").task), "metrics", lambda task: [Metric(name="a", title="a", direction="max")] * 2
    )
    assert load_experiment("e").task("toy").broken == "task 'toy' reports two metrics called 'a'; name them apart"


def test_an_unknown_profile_of_the_command_line_is_refused(project):
    project("tasks/other.yaml", "task: other\nfamily: toy\nprofiles: {paper: {size: 4}}\n")
    project("x.yaml", (
        f"experiment: x\nplugins: {TOY}\ntasks: [sized, other]\ninitializers: plain\n"
        "tables: [{title: t, tasks: sized, metrics: loss}]\n"
    ))  # fmt: skip
    with pytest.raises(
        UsageError, match=r"^x\.yaml: no task of this experiment has a profile 'papr'; did you mean 'paper'"
    ):
        load_experiment("x.yaml", profile="papr")
    with pytest.raises(InvalidSpecError, match=r"^1 problem in"):  # one of the tasks has it
        load_experiment("x.yaml", profile="compact")


def test_a_name_two_files_claim_stops_only_specs_that_use_it(project):
    project("specs/again.yaml", "experiment: e\ntasks: toy\ninitializers: plain\n")
    with pytest.raises(SpecError, match="defined twice"):
        load_experiment("e")
    assert load_experiment("specs/e.yaml").name == "e"


def test_a_third_party_s_own_check_that_raises_breaks_its_own_cells_only(project):
    project("odd.py", (
        "from pydantic import model_validator\nfrom benchmark.initializer import Initializer\n"
        "from benchmark.registry import initializer\n\n\n@initializer('odd')\nclass Odd(Initializer):\n"
        "    @model_validator(mode='after')\n    def check(self):\n        raise KeyError('lost')\n\n"
        "    def apply(self, model, context):\n        pass\n"
    ))  # fmt: skip
    project("x.yaml", f"experiment: x\nplugins: [{TOY}, odd.py]\ntasks: toy\ninitializers: [plain, odd]\n")
    loaded = load_experiment("x.yaml")
    assert loaded.initializer("odd").broken.endswith("failed with KeyError: 'lost'")
    assert {line.initializer: line.action for line in build_plan(loaded).cells} == {"plain": "run", "odd": "broken"}
    assert [problem.message.rpartition(" failed ")[2] for problem in validate_file(Path("x.yaml"))] == [
        "with KeyError: 'lost'"
    ]


@pytest.mark.parametrize("fault", ["raise RuntimeError('no licence')", "import sys; sys.exit(7)", "def"])
def test_a_plugin_that_fails_before_it_names_anything_is_told_with_the_reason(project, fault):
    project("dead.py", f"{fault}\n")
    (notice,) = load_experiment("e", plugins=["dead.py"]).warnings
    assert notice.startswith("plugin dead.py could not be run (")
    registry = Registry.discover()
    registry.add_file(Path("dead.py"))
    (line,) = [line for line in families(registry) if line["kind"] == "file"]
    assert (line["name"], line["problem"]) == ("dead.py", notice.partition("(")[2][:-1])
    project("x.yaml", f"experiment: x\nplugins: [{TOY}, dead.py]\ntasks: toy\ninitializers: [plain, wanted]\n")
    with pytest.raises(InvalidSpecError, match=re.escape(f"unknown initializer 'wanted'; {notice}")):
        load_experiment("x.yaml")


def test_a_plugin_that_declares_nothing_is_refused(project):
    project("none.py", "x = 1\n")
    with pytest.raises(PluginError, match="registers nothing"):
        load_experiment("e", plugins=["none.py"])


def test_specs_beside_the_experiment_are_found(project):
    project("far/away.yaml", f"experiment: away\nplugins: {TOY}\ntasks: near\ninitializers: plain\n")
    project("far/near.yaml", "task: near\nfamily: toy\nparameters: {size: 6}\n")
    assert load_experiment("far/away.yaml").task("near").task.size == 6


def test_a_grid_is_expanded_into_named_arms_with_their_parameters(project):
    project("specs/grid.yaml", (
        f"experiment: grid\nplugins: {TOY}\n"
        "tasks:\n  - {name: toy, grid: {optimizer.learning_rate: [0.1, 1e-3]}}\n"
        "initializers:\n  - {name: plain, as: p, grid: {strength: {weak: {gain: 0.5}, both: {gain: 2, layers: [0, 1]}},"
        " layers: [[], [0, 1]]}}\n"
    ))  # fmt: skip
    loaded = load_experiment("specs/grid.yaml")
    assert [task.name for task in loaded.tasks] == [
        "toy[optimizer.learning_rate=0.1]", "toy[optimizer.learning_rate=0.001]",
    ]  # fmt: skip
    assert [task.task.optimizer.learning_rate for task in loaded.tasks] == [0.1, 1e-3]
    arms = {one.name: next(iter(one.by_task.values())) for one in loaded.initializers}
    assert list(arms) == [
        "p[strength=weak,layers=]", "p[strength=weak,layers=0+1]", "p[strength=both,layers=]",
        "p[strength=both,layers=0+1]",
    ]  # fmt: skip
    assert [(arm.gain, arm.layers) for arm in arms.values()] == [
        (0.5, ()), (0.5, (0, 1)), (2.0, ()), (2.0, (0, 1)),
    ]  # fmt: skip


def test_a_grid_of_too_many_arms_is_refused_before_it_is_expanded(project):
    axes = ", ".join(f"{axis}: [{', '.join(map(str, range(10)))}]" for axis in ("a", "b", "c"))
    project("specs/grid.yaml", (
        f"experiment: grid\ntasks: toy\ninitializers: [{{name: plain, grid: {{{axes}}}}}]\n"
    ))  # fmt: skip
    with pytest.raises(InvalidSpecError, match="the grid of 'plain' has 1000 arms; at most 200 are expanded"):
        load_experiment("specs/grid.yaml", plugins=[TOY])


def test_a_forgotten_plugin_is_guessed_from_the_files_here_and_beside_the_spec(project):
    project("mine.py", '@initializer("mine")\nclass Mine: ...\n')
    project("f.yaml", "experiment: f\ntasks: [sized]\ninitializers: [mine]\n")
    guess = "unknown initializer 'mine'; mine.py registers it: add --plugin mine.py"
    with pytest.raises(SpecError, match=re.escape(guess)):
        load_experiment("f.yaml")
    with pytest.raises(UsageError, match=re.escape("--initializer 'mine' matches nothing; mine.py registers it")):
        build_plan(load_experiment("e"), selection=Selection(initializers=("mine",)))


def test_the_file_of_a_task_is_no_experiment_and_called_what_it_is(project):
    with pytest.raises(UsageError, match=r"tasks/sized\.yaml is the file of a task, 'sized', and no experiment: name"):
        load_experiment("tasks/sized.yaml")
