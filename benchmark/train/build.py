"""From cells to initialised models: each built and started under its own seed, failures kept apart."""

from __future__ import annotations

import traceback
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch
from torch.nn.parameter import is_lazy

from benchmark.cell import Cell
from benchmark.errors import PluginError
from benchmark.identity import stream
from benchmark.initializer import Context
from benchmark.nn.attention import set_prior_mode
from benchmark.train import state
from benchmark.train.reference import Reference, refer
from benchmark.train.trace import constant_digest
from benchmark.train.world import world


@dataclass(frozen=True)
class Built:
    """A cell with its model as the initialiser left it, and what that gives by itself."""

    cell: Cell
    model: torch.nn.Module
    reference: Reference


def build(cell: Cell) -> torch.nn.Module:
    """The cell's model at step 0; raises what the task or the initialiser raises, ValueError on non-finite weights."""
    model = _bare(cell)
    first, second = _held(model), _held(_bare(cell))
    if moved := state.changed(first, second):
        raise PluginError(
            f"build_model gives another model when it is called again for the same seed: {moved[0]} was "
            f"{first.get(moved[0])}, then {second[moved[0]]}; let it depend on the task's parameters and the seeded "
            "generators alone, not on what the process did before"
        )
    set_prior_mode(model, cell.initializer.prior_mode())
    context = Context(cell.task, cell.seed, torch.Generator().manual_seed(stream(cell.seed, "initializer")))
    with world(cell.seed, "apply", f"initialiser {cell.initializer_name!r}"), torch.no_grad():
        returned: object = cell.initializer.apply(model, context)
    if returned is not None:
        raise PluginError(
            f"apply of initialiser {cell.initializer_name!r} returned {type(returned).__name__}, which nothing uses; "
            "change the model it is given in place and return nothing"
        )
    for name, parameter in model.named_parameters():
        if is_lazy(parameter) or parameter.is_meta:
            raise PluginError(
                f"parameter {name!r} holds no numbers yet (a Lazy module, the meta device); give every module its sizes"
            )
        if not torch.isfinite(parameter).all():
            raise ValueError(f"initialiser {cell.initializer_name!r} left non-finite values in parameter {name!r}")
    return model


def _bare(cell: Cell) -> torch.nn.Module:
    """The model as the task makes it."""
    with world(cell.seed, "model", f"build_model of task {cell.task_name!r}"):
        return cell.task.build_model()


def _held(model: torch.nn.Module) -> dict[str, object]:
    """What two models of one seed have in common: digests of parameters and buffers, and what their code reads."""
    named = (*model.named_parameters(), *model.named_buffers())
    digests = {name: constant_digest(one) for name, one in named if not (is_lazy(one) or one.is_meta)}
    read = state.model_state(model, {}).items()
    return {**digests, **{name: value for name, value in read if not isinstance(value, state.Tensors)}}


def build_all(cells: Sequence[Cell], device: str = "cpu") -> tuple[list[Built], dict[str, str]]:
    """Models of the cells that can be built and run by themselves, and the traceback by id of those that cannot."""
    built: list[Built] = []
    errors: dict[str, str] = {}
    for cell in cells:
        try:
            model = build(cell)
            built.append(Built(cell, model, refer(cell, model, device)))
        except Exception:
            errors[cell.id] = traceback.format_exc()
    return built, errors


def by_trace(built: Sequence[Built]) -> list[list[Built]]:
    """Groups of cells that one program can run; one group unless an initialiser changes what the model computes."""
    groups: dict[Hashable, list[Built]] = {}
    for item in built:
        groups.setdefault(item.reference.key, []).append(item)
    return list(groups.values())
