"""Weights that were kept are those the cell's numbers were made with."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from benchmark.errors import UsageError
from benchmark.execution.models import load_model, path_of
from benchmark.store import Store

TOY = Path(__file__).parent / "toy.py"
SPEC = """
experiment: kept
seeds: 2
plugins: [toy.py]
tasks:
  - {name: toy_regression, parameters: {optimizer: {learning_rate: 0.01, ema_decay: 0.9}}}
initializers: [toy_plain, toy_raising]
"""


def bench(folder, *words):
    done = subprocess.run(
        [sys.executable, "-m", "benchmark.cli", *words], cwd=folder, capture_output=True, text=True, timeout=120
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    shutil.copy(TOY, folder)
    (folder / "kept.yaml").write_text(SPEC)
    return folder, bench(folder, "run", "kept.yaml", "--execution", "stack:4", "--workers", "1", "--keep", "model")


def test_every_finished_cell_has_its_weights_and_no_other(kept):
    store = Store(kept[0] / "results")
    finished = {record.cell_id for record in store.records() if record.status == "finished"}
    assert len(finished) == 3
    wanted = {path_of(store.root, cell, averaged=averaged) for cell in finished for averaged in (False, True)}
    assert {*store.layout.models.iterdir()} == wanted
    assert {path.stat().st_mode & 0o077 for path in wanted} == {(kept[0] / "kept.yaml").stat().st_mode & 0o077}


def test_a_loaded_model_gives_the_numbers_that_are_stored(kept):
    store = Store(kept[0] / "results")
    for record in store.records(store.finished()):
        for prefix, averaged in (("", False), ("ema_", True)):
            model = load_model(record.cell_id[:12], store.root, plugins=[kept[0] / "toy.py"], averaged=averaged)
            inputs = torch.randn(32, 4, generator=torch.Generator().manual_seed(2))
            with torch.no_grad():
                loss = (model(inputs) - inputs.mean(dim=1, keepdim=True)).square().mean().item()
            assert loss == pytest.approx(record.finals[f"{prefix}loss"], rel=1e-4)
        with safe_open(path_of(store.root, record.cell_id), "pt") as file:
            assert file.metadata()["attempt_id"] == record.attempt_id


def test_show_tells_where_and_a_cell_without_weights_says_so(kept):
    folder, _ = kept
    store = Store(folder / "results")
    cell = next(iter(store.finished()))
    path = path_of(Path("results"), cell)
    assert f"model:       {path}" in bench(folder, "show", cell)
    assert json.loads(bench(folder, "show", cell, "--json"))[0]["models"][0] == str(path)
    hidden = folder / path.with_suffix(".away")
    (folder / path).rename(hidden)
    try:
        with pytest.raises(UsageError, match="trained without --keep model; --force trains it again"):
            load_model(cell, store.root, plugins=[folder / "toy.py"])
        again = bench(folder, "run", "kept.yaml", "--keep", "model", "--dry-run")
        assert "1 reused cell without a model; --force trains them again" in again
    finally:
        hidden.rename(folder / path)
