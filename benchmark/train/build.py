"""From cells to initialised models: each built and started under its own seed, failures kept apart."""

from __future__ import annotations

import traceback
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch

from benchmark.cell import Cell
from benchmark.identity import stream
from benchmark.initializer import Context
from benchmark.nn.attention import set_prior_mode


@dataclass(frozen=True)
class Built:
    """A cell with its model as the initialiser left it."""

    cell: Cell
    model: torch.nn.Module


def build(cell: Cell) -> torch.nn.Module:
    """The cell's model at step 0; raises what the task or the initialiser raises, ValueError on non-finite weights."""
    torch.manual_seed(stream(cell.seed, "model"))
    model = cell.task.build_model()
    set_prior_mode(model, cell.initializer.prior_mode())
    context = Context(cell.task, cell.seed, torch.Generator().manual_seed(stream(cell.seed, "initializer")))
    with torch.no_grad():
        cell.initializer.apply(model, context)
    for name, parameter in model.named_parameters():
        if not torch.isfinite(parameter).all():
            raise ValueError(f"initialiser {cell.initializer_name!r} left non-finite values in parameter {name!r}")
    return model


def build_all(cells: Sequence[Cell]) -> tuple[list[Built], dict[str, str]]:
    """Models of the cells that can be built, and the traceback by id of those that cannot."""
    built: list[Built] = []
    errors: dict[str, str] = {}
    for cell in cells:
        try:
            built.append(Built(cell, build(cell)))
        except Exception:
            errors[cell.id] = traceback.format_exc()
    return built, errors


def structure(model: torch.nn.Module) -> Hashable:
    """Equal for models that one program can run: modules, their plain attributes, shapes and dtypes of all tensors."""
    modules = tuple(
        (name, f"{type(module).__module__}.{type(module).__qualname__}", _attributes(module))
        for name, module in model.named_modules()
    )
    tensors = tuple(
        (name, tuple(tensor.shape), str(tensor.dtype))
        for name, tensor in (*model.named_parameters(), *model.named_buffers())
    )
    return modules, tensors


def _attributes(module: torch.nn.Module) -> tuple[tuple[str, str], ...]:
    plain = (bool, int, float, str, tuple, type(None), torch.dtype)
    items = vars(module).items()
    return tuple(sorted((k, repr(v)) for k, v in items if not k.startswith("_") and isinstance(v, plain)))


def by_structure(built: Sequence[Built]) -> list[list[Built]]:
    """Groups of cells whose models one program can run; one group unless an initialiser changes the architecture."""
    groups: dict[Hashable, list[Built]] = {}
    for item in built:
        groups.setdefault(structure(item.model), []).append(item)
    return list(groups.values())
