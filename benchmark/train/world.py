"""One random world per cell, in a process that every plugin leaves as it found it.

Whatever a family does runs inside `world`: torch's, numpy's and Python's generators start from the cell's own stream,
and what the process shares is put back afterwards. A change on which numbers depend is refused by name: the cell that
made it would have had other numbers than its neighbours, or given them its own.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.modules import module as module_hooks

from benchmark.errors import PluginError
from benchmark.identity import stream


@dataclass(frozen=True)
class Shared:
    """One thing that all cells of a process share."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], Any]
    refused: bool = False
    """Whether numbers depend on it, so that a change fails the cell; otherwise it is put back without a word."""


def _set_device(device: torch.device) -> None:
    torch.set_default_device(None if device == torch.device("cpu") else device)


def _set_environment(values: dict[str, str]) -> None:
    for name in os.environ.keys() - values.keys():
        del os.environ[name]
    os.environ.update(values)


def _global_hooks() -> dict[str, dict[Any, Any]]:
    return {
        name: dict(v) for name, v in vars(module_hooks).items() if name.startswith("_global_") and isinstance(v, dict)
    }


def _set_global_hooks(hooks: dict[str, dict[Any, Any]]) -> None:
    for name, values in hooks.items():
        found = getattr(module_hooks, name)
        found.clear()
        found.update(values)


def _backend_flags() -> dict[tuple[str, str], Any]:
    """Every flag of `torch.backends` that has been imported, by module and name."""
    return {
        (name, flag): getattr(module, flag)
        for name, module in list(sys.modules.items())
        if name.startswith("torch.backends") and isinstance(module, torch.backends.PropModule)
        for flag, kind in vars(type(module)).items()
        if isinstance(kind, torch.backends.ContextProp)
    }


def _set_backend_flags(values: dict[tuple[str, str], Any]) -> None:
    for (name, flag), value in _backend_flags().items():
        if (wanted := values.get((name, flag), value)) != value:
            setattr(sys.modules[name], flag, wanted)


def _flushes_denormals() -> bool:
    """Torch does not tell, so a number below the smallest normal one is made."""
    return bool((torch.full((1,), 1e-30, dtype=torch.float32) * 1e-12) == 0)


class Functions:
    """Torch's own functions and its modules' methods, which must stay as torch ships them."""

    def __init__(self) -> None:
        kinds = [kind for kind in vars(torch.nn.modules).values() if isinstance(kind, type)]
        self._owners: list[Any] = [torch, torch.nn.functional, torch.nn.init, torch.Tensor, *kinds]
        self._shipped = [dict(vars(owner)) for owner in self._owners]

    def put_back(self) -> list[str]:
        """Restore what was replaced, and name it; what torch adds itself when it is first used is noted."""
        replaced = []
        for i, (owner, shipped) in enumerate(zip(self._owners, self._shipped, strict=True)):
            if vars(owner) == shipped:  # compares by identity first: microseconds
                continue
            for name, value in shipped.items():
                if (found := vars(owner).get(name)) is not value and not _by_torch(found):
                    setattr(owner, name, value)
                    replaced.append(f"replaced {owner.__name__}.{name}")
            self._shipped[i] = dict(vars(owner))
        return replaced


_COMPILER = tuple(str(Path(torch.__file__).with_name(name)) for name in ("_dynamo", "_compile.py"))


def _by_torch(found: Any) -> bool:
    """Whether torch has replaced a function itself, as its compiler does when it is imported or first used."""
    code = getattr(found, "__code__", None)
    return code is not None and code.co_filename.startswith(_COMPILER)


_functions = Functions()

SHARED = (
    Shared("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype, refused=True),
    Shared("torch's default device", torch.get_default_device, _set_device, refused=True),
    Shared("float32 matmul precision", torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, True),
    Shared(
        "autocast on the CPU",
        lambda: torch.is_autocast_enabled("cpu"),
        lambda on: torch.set_autocast_enabled("cpu", on),
        refused=True,
    ),
    Shared("a flag of torch.backends", _backend_flags, _set_backend_flags, refused=True),
    Shared("flushing of denormal numbers", _flushes_denormals, torch.set_flush_denormal, refused=True),
    Shared("anomaly detection", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly, refused=True),
    Shared("hooks on every module", _global_hooks, _set_global_hooks, refused=True),
    Shared("deterministic algorithms", torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    Shared("torch.set_grad_enabled", torch.is_grad_enabled, lambda on: torch._C._set_grad_enabled(on)),
    Shared("torch's number of threads", torch.get_num_threads, torch.set_num_threads),
    Shared("numpy's error handling", np.geterr, lambda kinds: np.seterr(**kinds)),
    Shared("the current folder", os.getcwd, os.chdir),
    Shared("the environment", lambda: dict(os.environ), _set_environment),
)  # fmt: skip


def seed_everything(seed: int, name: str) -> None:
    """Start torch's, numpy's and Python's global generators from a stream of the seed."""
    start = stream(seed, name)
    torch.default_generator.manual_seed(start)
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed_all(start)
    np.random.seed(start & 0xFFFFFFFF)
    random.seed(start)


@contextmanager
def world(seed: int, name: str, who: str) -> Iterator[None]:
    """Run what a plugin wrote: `name` is its random stream, `who` its name in errors.

    Raises:
        PluginError: it changed something shared on which numbers depend, which has been put back.
    """
    _functions.put_back()  # a plugin may have replaced them as it was imported, which is no cell's doing
    before = [one.read() for one in SHARED]
    seed_everything(seed, name)
    try:
        yield
    finally:
        found = [one.read() for one in SHARED]
        changed = [(o, b, f) for o, b, f in zip(SHARED, before, found, strict=True) if b != f]
        for one, value, _ in changed:
            one.write(value)
        replaced = _functions.put_back()
    changes = [_told(*change) for change in changed if change[0].refused] + replaced
    if changes:
        raise PluginError(
            f"{who} {', '.join(changes[:3])}: all cells of a process share it, so none may change it. "
            "Change the model or the tensors instead (`.to(dtype)`, `dtype=...`, a hook on one module)"
        )


def _told(one: Shared, before: Any, found: Any) -> str:
    values = "" if isinstance(before, dict) else f" from {before} to {found}"
    return f"changed {one.name}{values}"
