"""How a stack is executed: alone, compiled, stacked, or both. No torch here: the command line reads modes."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from dataclasses import dataclass

from benchmark.errors import UsageError

_FORM = re.compile(r"(alone|compiled|stack|compiled-stack)(?::([1-9][0-9]*))?")


@dataclass(frozen=True)
class Mode:
    """`stack_size` cells share one program; the program is compiled or run operation by operation."""

    compiled: bool
    stack_size: int

    @property
    def name(self) -> str:
        """`alone`, `compiled`, `stack:8`, `compiled-stack:8`: what `parse` reads."""
        if self.stack_size == 1:
            return "compiled" if self.compiled else "alone"
        return f"{'compiled-' if self.compiled else ''}stack:{self.stack_size}"

    @classmethod
    def parse(cls, text: str) -> Mode:
        """Raises UsageError when the text is none of the forms; `auto` is the caller's."""
        match = _FORM.fullmatch(text)
        kind, size = match.groups() if match else ("", None)
        if not match or ("stack" in kind) != (size is not None):
            raise UsageError(
                f"execution must be auto, alone, compiled, stack:N or compiled-stack:N (N ≥ 1); found {text!r}"
            )
        return cls(compiled=kind.startswith("compiled"), stack_size=int(size or 1))

    def __str__(self) -> str:
        return self.name


def no_compiler(device: str) -> str:
    """Why programs for a device cannot be compiled here; empty when they can, as far as can be told without torch."""
    if device != "cpu":
        return "" if importlib.util.find_spec("triton") else "triton is not installed"
    compiler = os.environ.get("CXX", "g++")
    return "" if shutil.which(compiler) else f"there is no C++ compiler ({compiler})"


ALONE = Mode(compiled=False, stack_size=1)
