"""The README does what it says: its plugin runs, its commands exist, what it quotes is printed, its links lead on."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from leaderboard import digest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def bench(*arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmark.cli", *arguments], cwd=folder, capture_output=True, text=True
    )


def test_the_initialiser_of_the_readme_reaches_the_leaderboard(tmp_path):
    (source,) = blocks("python")
    assert len(source.strip().splitlines()) <= 20
    (tmp_path / "tied_qk.py").write_text(source)
    store = str(tmp_path / "results")
    done = bench(
        "run", "paper", "--plugin", "tied_qk.py", "--task", "majority3", "--initializer", "tied_qk", "--seeds", "1",
        "--execution", "alone", "--store", store, folder=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    shown = bench("leaderboard", "--format", "csv", "--store", store, folder=tmp_path)
    assert "majority3,tied_qk" in shown.stdout, shown.stdout + shown.stderr


def test_the_initialiser_of_the_guide_starts_a_model(tmp_path):
    """docs/initializers.md: shapes, generator and pattern are as it says."""
    import torch

    from benchmark.initializer import Context
    from benchmark.nn.attention import attentions
    from benchmark.plan import Selection, build_plan, load_experiment

    (source,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "initializers.md").read_text(), re.DOTALL)
    (tmp_path / "noisy.py").write_text(source)
    loaded = load_experiment("paper", plugins=[tmp_path / "noisy.py"])
    only = Selection(("majority3", "mnist*"), ("noisy_pattern",), (0,))
    lines = build_plan(loaded, selection=only).cells
    cells = [line.cell for line in lines if line.cell is not None]
    assert cells, [line.reason for line in lines]
    for cell in cells:
        model = cell.task.build_model()
        with torch.no_grad():
            cell.initializer.apply(model, Context(cell.task, 0, torch.Generator().manual_seed(0)))
        shape = cell.task.geometry()
        module = attentions(model)[0]
        total = shape.extra_tokens + shape.tokens
        assert module.prior.shape == (shape.heads, total, total)
        assert module.query.weight.shape == (shape.heads * shape.head_dim, shape.dim)
        assert module.prior[0, shape.extra_tokens :, shape.extra_tokens :].max() > 4


def commands() -> list[list[str]]:
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    calls = [re.search(r"\.venv/bin/bench (.*)", line) for line in lines]
    return [shlex.split(call[1], comments=True) for call in calls if call]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_verb_and_option_of_the_readme_exists(words):
    helped = bench(words[0], "--help").stdout
    for word in words:
        if word.startswith("--"):
            assert word in helped, f"{word} is no option of bench {words[0]}"


def test_the_finding_quoted_in_the_readme_is_what_check_prints():
    (quoted,) = blocks("text")
    printed = " ".join(bench("check", "arxiv-2608.00418").stdout.split())
    head, arithmetic, *_ = quoted.strip().splitlines()
    assert head in printed
    assert arithmetic.split("arithmetic")[1].strip() in printed


def test_every_link_of_the_documentation_leads_to_a_file():
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_table_of_the_readme_is_one_that_leaderboard_wrote():
    ((stamp, untouched),) = digest.read_stamps(README)
    assert untouched, "the table was edited by hand"
    assert stamp.profile == "compact"
    assert {"default", "mask"} <= {initializer for _, initializer, *_ in stamp.numbers}
