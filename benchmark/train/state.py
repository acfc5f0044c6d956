"""What plugin code keeps from one call to the next, as far as Python shows it: attributes, closures, globals.

A program is traced once, so what a model counts, stores or draws while it runs would stand still. Nothing here decides
which cells share a program (their traces do); it names what changed.
"""

from __future__ import annotations

import hashlib
import random
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_MOST = 1000
"""Elements of one container that are looked at."""
_DEPTH = 6
_MODULE_OWN = frozenset(vars(nn.Module())) - {"_forward_hooks", "_forward_pre_hooks"}


class Tensors:
    """Which tensor an attribute holds, and how often it was written to."""

    def __init__(self, tensor: Tensor) -> None:
        self._found = (id(tensor), 0 if tensor.is_inference() else tensor._version)
        self._kept = tensor  # or another could get its id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tensors) and self._found == other._found

    __hash__ = None  # type: ignore[assignment]


def generator_state(value: Any) -> Any:
    """Where a random generator stands; None for anything else."""
    if isinstance(value, torch.Generator):
        return value.get_state().numpy().tobytes()
    if isinstance(value, random.Random):
        return value.getstate()
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    return repr(value.get_state(legacy=False)) if isinstance(value, np.random.RandomState) else None


class Walk:
    """Everything that is reachable from some roots, by its dotted name."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {}
        self._seen: dict[int, Any] = {}

    def visit(self, name: str, value: Any, depth: int = 0) -> None:
        """Note a value, or what it holds."""
        if isinstance(value, _PLAIN):
            self.found[name] = repr(value) if isinstance(value, float) else value  # a NaN that stays is no change
        elif (state := generator_state(value)) is not None:
            self.found[name] = state
        elif isinstance(value, Tensor):
            self.found[name] = Tensors(value)
        elif depth < _DEPTH and id(value) not in self._seen:
            self._seen[id(value)] = value
            self._inside(name, value, depth + 1)

    def _inside(self, name: str, value: Any, depth: int) -> None:
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            self.visit(name, value.ravel().tolist(), depth)
        elif isinstance(value, np.ndarray):
            self.found[name] = hashlib.sha256(np.ascontiguousarray(value).view(np.uint8).data).digest()
        elif isinstance(value, FunctionType | MethodType | partial):
            self._function(name, value, depth)
        elif isinstance(value, nn.Module):
            self.module(name, value, depth)
        elif isinstance(value, Mapping):
            self.found[name] = len(value)
            for key, item in list(value.items())[:_MOST]:
                self.visit(f"{name}[{key!r}]", item, depth)
        elif isinstance(value, list | tuple | set | frozenset | deque):
            self.found[name] = len(value)
            for i, item in enumerate(list(value)[:_MOST]):
                self.visit(f"{name}[{i}]", item, depth)
        elif hasattr(value, "__dict__") and not isinstance(value, type) and not _of_a_library(type(value).__module__):
            for key, item in list(vars(value).items()):
                self.visit(f"{name}.{key}", item, depth)

    def module(self, name: str, module: nn.Module, depth: int = 0) -> None:
        """A module's own attributes, hooks and forward, without its parameters, buffers and parts."""
        for key, item in list(vars(module).items()):
            if key not in _MODULE_OWN:
                self.visit(f"{name}.{key}".lstrip("."), item, depth)
        if not _of_a_library(type(module).__module__):
            self.visit(f"{name}.forward".lstrip("."), type(module).forward, depth)

    def _function(self, name: str, function: Any, depth: int) -> None:
        if isinstance(function, partial):
            for part in (function.func, function.args, function.keywords):
                self.visit(name, part, depth)
            return
        if isinstance(function, MethodType):
            self.visit(name, function.__self__, depth)
            function = function.__func__
        if not isinstance(function, FunctionType) or _of_a_library(function.__module__):
            return
        for variable, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                self.visit(f"{name}: {variable}", cell.cell_contents, depth)
            except ValueError:  # not filled yet
                continue
        self.visit(f"{name}: defaults", function.__defaults__, depth)
        for variable in function.__code__.co_names:
            if variable in function.__globals__:
                self.visit(f"{function.__module__}.{variable}", function.__globals__[variable], depth)


def _of_a_library(module: str | None) -> bool:
    return (module or "").partition(".")[0] in {"torch", "numpy", "benchmark", "random", "builtins", "math"}


def model_state(model: nn.Module, functions: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """The state of a model and of functions that run with it, by name."""
    walk = Walk()
    for name, module in model.named_modules():
        walk._seen[id(module)] = module
        walk.module(name, module)
    for name, function in functions.items():
        walk.visit(name, function)
    return walk.found


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Names that hold something else, or are new."""
    return [name for name, value in after.items() if name not in before or before[name] != value]
