"""Weights of finished cells in the store's folder `models`, one file per cell: `bench run --keep model`.

The format is safetensors: arrays under a JSON header, which any program can read and nothing executes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.errors import UsageError
from benchmark.store.layout import Layout, whole

if TYPE_CHECKING:
    import torch


def path_of(store: Path, cell_id: str, *, averaged: bool = False) -> Path:
    """Where a cell's weights are, or those of its exponential moving average."""
    return Layout(store).models / f"{cell_id}{'.ema' if averaged else ''}.safetensors"


def write_model(path: Path, weights: Mapping[str, torch.Tensor], about: Mapping[str, str]) -> None:
    """Put weights in place as a whole; `about` stands in the header. Raises StoreError."""
    from safetensors.torch import save

    arrays = {name: tensor.detach().cpu().clone() for name, tensor in weights.items()}
    with whole("a model", path) as draft:
        draft.write_bytes(save(arrays, {"format": "pt", **about}))


def load_model(
    cell_id: str, store: Path | str = "results", *, plugins: Sequence[Path] = (), averaged: bool = False
) -> torch.nn.Module:
    """The trained model of a cell (the start of its id is enough), in evaluation mode on the CPU.

    `plugins`: files of its families, where they are not installed. `averaged`: the moving average of its weights.

    Raises:
        UsageError: the store has no such cell, or no weights of it.  PluginError: its families are not here.
    """
    from safetensors.torch import load_file

    from benchmark.execution.audit import cell_text, one_of
    from benchmark.plan import cell_from_json
    from benchmark.registry import Registry
    from benchmark.store import Store
    from benchmark.train.build import build

    stored = Store(store, read_only=True)
    record = one_of(stored.records([id for id in stored.finished() if id.startswith(cell_id)]), cell_id)
    path = path_of(stored.root, record.cell_id, averaged=averaged)
    if not path.is_file():
        raise UsageError(f"{path} is not there: the cell was trained without --keep model; --force trains it again")
    registry = Registry.discover()
    for plugin in plugins:
        registry.add_file(plugin)
    model = build(cell_from_json(cell_text(record), registry))
    model.load_state_dict(load_file(path))
    return model.eval()
