"""Fourier coefficients of what a model computes, on tasks over bits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol, cast

from pydantic import Field

from benchmark.parameters import Metric
from benchmark.probe import Probe
from benchmark.registry import probe

if TYPE_CHECKING:
    import torch

    from benchmark.task import Task
    from benchmark.train.moment import Moment


class OnBits(Protocol):
    """What a task over bits says of itself; its inputs are (n, bits), 0 or 1, its outputs one number."""

    bits: int
    monomials: tuple[tuple[int, ...], ...]


@probe("fourier")
class Fourier(Probe):
    """f̂(S) = E[f(x) Π_{i∈S} x_i], x_i = ±1, of the task's monomials and of others.

    The coefficient itself where the examples are the whole cube; on n of its points an estimate, with a standard error
    of at most RMS(f)/√n.
    """

    looks_inside = False
    examples: int = Field(default=4096, gt=0)
    """Examples it looks at: the same ones at every step, drawn once from those the curve is measured on."""
    monomials: tuple[tuple[int, ...], ...] = ()
    """Monomials beside the task's, a wrong pair for example."""

    def unsupported(self, task: Task) -> str | None:
        """It needs a task over bits."""
        bits = getattr(task, "bits", None)
        if not isinstance(bits, int) or not hasattr(task, "monomials"):
            return "the task is not over bits"
        if outside := [bit for monomial in self.monomials for bit in monomial if not 0 <= bit < bits]:
            return f"the task has bits 0 to {bits - 1}, not {outside[0]}"
        return None if self._all(task) else "the task names no monomials"

    def metrics(self, task: Task) -> tuple[Metric, ...]:
        """One for each monomial, `{0,1}` for bits 0 and 1."""
        return tuple(
            Metric(name=name, title=f"f̂({name})", direction="none", description="E[output × product of these bits]")
            for name in map(name_of, self._all(task))
        )

    def measure(self, moment: Moment) -> Mapping[str, torch.Tensor]:
        """One value each."""
        signs = 2 * moment.now.inputs.double() - 1
        outputs = moment.now.outputs.double().flatten()
        return {
            name_of(monomial): (outputs * signs[:, list(monomial)].prod(dim=1)).mean()
            for monomial in self._all(moment.cell.task)
        }

    def _all(self, task: Task) -> tuple[tuple[int, ...], ...]:
        return tuple(dict.fromkeys((*cast("OnBits", task).monomials, *self.monomials)))


def name_of(monomial: tuple[int, ...]) -> str:
    """`{0,1}`."""
    return f"{{{','.join(map(str, monomial))}}}"
