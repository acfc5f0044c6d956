"""Which cells may be trained in one stack, and which stacks cost the same. No torch here: planning calls it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

from benchmark.cell import Cell


def stack_key(cell: Cell) -> str:
    """Equal for cells that one batched program can train: same task, parameters and prior mode; any seed, any start."""
    task = cell.task
    return _digest(
        {
            "family": task.family,
            "version": task.version,
            "class": _class_name(task),
            "parameters": task.model_dump(mode="json"),
            "prior_mode": cell.initializer.prior_mode(),
        }
    )


def shape_key(cell: Cell) -> str:
    """Equal for cells whose step costs the same: family, geometry, model, batch and optimiser; not the target."""
    task = cell.task
    return _digest(
        {
            "family": task.family,
            "class": _class_name(task),
            "geometry": asdict(task.geometry()),
            "model": task.model_dump(mode="json").get("model"),
            "batch_size": task.budget.batch_size,
            "optimizer": [task.optimizer.name, task.optimizer.clip_norm is not None],
            "prior_mode": cell.initializer.prior_mode(),
        }
    )


def _class_name(task: object) -> str:
    return f"{type(task).__module__}.{type(task).__qualname__}"


def _digest(value: dict[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:24]
