"""What an initialiser encodes: the task's pattern, another one in its place, or one with mistakes in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError

from benchmark.identity import stream
from benchmark.initializer import Initializer
from benchmark.parameters import Parameters

if TYPE_CHECKING:
    import torch

    from benchmark.task import Geometry, Patterned, Task


class OtherPattern(Parameters):
    """Another pattern than the task's: a prior that is wrong in a known way. Applied in the order of the fields."""

    interaction: dict[str, Any] = Field(default_factory=dict)
    """Fields of the task's `interaction` that differ: another pattern of its family."""
    offset: int = 0
    """Key j + offset (cyclically) is open where the task opens j: misaligned, with as many open entries."""
    shuffle: Literal["none", "rows", "keys"] = "none"
    """`rows`: the rows in another order, the same in every layer and head; `keys`: each row opens as many keys, drawn
    for each layer and head."""
    seed: int = Field(default=0, ge=0)
    """Seed of the shuffle, apart from the cell's."""


class Mistakes(Parameters):
    """Mistakes in a pattern, drawn for each layer and head; 0 throughout is none."""

    flips: float = Field(default=0.0, ge=0, le=1)
    """Chance that an entry is turned over."""
    opens: float = Field(default=0.0, ge=0, le=1)
    """Chance that a closed entry is open."""
    closes: float = Field(default=0.0, ge=0, le=1)
    """Chance that an open entry is closed."""
    normal: float = Field(default=0.0, ge=0)
    """Standard deviation of a normal number added to every entry of the slot; for initialisers that fill the slot."""
    seed: int = Field(default=0, ge=0)
    """Seed of the mistakes, apart from the cell's: all seeds of an arm make the same ones."""


def _absent(value: object) -> bool:
    """Left out of a cell's identity while not used, so that ids stay."""
    return value is None


class EncodesPattern(Initializer):
    """An initialiser that encodes an interaction pattern, by default the task's own."""

    pattern: OtherPattern | None = Field(default=None, exclude_if=_absent)
    """Another pattern in its place; the task's own when absent."""
    mistakes: Mistakes | None = Field(default=None, exclude_if=_absent)
    """Mistakes in what is encoded; none when absent."""

    def unsupported(self, task: Task) -> str | None:
        """It needs a pattern, and where another one is asked for, one that the task's family has."""
        if not task.has_pattern():
            return "the task has no interaction pattern"
        try:
            self.encoded(task)
        except ValueError as error:
            return f"the task has no such pattern: {error}"
        return None

    def encoded(self, task: Task) -> Patterned:
        """The task as far as its pattern goes, with what is encoded instead.

        Raises:
            ValueError: the task's family has no such pattern.
        """
        if self.pattern is None and self.mistakes is None:
            return task
        other = self.pattern or OtherPattern()
        return Encoded(with_interaction(task, other.interaction), other, self.mistakes or Mistakes())


@dataclass(frozen=True)
class Encoded:
    """A task's pattern after a change and with mistakes."""

    task: Task
    other: OtherPattern
    noise: Mistakes

    def geometry(self) -> Geometry:
        """The task's."""
        return self.task.geometry()

    def pattern(self, layer: int, head: int) -> torch.Tensor | None:
        """Bool (N, N), True = open."""
        found = self.task.pattern(layer, head)
        if found is None:
            return None
        return self._mistaken(self._shuffled(found.roll(self.other.offset, dims=1), layer, head), layer, head)

    def _shuffled(self, pattern: torch.Tensor, layer: int, head: int) -> torch.Tensor:
        import torch

        place = f"{layer}:{head}" if self.other.shuffle == "keys" else "rows"
        generator = torch.Generator().manual_seed(stream(self.other.seed, f"pattern:{place}"))
        if self.other.shuffle == "rows":
            return pattern[torch.randperm(len(pattern), generator=generator)]
        if self.other.shuffle == "keys":
            order = torch.rand(pattern.shape, generator=generator).argsort(dim=1)
            return pattern.gather(1, order)
        return pattern

    def _mistaken(self, pattern: torch.Tensor, layer: int, head: int) -> torch.Tensor:
        import torch

        noise = self.noise
        generator = torch.Generator().manual_seed(stream(noise.seed, f"mistakes:{layer}:{head}"))
        flip, chance = torch.rand(2, *pattern.shape, generator=generator)
        turned = pattern ^ (flip < noise.flips)
        return torch.where(pattern, turned & (chance >= noise.closes), turned | (chance < noise.opens))


def with_interaction(task: Task, changes: dict[str, Any]) -> Task:
    """The task with these fields of its `interaction` changed.

    Raises:
        ValueError: it has no such field, or the pattern does not fit it.
    """
    if not changes:
        return task
    described = task.model_dump()
    if "interaction" not in described:
        raise ValueError(f"family {task.family} has no `interaction`")
    try:
        return type(task).model_validate({**described, "interaction": {**(described["interaction"] or {}), **changes}})
    except ValidationError as error:
        told = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, told['loc']))}: {told['msg']}") from None
