"""An edit of code that finished cells were trained with is told by plan, run and check, for packages as for files."""

from __future__ import annotations

import json

import pytest

FAMILY = """from benchmark.initializer import Initializer
from benchmark.registry import initializer
{imports}

@initializer("{name}")
class Scaled(Initializer):
    def apply(self, model, context):
        model.weight *= {factor}
"""


def install(folder, version, factor):
    """What `pip install` of another version leaves behind, on a path of its own."""
    for old in folder.glob("acme*/*"):
        old.unlink()
    for name, text in {
        "acme/__init__.py": FAMILY.format(imports="from acme.scale import S", name="packaged", factor="S"),
        "acme/scale.py": f"S = {factor}\n",
        f"acme-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: acme\nVersion: {version}\n",
        f"acme-{version}.dist-info/entry_points.txt": "[bench.initializers]\npackaged = acme\n",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    for old in folder.glob("acme-*"):
        if not any(old.iterdir()):
            old.rmdir()


@pytest.fixture
def both(project, monkeypatch):
    """A project with an initialiser of an installed package and one of a file that imports its neighbour."""
    monkeypatch.setenv("PYTHONPATH", str(project.folder / "site"))
    install(project.folder / "site", "1.0", 1.0)
    (project.folder / "helper_of_own.py").write_text("FACTOR = 1.0\n")
    own = FAMILY.format(imports="from helper_of_own import FACTOR", name="own", factor="FACTOR")
    (project.folder / "own.py").write_text(own)
    project.spec("[packaged, own]", seeds=1)
    text = (project.folder / "toy.yaml").read_text()
    (project.folder / "toy.yaml").write_text(text.replace("[toy.py]", "[toy.py, own.py]"))
    return project


@pytest.mark.slow
def test_edited_packages_and_neighbours_are_told_by_plan_run_and_check(both):
    assert "differs" not in both.run("--workers", "1")
    assert "differs" not in both.bench("plan", "toy.yaml")
    record = next(r for r in both.store.records() if r.initializer == "packaged")
    family = record.provenance["families"]["initializer"]
    assert (family["distribution"], family["version"], set(family["files"])) == (
        "acme", "1.0", {"acme/__init__.py", "acme/scale.py"},
    )  # fmt: skip
    install(both.folder / "site", "2.0", 30.0)
    (both.folder / "helper_of_own.py").write_text("FACTOR = 30.0\n")
    told = (
        "acme 2.0 (acme/scale.py) differs from acme 1.0 that 1 reused cell was trained with; raise `version`",
        "own.py differs, with what it imports (helper_of_own.py), from the file 1 reused cell was trained with",
    )
    for said in (both.bench("plan", "toy.yaml", "--seeds", "2"), both.run("--seeds", "2", "--workers", "1")):
        assert all(words in said for words in told), said
    findings = json.loads(both.bench("check", "--json"))["findings"]
    mixed = "".join(finding["message"] for finding in findings if finding["check"] == "DB-MIXENV")
    assert "initializer's code acme 1.0 " in mixed
    assert "and acme 2.0 " in mixed
