"""Where specs are found, and what happens when two claim one name."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.errors import SpecError
from benchmark.spec.catalog import Catalog, SpecFile, files_in, first_key

SPEC = "experiment: {name}\ntasks: [toy]\ninitializers: [plain]\n"


def write(folder, name, text):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# comment\n\n---\ntask: 2parity\n", ("task", "2parity")),
        ("initializer: 'mask'  # x\n", ("initializer", "mask")),
        ('experiment: "a b"\n', None),
        ("name: x\ntask: y\n", None),
        ("", None),
    ],
)
def test_the_first_key_says_kind_and_name(tmp_path, text, found):
    assert first_key(write(tmp_path, "x.yaml", text)) == found


def test_other_yaml_in_a_tasks_folder_is_left_alone(tmp_path):
    write(tmp_path / "tasks", "main.yml", "- name: install\n  apt: x\n")
    write(tmp_path / "tasks", "mine.yaml", "task: mine\nfamily: toy\n")
    assert [file.name for file in files_in(tmp_path / "tasks")] == ["mine"]


def test_folders_of_the_current_directory_are_searched(tmp_path):
    write(tmp_path / "specs", "mine.yaml", SPEC.format(name="mine"))
    assert Catalog.discover(here=tmp_path).get("experiment", "mine").path == tmp_path / "specs" / "mine.yaml"


def test_a_name_in_two_files_is_an_error_that_names_both(tmp_path):
    first = write(tmp_path / "tasks", "a.yaml", "task: same\nfamily: toy\n")
    second = write(tmp_path / "plugins", "b.yaml", "task: same\nfamily: other\n")
    catalog = Catalog.discover(beside=[tmp_path / "plugins" / "x.py"], here=tmp_path)
    with pytest.raises(SpecError, match="defined twice") as error:
        catalog.get("task", "same")
    assert str(first) in str(error.value)
    assert str(second) in str(error.value)


def test_one_folder_reached_twice_is_read_once(tmp_path):
    write(tmp_path / "tasks", "a.yaml", "task: same\nfamily: toy\n")
    catalog = Catalog.discover(beside=[tmp_path / "tasks" / "x.py"], here=tmp_path)
    assert catalog.get("task", "same") is not None


def test_a_path_that_does_not_exist_falls_back_to_the_spec_of_that_name_and_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shipped = SpecFile("experiment", "paper", Path("/usr/lib/specs/paper.yaml"), shipped=True)
    catalog = Catalog([shipped])
    assert catalog.experiment("paper") == (shipped.path, None)
    path, notice = catalog.experiment("specs/paper.yaml")
    assert path == shipped.path
    assert notice == f"no file specs/paper.yaml here; using the shipped {shipped.path}"


def test_a_file_that_exists_wins_over_a_spec_of_its_name(tmp_path):
    mine = write(tmp_path, "paper.yaml", SPEC.format(name="paper"))
    catalog = Catalog([SpecFile("experiment", "paper", Path("/elsewhere/paper.yaml"))])
    assert catalog.experiment(mine) == (mine, None)


def test_an_unknown_experiment_names_near_ones():
    with pytest.raises(SpecError, match="no experiment 'papr'; did you mean 'paper'"):
        Catalog([SpecFile("experiment", "paper", Path("paper.yaml"))]).experiment("papr")


def test_a_path_that_is_not_that_of_the_shipped_spec_is_a_typo():
    catalog = Catalog([SpecFile("experiment", "paper", Path("/usr/lib/specs/paper.yaml"), shipped=True)])
    with pytest.raises(SpecError, match=r"^no file spec/paper\.yaml; did you mean 'paper'"):
        catalog.experiment("spec/paper.yaml")
