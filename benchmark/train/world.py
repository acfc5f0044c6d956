"""One random world per cell, in a process that every plugin leaves as it found it.

Whatever a family does runs inside `world`: torch's, numpy's and Python's generators start from the cell's own stream,
and what the process shares is put back afterwards. A change on which numbers depend is refused by name: the cell that
made it would have had other numbers than its neighbours, or given them its own.
"""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Iterator, Sequence
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


ENVIRONMENT: dict[bytes, bytes] = vars(os.environ)["_data"]
"""What `os.environ` keeps; to decode all of it at every look would be most of what a look costs."""


def _set_environment(values: dict[bytes, bytes]) -> None:
    for name in ENVIRONMENT.keys() - values.keys():
        del os.environb[name]
    os.environb.update(values)


HOOKS = [v for name, v in vars(module_hooks).items() if name.startswith("_global_") and isinstance(v, dict)]


def _set_global_hooks(hooks: list[dict[Any, Any]]) -> None:
    for found, values in zip(HOOKS, hooks, strict=True):
        found.clear()
        found.update(values)


FLAGS: list[tuple[Any, str]] = [
    (module, flag)
    for name, module in [*sys.modules.items()]
    if name.startswith("torch.backends") and isinstance(module, torch.backends.PropModule)
    for flag, kind in vars(type(module)).items()
    if isinstance(kind, torch.backends.ContextProp)
]
"""Every flag of `torch.backends`, all of which torch imports: its module and name."""


def _set_backend_flags(values: dict[tuple[Any, str], Any]) -> None:
    for (module, flag), value in values.items():
        if getattr(module, flag) != value:
            setattr(module, flag, value)


def _flushes_denormals(small: float = 1e-300) -> bool:
    """Torch does not tell, so a number below the smallest normal one is made."""
    return small * 1e-20 == 0


class Functions:
    """Torch's own functions and its modules' methods, which must stay as torch ships them."""

    def __init__(self) -> None:
        kinds = [kind for kind in vars(torch.nn.modules).values() if isinstance(kind, type)]
        self._owners: list[Any] = [torch, torch.nn.functional, torch.nn.init, torch.Tensor, *kinds]
        self._shipped = [dict(vars(owner)) for owner in self._owners]

    @contextmanager
    def kept(self, who: str) -> Iterator[None]:
        """Raise PluginError when the block, in which `who` is called, replaces one; it is put back."""
        self.put_back()  # a plugin may have replaced them as it was imported, which is no cell's doing
        try:
            yield
        finally:
            replaced = self.put_back()
        refuse(who, replaced)

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


FUNCTIONS = Functions()

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
    Shared("a flag of torch.backends", lambda: {at: getattr(*at) for at in FLAGS}, _set_backend_flags, refused=True),
    Shared("flushing of denormal numbers", _flushes_denormals, torch.set_flush_denormal, refused=True),
    Shared("anomaly detection", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly, refused=True),
    Shared("hooks on every module", lambda: [{**each} for each in HOOKS], _set_global_hooks, refused=True),
    Shared("deterministic algorithms", torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
    Shared("torch.set_grad_enabled", torch.is_grad_enabled, lambda on: torch._C._set_grad_enabled(on)),
    Shared("torch's number of threads", torch.get_num_threads, torch.set_num_threads),
    Shared("numpy's error handling", np.geterr, lambda kinds: np.seterr(**kinds)),
    Shared("the current folder", os.getcwd, os.chdir),
    Shared("the environment", ENVIRONMENT.copy, _set_environment),
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
    with FUNCTIONS.kept(who), own(seed, name, who):
        yield


@contextmanager
def own(seed: int, name: str, who: str) -> Iterator[None]:
    """`world` for one of many calls within `FUNCTIONS.kept`: to look at all functions takes longer than a short call.

    Raises:
        PluginError: it changed something shared on which numbers depend, which has been put back.
    """
    before = [one.read() for one in SHARED]
    seed_everything(seed, name)
    try:
        yield
    finally:
        found = [one.read() for one in SHARED]
        changed = [(o, b, f) for o, b, f in zip(SHARED, before, found, strict=True) if b != f]
        for one, value, _ in changed:
            one.write(value)
    refuse(who, [_told(*change) for change in changed if change[0].refused])


def refuse(who: str, changes: Sequence[str]) -> None:
    """Raise PluginError when there are changes."""
    if changes:
        raise PluginError(
            f"{who} {', '.join(changes[:3])}: all cells of a process share it, so none may change it. "
            "Change the model or the tensors instead (`.to(dtype)`, `dtype=...`, a hook on one module)"
        )


def _told(one: Shared, before: Any, found: Any) -> str:
    values = "" if isinstance(before, dict | list) else f" from {before} to {found}"
    return f"changed {one.name}{values}"
