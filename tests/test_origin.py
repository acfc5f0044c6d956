"""Code is data: which modules a family is made of, whatever way it is installed, and what an edit of one changes."""

from __future__ import annotations

import sys

import pytest

from benchmark.errors import PluginError
from benchmark.origin import Module, find, trace
from benchmark.registry import Registry, origin_of

INITIALIZER = """from benchmark.initializer import Initializer
from benchmark.registry import initializer
{imports}

@initializer("{name}")
class One(Initializer):
    level: int = {level}

    def apply(self, model, context):
        {body}
"""


def plugin(path, name, imports="", level=1, body="pass"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(INITIALIZER.format(imports=imports, name=name, level=level, body=body))
    return path


@pytest.fixture(autouse=True)
def own_path(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])


def files(origin):
    return {module.file for module in origin.modules}


def test_modules_beside_a_plugin_are_followed_wherever_they_are_imported(tmp_path, monkeypatch):
    path = plugin(tmp_path / "p.py", "p", "import near.deep, json\nfrom near import sister", body="import lazy_near")
    deep = "from . import sister, absent\nfrom ..up import x"
    neighbours = {"near/__init__.py": "", "near/deep.py": deep, "near/sister.py": "", "lazy_near.py": "def broken(:"}
    for name, text in {**neighbours, "unused.py": ""}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    found = trace(Module("p", path))
    assert files(found) == {"p.py", "near/__init__.py", "near/deep.py", "near/sister.py", "lazy_near.py"}
    (tmp_path / "unused.py").write_text("1")
    assert trace(Module("p", path)).digest == found.digest
    (tmp_path / "near" / "sister.py").write_text("1")
    assert trace(Module("p", path)).digest != found.digest


def test_packages_that_a_plugin_imports_are_named_with_their_version(tmp_path):
    path = plugin(tmp_path / "p.py", "p", "import click.testing, numpy.linalg")
    found = trace(Module("p", path))
    assert set(found.packages) == {"click"}  # numpy is told with every cell
    assert files(found) == {"p.py"}


def test_a_shipped_family_is_its_module_and_those_of_its_folder_not_the_engine():
    found = origin_of(Registry.discover().task("boolean"))
    assert found.distribution == "initbench"
    assert {"tasks/boolean.py", "tasks/boolean_pattern.py"} <= files(found)
    assert not [name for name in files(found) if name.startswith(("benchmark/", "torch/"))]


def test_a_module_that_is_not_there_is_not_found():
    assert find("no_such_module_anywhere.x") == []


# --- plugins and their neighbours ------------------------------------------------------------------------------------


def test_a_plugin_imports_its_neighbour_and_an_edit_of_that_makes_it_another_plugin(tmp_path):
    path = plugin(tmp_path / "a.py", "a", "from helper_of_a import FACTOR", "FACTOR")
    (tmp_path / "helper_of_a.py").write_text("FACTOR = 2\n")
    first = Registry()
    known = first.add_file(path)
    (tmp_path / "helper_of_a.py").write_text("FACTOR = 3\n")
    with pytest.raises(PluginError, match="or what it imports, has changed since the run began"):
        Registry.from_plugins([known])
    second = Registry()
    assert second.add_file(path) != known
    assert (first.initializer("a")().level, second.initializer("a")().level) == (2, 3)


def test_two_plugins_with_neighbours_of_one_name_are_refused_not_mixed(tmp_path):
    for folder, factor in (("one", 1), ("two", 2)):
        plugin(tmp_path / folder / f"{folder}.py", folder, "from helper_twice import FACTOR", "FACTOR")
        (tmp_path / folder / "helper_twice.py").write_text(f"FACTOR = {factor}\n")
    registry = Registry()
    registry.add_file(tmp_path / "one" / "one.py")
    with pytest.raises(PluginError, match=r"two\.py imports 'helper_twice'.* but Python takes .*one.helper_twice\.py"):
        registry.add_file(tmp_path / "two" / "two.py")


def test_a_neighbour_never_replaces_what_is_installed(tmp_path):
    (tmp_path / "random.py").write_text("1 / 0")
    registry = Registry()
    registry.add_file(plugin(tmp_path / "p.py", "p", "import random", "random.Random(0).randrange(1)"))
    assert registry.initializer("p")().level == 0
    (tmp_path / "numpy.py").write_text("")
    with pytest.raises(PluginError, match="imports 'numpy', which lies beside it"):
        Registry().add_file(plugin(tmp_path / "q.py", "q", "import numpy"))


# --- one content, two places ----------------------------------------------------------------------------------------


def test_a_family_defined_twice_with_one_content_is_no_clash(tmp_path):
    registry = Registry()
    registry.add_file(plugin(tmp_path / "one" / "p.py", "same"))
    registry.add_file(plugin(tmp_path / "two" / "p.py", "same"))
    assert registry.initializer("same")().level == 1
    with pytest.raises(PluginError, match="registered twice"):
        registry.add_file(plugin(tmp_path / "three" / "p.py", "same", level=2))


def test_a_shipped_family_given_as_a_file_is_no_clash(tmp_path):
    registry = Registry.discover()
    source = origin_of(registry.initializer("mask")).modules
    path = tmp_path / "mask.py"
    path.write_bytes(next(iter(source)).path.read_bytes())
    registry.add_file(path)
    assert registry.initializer("mask").__module__ == "initializers.mask"


# --- encodings -----------------------------------------------------------------------------------------------------


def test_a_plugin_with_a_byte_order_mark_loads(tmp_path):
    path = plugin(tmp_path / "p.py", "bom")
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    registry = Registry()
    registry.add_file(path)
    assert registry.initializer("bom")().level == 1


def test_a_plugin_that_is_not_utf_8_is_refused_with_line_and_column_and_its_names_are_kept(tmp_path):
    path = plugin(tmp_path / "p.py", "latin", body="'é'")
    path.write_bytes(path.read_text().replace("        'é'", "        'àé'").encode("latin-1"))
    line = path.read_bytes().split(b"\xe0")[0].count(b"\n") + 1
    registry = Registry()
    registry.add_file(path)
    with pytest.raises(PluginError, match=rf"p\.py:{line}:10: byte 0xe0 is not UTF-8; save the file as UTF-8"):
        registry.initializer("latin")


def test_a_declared_encoding_is_read_as_python_reads_it(tmp_path):
    path = plugin(tmp_path / "p.py", "declared", body="assert len('été') == 3")
    path.write_bytes(("# -*- coding: latin-1 -*-\n" + path.read_text()).encode("latin-1"))
    registry = Registry()
    registry.add_file(path)
    registry.initializer("declared")().apply(None, None)
