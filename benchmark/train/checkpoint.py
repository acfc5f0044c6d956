"""The state of a stack in training as a file, and when it is written: by time, and when training is told to end.

Everything a step reads is in it: parameters, their average, moments, buffers that training writes to, where the random
generators stand, the curve so far, and the outcomes of cells of the stack that ended before. Shuffles are not: they are
drawn anew from the seed up to the step, which costs less than the training did and keeps the file small.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from torch import Tensor

from benchmark.store import checkpoints
from benchmark.store.checkpoints import Stage
from benchmark.store.layout import Layout

SHARE = 20
"""A state is written at most so rarely that training takes this many times as long as writing it."""
WORTH_SECONDS = 10.0
"""Training so short is not kept when it is told to end; starting a process again takes about as long."""


class HaltedError(Exception):
    """Training was told to end, and its state is kept."""


@dataclass(frozen=True)
class Position:
    """How far the cells now in training are."""

    cells: tuple[str, ...] = ()
    own: bool = False
    """Whether they are trained by a program of their own."""
    start: int = 0
    """First step of the batches in hand, which are drawn many steps at once."""
    step: int = 0
    """Steps done."""
    seconds: float = 0.0
    """Spent on them so far."""
    trajectories: tuple[Any, ...] = ()
    """What each has shown; plain values where they were read."""


@dataclass(frozen=True)
class _State:
    position: Position
    ended: tuple[Any, ...] = ()
    """Outcomes of cells of the stack that have ended; plain values where they were read."""


class Checkpoints:
    """Keeps the state of one stack in a store, and gives back what an earlier process kept there."""

    def __init__(self, layout: Layout, key: str, stage: Stage, interval: float) -> None:
        """`interval`: seconds between two states. `stage` says what is trained."""
        self._layout, self._key, self._interval = layout, key, interval
        self.stage = stage
        self.note = ""
        """What the user should know."""
        self.told = ""
        """Of the newest state: where, size and time."""
        self.ended: dict[str, Any] = {}
        self._position, self._tensors = Position(), dict[str, Tensor]()
        self._halting = threading.Event()
        self._since = self._seen = 0.0
        self._wait = interval
        self._load()

    def _load(self) -> None:
        if (found := checkpoints.find(self._layout, self._key)) is None:
            return
        try:
            if not found.whole:
                raise ValueError("its content has changed since it was written")
            state, self._tensors = _read(found.path)
        except (OSError, ValueError) as error:
            self.note = f"the checkpoint at {found.stage.words} is left out: {error}"
            return
        self._position, self.stage = state.position, found.stage
        self.ended = {outcome["cell_id"]: outcome for outcome in state.ended}

    def resumed(self, begun: Position, own: Mapping[str, Tensor]) -> tuple[Position, Mapping[str, Tensor]] | None:
        """Where the cells of `begun` were left, and the values of the tensors `own` there; None when they begin."""
        position, tensors = self._position, self._tensors
        if not position.step or (position.cells, position.own) != (begun.cells, begun.own):
            return None
        self._position, self._tensors = Position(), {}
        if unlike := [name for name, tensor in own.items() if _kind(tensor) != _kind(tensors.get(name))]:
            self.note = f"the checkpoint at {self.stage.words} is left out: its {', '.join(unlike)} do not fit"
            return None
        return position, tensors

    def due(self) -> bool:
        """Whether the state is to be kept now; asked after every step."""
        self._seen = time.monotonic()
        self._since = self._since or self._seen
        return self._seen - self._since >= self._wait or self._halting.is_set()

    def halt(self) -> bool:
        """Have the state kept after the step in hand, and training end; False when that is not worth it."""
        if self._since and self._seen - self._since >= min(WORTH_SECONDS, self._interval):
            self._halting.set()
        return self._halting.is_set()

    def keep(self, position: Position, tensors: Mapping[str, Tensor], total: int) -> None:
        """Write the state; a disk that does not take it costs the state, not the training.

        Raises HaltedError when training was told to end.
        """
        began = time.monotonic()
        self.stage = replace(self.stage, step=position.step, steps_planned=total, cells_done=len(self.ended))
        state = json.dumps(_State(position, tuple(self.ended.values())), default=asdict).encode()
        arrays = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        arrays["state"] = torch.frombuffer(bytearray(state), dtype=torch.uint8)
        try:
            kept = checkpoints.keep(self._layout, self._key, self.stage, partial(_write, arrays))
            self._tell(kept.path.stat().st_size, time.monotonic() - began)
        except OSError as error:
            self.note = f"no checkpoint could be written: {error.strerror or error}"
        self._wait = max(self._interval, SHARE * (time.monotonic() - began))
        self._since = 0.0
        if self._halting.is_set():
            raise HaltedError

    def _tell(self, size: int, seconds: float) -> None:
        self.told = f"step {self.stage.step:,}, {size / 1e6:.1f} MB in {seconds:.2f} s"

    def discard(self) -> None:
        """The stack has ended."""
        checkpoints.discard(self._layout, self._key)


def _kind(tensor: Tensor | None) -> Any:
    return tensor is not None and (tensor.shape, tensor.dtype)


def _write(arrays: dict[str, Tensor], path: Path, header: dict[str, str]) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file(arrays, path, header)
    except SafetensorError as error:
        raise OSError(str(error)) from None


def _read(path: Path) -> tuple[_State, dict[str, Tensor]]:
    """Raises OSError, ValueError."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        arrays = load_file(path)
        text = arrays.pop("state").numpy().tobytes()
    except (SafetensorError, KeyError) as error:
        raise ValueError(f"it is none of this program's ({error})") from None
    return TypeAdapter(_State).validate_json(text), arrays
