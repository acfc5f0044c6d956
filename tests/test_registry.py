"""Built-in, installed and local families: one door, nothing imported before use, broken ones kept with their reason."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from benchmark.cell import PluginFile
from benchmark.errors import PluginError, UsageError
from benchmark.registry import Entry, Registry, checked_out, names_in

ROOT = Path(__file__).parents[1]
TOY = Path(__file__).parent / "spec" / "toy_plugin.py"
ONE = """from benchmark.initializer import Initializer
from benchmark.registry import initializer


@initializer("{name}")
class One(Initializer):
    level: int = {level}

    def apply(self, model, context):
        pass
"""


@pytest.fixture
def plugin(tmp_path):
    def write(text, name="plugin.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_a_local_file_registers_its_families_with_file_and_line():
    registry = Registry()
    added = registry.add_file(TOY)
    assert registry.names("task") == ("toy",)
    assert registry.names("initializer") == ("picky", "plain")
    assert registry.task("toy").family == "toy"
    line = TOY.read_text().splitlines().index('@task("toy")') + 1
    assert registry.entry("task", "toy").origin == f"{TOY}:{line}"
    assert registry.plugin_files == (added,)


def test_adding_a_file_again_changes_nothing():
    registry = Registry()
    assert registry.add_file(TOY) == registry.add_file(TOY)
    assert len(registry.plugin_files) == 1


def test_two_registries_share_the_class_of_one_file():
    first, second = Registry(), Registry()
    first.add_file(TOY)
    second.add_file(TOY)
    assert first.task("toy") is second.task("toy")


def test_a_second_registration_of_a_name_names_both_origins(plugin):
    registry = Registry()
    registry.add_file(plugin(ONE.format(name="same", level=1), "first.py"))
    with pytest.raises(PluginError, match="registered twice") as error:
        registry.add_file(plugin(ONE.format(name="same", level=2), "second.py"))
    assert "first.py:5" in str(error.value)
    assert "second.py:5" in str(error.value)


def test_a_name_registered_twice_in_one_file_names_both_lines(plugin):
    twice = ONE.format(name="same", level=1) + ONE.format(name="same", level=2).replace("class One", "class Two")
    with pytest.raises(PluginError, match=r"plugin\.py:5 and at .*plugin\.py:15"):
        Registry().add_file(plugin(twice))


def test_a_local_file_may_not_shadow_a_built_in(plugin):
    registry = Registry.discover()
    with pytest.raises(PluginError, match=r"initbench|initializers/"):
        registry.add_file(plugin(ONE.format(name="default", level=1)))


def test_of_two_distributions_with_one_name_neither_is_used_and_both_are_named():
    registry = Registry(
        Entry("initializer", "same", origin, lambda: pytest.fail("loaded")) for origin in ("alpha 1.0", "beta 2.0")
    )
    with pytest.raises(PluginError, match=r"registered twice: by alpha 1\.0 and by beta 2\.0"):
        registry.initializer("same")
    assert [entry.name for entry in registry.entries("initializer")] == ["same"]


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("import no_such_module_anywhere\n", "ModuleNotFoundError: No module named 'no_such_module_anywhere'"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("raise SystemExit('bye')\n", "SystemExit: bye"),
        ("def broken(:\n", "SyntaxError: invalid syntax"),
    ],
)
def test_a_file_that_fails_is_listed_with_its_reason_and_raises_only_when_used(plugin, fault, reason):
    registry = Registry()
    path = plugin(fault + ONE.format(name="broken", level=1))
    registry.add_file(path)
    registry.add_file(TOY)
    entry = registry.entry("initializer", "broken")
    assert entry.reason == reason
    assert "Traceback" in entry.error
    assert registry.initializer("plain")
    with pytest.raises(PluginError, match=reason.partition(":")[0]):
        registry.initializer("broken")
    assert not [
        name for name in sys.modules if name.startswith("bench_plugin") and sys.modules[name].__file__ == str(path)
    ]


def test_an_entry_point_that_fails_is_tried_once_and_keeps_its_traceback():
    calls = []

    def load():
        calls.append(1)
        raise ImportError("libfoo.so is missing")

    registry = Registry([Entry("task", "far", "far 1.0", load)])
    for _ in range(2):
        with pytest.raises(
            PluginError, match=r"task 'far' \(far 1\.0\) cannot be used: ImportError: libfoo\.so is missing"
        ):
            registry.task("far")
    assert calls == [1]


def test_an_unknown_name_suggests_a_near_one():
    registry = Registry()
    registry.add_file(TOY)
    with pytest.raises(PluginError, match="no initializer family 'plian'; did you mean 'plain'"):
        registry.initializer("plian")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("class X:\n    pass", "must be a subclass of benchmark.initializer.Initializer"),
        ("class X(Initializer):\n    pass", "does not implement apply"),
    ],
)
def test_what_is_no_initializer_is_refused_at_its_line(plugin, body, message):
    imports = "from benchmark.initializer import Initializer\nfrom benchmark.registry import initializer\n"
    text = f"{imports}\n@initializer('x')\n{body}\n"
    with pytest.raises(PluginError, match=rf"plugin\.py:4: initializer 'x' {message}"):
        Registry().add_file(plugin(text))


def test_a_file_that_is_missing_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        Registry().add_file(tmp_path / "none.py")


def test_workers_load_the_same_file_and_refuse_a_changed_one(plugin):
    path = plugin(ONE.format(name="mine", level=1))
    known = Registry().add_file(path)
    registry = Registry.from_plugins([known])
    assert registry.initializer("mine")().level == 1
    assert "default" in registry.names("initializer")
    assert Registry.from_plugins([known]) is registry
    path.write_text(ONE.format(name="mine", level=2))
    with pytest.raises(PluginError, match="has changed since the run began"):
        Registry.from_plugins([known, PluginFile(str(TOY), Registry().add_file(TOY).sha256)])


def test_an_edited_file_is_another_plugin_in_a_new_registry(plugin):
    path = plugin(ONE.format(name="mine", level=1))
    first = Registry()
    first.add_file(path)
    path.write_text(ONE.format(name="mine", level=2))
    second = Registry()
    second.add_file(path)
    assert (first.initializer("mine")().level, second.initializer("mine")().level) == (1, 2)


def test_names_are_read_from_a_text_without_running_it():
    text = '@registry.task("a")\nclass A: ...\n# @task("no")\n@initializer(\'b\')\ndef (:\n'
    assert names_in(text) == [("task", "a"), ("initializer", "b")]


def test_every_family_of_the_folders_is_declared_as_an_entry_point():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    declared = {("task", name, module) for name, module in project["bench.tasks"].items()}
    declared |= {("initializer", name, module) for name, module in project["bench.initializers"].items()}
    declared |= {("probe", name, module) for name, module in project["bench.probes"].items()}
    found = {(e.kind, e.name, e.origin.removesuffix(".py").replace("/", ".")) for e in checked_out()}
    assert declared == found


def test_every_built_in_can_be_used():
    registry = Registry.discover()
    for kind in ("task", "initializer"):
        for entry in registry.entries(kind):
            if "initbench" in entry.origin or entry.origin.endswith(".py"):
                assert entry.get().family == entry.name


def test_discovery_imports_no_family():
    code = (
        "import sys; from benchmark.registry import Registry; r = Registry.discover(); "
        "print('default' in r.names('initializer'), {'torch', 'tasks', 'initializers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True set()\n"


DISTRIBUTION = {
    "acme_inits/__init__.py": "",
    "acme_inits/good.py": ONE.format(name="acme", level=7),
    "acme_inits/bad.py": "import acme_missing\n",
    "acme_inits-1.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme-inits\nVersion: 1.2\n",
    "acme_inits-1.2.dist-info/entry_points.txt": (
        "[bench.initializers]\nacme = acme_inits.good\nacme_bad = acme_inits.bad\n"
    ),
}


def test_an_installed_distribution_joins_without_any_change_here(tmp_path):
    for name, text in DISTRIBUTION.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    code = f"""
import sys
sys.path.append({str(tmp_path)!r})
from benchmark.errors import PluginError
from benchmark.registry import Registry
registry = Registry.discover()
print(registry.entry("initializer", "acme").origin)
print("acme_inits" in sys.modules, registry.initializer("acme")().level)
try:
    registry.initializer("acme_bad")
except PluginError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "acme-inits 1.2 (acme_inits.good)",
        "False 7",
        "initializer 'acme_bad' (acme-inits 1.2 (acme_inits.bad)) cannot be used: "
        "ModuleNotFoundError: No module named 'acme_missing'",
    ]
