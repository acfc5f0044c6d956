"""Who may import whom, and what may not be imported when nothing is trained."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("benchmark", "tasks", "initializers", "leaderboard")
ALLOWED = {
    "benchmark": {"benchmark"},
    "benchmark.cli": {"benchmark", "leaderboard", "tasks"},  # `bench data` shows what the tasks' data needs
    "tasks": {"tasks", "benchmark"},
    "initializers": {"initializers", "benchmark"},
    "leaderboard": {"leaderboard", "benchmark"},
}
"""Package → those of ours it may import, anywhere in its code."""
TORCH_AT_MODULE_LEVEL = ("benchmark/nn/", "benchmark/train/")
SCRIPTS = {"tasks/data/build_embedded.py"}
"""Run by hand, imported by nothing."""
HEAVY = {"torch", "duckdb", "polars", "pyarrow", "scipy", "rich"}


def modules():
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def name_of(path):
    return str(path.relative_to(ROOT))


def imported(nodes):
    """Names of modules that import statements among `nodes` ask for."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module


def at_module_level(tree):
    """Statements that run when a module is imported; not those under `if TYPE_CHECKING`."""
    waiting = [*tree.body]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting += node.orelse
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            waiting += [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]


def own_package(path):
    name = name_of(path)
    return "benchmark.cli" if name.startswith("benchmark/cli/") else name.partition("/")[0]


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_follow_the_one_direction(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    ours = {name.partition(".")[0] for name in imported(ast.walk(tree))} & set(PACKAGES)
    assert ours <= ALLOWED[own_package(path)]


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_click_is_known_to_the_command_line_only(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {name.partition(".")[0] for name in imported(ast.walk(tree))}
    assert "click" not in found or own_package(path) == "benchmark.cli" or name_of(path) in SCRIPTS


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_torch_is_imported_at_module_level_only_where_workers_train(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = {name.partition(".")[0] for name in imported(at_module_level(tree))}
    assert "torch" not in found or name_of(path).startswith(TORCH_AT_MODULE_LEVEL) or is_worker_code(path)


def is_worker_code(path):
    """Modules of tensors only, which families import inside their methods; they say so in their first line."""
    families = own_package(path) in ("tasks", "initializers") or name_of(path).startswith("benchmark/probes/")
    return families and not registers_anything(path)


def registers_anything(path):
    text = path.read_text(encoding="utf-8")
    return any(f"@{kind}(" in text for kind in ("task", "initializer", "probe"))


def test_the_leaderboard_never_imports_torch():
    for path in sorted((ROOT / "leaderboard").rglob("*.py")):
        names = {name.partition(".")[0] for name in imported(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))}
        assert "torch" not in names, name_of(path)


def test_planning_imports_nothing_heavy(tmp_path):
    code = (
        "import sys\n"
        "from benchmark.plan import build_plan, load_experiment\n"
        "build_plan(load_experiment('tiny.yaml'))\n"
        f"print(sorted({HEAVY!r} & set(sys.modules)))"
    )
    (tmp_path / "tiny.yaml").write_text("experiment: tiny\ntasks: ['2parity']\ninitializers: [default, mask]\n")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_the_rules_find_a_planted_fault():
    tree = ast.parse("if x:\n    import torch\nclass A:\n    import click\ndef f():\n    from tasks import boolean")
    assert set(imported(at_module_level(tree))) == {"torch", "click"}
    assert "tasks" in set(imported(ast.walk(tree)))


def needed(tree, known):
    """Modules of ours that a tree imports anywhere but under `if TYPE_CHECKING`."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        for name in imported([node]):
            members = [f"{name}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            yield from {member if member in known else name for member in members or [name]} & known
        waiting += ast.iter_child_nodes(node)


def in_circles(trees):
    """Module → tree; what is left when modules that need none of those left are taken away, again and again."""
    left = {name: set(needed(tree, {*trees})) - {name} for name, tree in trees.items()}
    while free := [name for name, others in left.items() if not others & left.keys()]:
        for name in free:
            del left[name]
    return sorted(left)


def test_no_module_imports_itself_in_a_circle_not_even_inside_functions():
    names = {path: name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in modules()}
    assert in_circles({name: ast.parse(path.read_text(encoding="utf-8")) for path, name in names.items()}) == []


def test_a_planted_circle_is_found():
    texts = {"a": "import b", "b": "def f():\n    from c import d", "c.d": "from a import x", "e": "import a"}
    assert in_circles({name: ast.parse(text) for name, text in texts.items()}) == ["a", "b", "c.d", "e"]
    texts["c.d"] = "if TYPE_CHECKING:\n    from a import x"
    assert in_circles({name: ast.parse(text) for name, text in texts.items()}) == []
