"""A cell's trace: every tensor operation of its own loss, gradient and observation, as one text.

Two cells may share a program only if their traces are the same. The trace is made by the dispatcher, not from the
model's attributes: whatever a model holds (hooks, closures, lists, unregistered tensors) shows in the operations it
runs, and a tensor that is neither a parameter, a buffer nor the batch shows as a constant with a digest of its bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from benchmark.errors import PluginError
from benchmark.task import Task

TF32 = 2.0**-11
"""Relative spacing of the numbers in which a GPU may take float32 convolutions."""

AS_NUMBERS = (
    "the model, `loss` or `observe` turns a tensor into a Python number ({}), "
    "which a program would keep as it was at first; stay with tensors, `torch.where(condition, a, b)`"
)


@dataclass(frozen=True)
class Trace:
    """What `record` found."""

    text: str
    """Equal for models that one program can stand for."""
    types: frozenset[torch.dtype]
    """Floating point types that occur."""
    convolves: bool
    draws: tuple[str, ...]
    """Operations that draw from a generator of the model's own."""

    def epsilon(self, device: str) -> float:
        """Relative spacing of the least precise numbers that occur."""
        found = [torch.finfo(kind).eps for kind in self.types]
        return max([*found, TF32 if self.convolves and device != "cpu" else 0.0])


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Writes down each operation with what it is given; tensors are numbered as they are made."""

    def __init__(self, known: Mapping[str, Tensor], held: Mapping[int, str]) -> None:
        """`known`: what a program is given, by name. `held`: address of a storage that no constant may share → name."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._held = held
        self._names: dict[Any, str] = {}
        self._alive: list[Tensor] = []  # so that no address is used twice
        self._digest = hashlib.sha256()
        self.count = 0
        self.types: set[torch.dtype] = set()
        self.convolves = False
        self.draws: list[str] = []
        for name, tensor in known.items():
            self._name(tensor, name)

    def text(self) -> str:
        """Equal for equal traces."""
        return f"{self.count}:{self._digest.hexdigest()}"

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        self._digest.update(f"{func}({self.told(args)},{self.told(kwargs)})\n".encode())
        if func is torch.ops.aten._local_scalar_dense.default and not self.is_constant(args[0]):
            raise PluginError(AS_NUMBERS.format("`if tensor`, `.item()`, `float`"))
        self.convolves |= "convolution" in func.__name__
        if any(isinstance(value, torch.Generator) for value in (*args, *kwargs.values())):
            self.draws.append(f"a generator of its own ({func.__name__.partition('.')[0]})")
        result = func(*args, **kwargs)
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, Tensor):
                self.count += 1
                self._name(tensor, f"%{self.count}")
                if tensor.is_floating_point():
                    self.types.add(tensor.dtype)
        return result

    def is_constant(self, tensor: Tensor) -> bool:
        """Whether nothing that a program is given has gone into a tensor, as far as its name tells."""
        return self._names.get(_place(tensor), "constant").startswith("constant")

    def _name(self, tensor: Tensor, name: str) -> None:
        self._names[_place(tensor)] = name
        self._alive.append(tensor)

    def told(self, value: Any) -> str:
        if isinstance(value, Tensor):
            return self._names.get(_place(value)) or self._constant(value)
        if isinstance(value, tuple | list):
            return f"[{','.join(map(self.told, value))}]"
        if isinstance(value, Mapping):
            return f"{{{','.join(f'{key}={self.told(item)}' for key, item in value.items())}}}"
        return repr(value)

    def _constant(self, tensor: Tensor) -> str:
        if tensor.layout == torch.strided and (holder := self._held.get(tensor.untyped_storage().data_ptr())):
            raise PluginError(
                f"a hook, closure or attribute holds the tensor of {holder} itself, which a stack replaces by its own; "
                "read it from the module (a hook is given its module) instead of keeping it"
            )
        name = f"constant {constant_digest(tensor)}"
        self._name(tensor, name)
        return name


class Unread(TorchFunctionMode):
    """Refuses what reads a tensor's numbers past the dispatcher: nothing of it would show in the trace."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.tolist and not self._recorder.is_constant(args[0]):
            raise PluginError(AS_NUMBERS.format("`.tolist()`"))
        return func(*args, **(kwargs or {}))


def constant_digest(tensor: Tensor) -> str:
    """Type, shape and content of a tensor."""
    dense = tensor.detach().cpu().resolve_conj().resolve_neg().to_dense().contiguous()
    content = hashlib.sha256(dense.reshape(-1).view(torch.uint8).numpy().tobytes()).hexdigest()[:16]
    return f"{tensor.dtype}{tuple(tensor.shape)}{content}"


def _place(tensor: Tensor) -> Any:
    if tensor.layout != torch.strided:
        return id(tensor)
    return tensor.untyped_storage()._cdata, tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype


def record(model: torch.nn.Module, task: Task, batch: tuple[Tensor, Tensor], scored: tuple[Tensor, Tensor]) -> Trace:
    """The trace of a model on a batch as it is trained on, and on examples as they are scored.

    Parameters and buffers are replaced by copies, as in a program. Raises what the model, the loss or `observe` raises,
    and PluginError when something beside the model holds one of its tensors.
    """
    held = {}
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        held[tensor.untyped_storage().data_ptr()] = name
    recorders, results = [], []
    for training, (inputs, targets) in ((True, batch), (False, scored)):
        model.train(training)
        parameters = {n: p.detach().clone().requires_grad_() for n, p in model.named_parameters()}
        tensors = {**parameters, **{n: b.clone() for n, b in model.named_buffers()}}
        recorder = Recorder({**tensors, ":inputs": inputs, ":targets": targets}, held)
        with torch.set_grad_enabled(training), Unread(recorder), recorder:
            outputs = functional_call(model, tensors, (inputs,))
            made = _gradients(task.loss(outputs, targets), parameters) if training else task.observe(outputs, targets)
        results.append({name: recorder.told(value) for name, value in made.items()})
        recorders.append(recorder)
    return Trace(
        text="\n".join(f"{recorder.text()}{result}" for recorder, result in zip(recorders, results, strict=True)),
        types=frozenset().union(*(recorder.types for recorder in recorders)),
        convolves=any(recorder.convolves for recorder in recorders),
        draws=tuple(draw for recorder in recorders for draw in recorder.draws),
    )


def _gradients(loss: Tensor, parameters: Mapping[str, Tensor]) -> dict[str, Tensor | None]:
    if loss.ndim:
        raise PluginError(
            f"loss must return a scalar, the mean over the batch; found a tensor of shape {tuple(loss.shape)} "
            "(`.mean()` makes one of a loss per example)"
        )
    if not loss.requires_grad:
        return {}
    return dict(zip(parameters, torch.autograd.grad(loss, list(parameters.values()), allow_unused=True), strict=True))
