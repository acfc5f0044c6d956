"""Priors by relative position: ALiBi, the buckets of T5, the table of Swin and BEiT, the gate of ConViT."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from benchmark.initializer import Context, Initializer, ParameterRule, PriorMode
from benchmark.registry import initializer

if TYPE_CHECKING:
    import torch

    from benchmark.task import Task


@initializer("alibi")
class Alibi(Initializer):
    """Logits get −m_h · |i − j| (Press et al., arXiv 2108.12409), m_h = 2^(−8h/H) for h = 1 … H.

    Where H is no power of two, the slopes of the next lower one are followed by every second slope of the next higher
    one, as in the authors' code. A CLS token is at distance 0 of every token.
    """

    trainable: bool = False
    """Whether the bias is trained, entry by entry; published without."""

    def prior_mode(self) -> PriorMode:
        """The slot is the bias itself."""
        return "identity"

    def parameter_rules(self) -> tuple[ParameterRule, ...]:
        """One rule for every prior slot."""
        return (ParameterRule(match="*.prior", trainable=self.trainable),)

    def apply(self, model: torch.nn.Module, context: Context) -> None:
        """Fill every prior slot (H, N, N)."""
        import torch

        from benchmark.nn.attention import attentions

        extra = context.task.geometry().extra_tokens
        for attention in attentions(model):
            place = torch.arange(attention.tokens, device=attention.prior.device)
            distance = (place[:, None] - place).abs()
            distance[:extra], distance[:, :extra] = 0, 0
            slope = torch.tensor(slopes(attention.heads), device=distance.device)
            attention.prior.copy_(-slope[:, None, None] * distance)


def slopes(heads: int) -> list[float]:
    """m_h of every head."""
    lower = 2 ** int(math.log2(heads))
    found = [2 ** (-8 * h / lower) for h in range(1, lower + 1)]
    return found + [2 ** (-8 * h / (2 * lower)) for h in range(1, 2 * (heads - lower) + 1, 2)]


@initializer("relative_bias")
class RelativeBias(Initializer):
    """A trained bias per head and relation of query and key, shared by all pairs in that relation, in every layer.

    `t5`: buckets of the distance j − i (Raffel et al., arXiv 1910.10683): half of them exact, the others up to
    `max_distance` on a logarithmic scale; both signs apart unless attention is causal. `table`: one entry for each
    offset of rows and columns (Liu et al., arXiv 2103.14030), or of positions where there is no grid; CLS has none.
    """

    kind: Literal["t5", "table"] = "t5"
    """What counts as one relation."""
    buckets: int = Field(default=32, ge=4, multiple_of=2)
    """Buckets of `t5`."""
    max_distance: int = Field(default=128, gt=1)
    """Distance from which all share the last bucket of `t5`."""
    std: float = Field(default=0.02, ge=0)
    """Standard deviation of the entries at first, a normal cut at two."""

    def unsupported(self, task: Task) -> str | None:
        """The exact buckets come before the last distance."""
        exact = self.buckets // (2 if task.geometry().causal else 4)
        return None if self.max_distance > exact else f"max_distance {self.max_distance} lies among the exact buckets"

    def apply(self, model: torch.nn.Module, context: Context) -> None:
        """Give every attention a `relative` table of its own."""
        import torch

        from benchmark.nn.attention import attentions
        from benchmark.nn.positions import RelativeTable

        index = self.index(context.task)
        for attention in attentions(model):
            table = torch.empty(attention.heads, int(index.max()) + 1)
            torch.nn.init.trunc_normal_(
                table, std=self.std, a=-2 * self.std, b=2 * self.std, generator=context.generator
            )
            attention.relative = RelativeTable(table, index)

    def index(self, task: Task) -> torch.Tensor:
        """The relation of every query (row) and key, whole numbers from 0, (N, N); −1 where a CLS token is one."""
        import torch

        shape = task.geometry()
        place = torch.arange(shape.tokens)
        if self.kind == "t5":
            found = self.bucket(place - place[:, None], causal=shape.causal)
        elif shape.grid:
            rows, columns = shape.grid
            down, right = place // columns, place % columns
            found = (down - down[:, None] + rows - 1) * (2 * columns - 1) + right - right[:, None] + columns - 1
        else:
            found = place - place[:, None] + shape.tokens - 1
        return torch.nn.functional.pad(found, (shape.extra_tokens, 0, shape.extra_tokens, 0), value=-1)

    def bucket(self, distance: torch.Tensor, *, causal: bool) -> torch.Tensor:
        """The bucket of distances j − i, as huggingface/transformers computes it for T5."""
        import torch

        count = self.buckets if causal else self.buckets // 2
        side = 0 if causal else (distance > 0).long() * count
        size = (-distance).clamp_min(0) if causal else distance.abs()
        exact = count // 2
        share = torch.log(size.clamp_min(1) / exact) / math.log(self.max_distance / exact)
        far = (exact + (share * (count - exact)).long()).clamp_max(count - 1)
        return side + torch.where(size < exact, size, far)


@initializer("convit")
class ConVit(Initializer):
    """Gated positional self-attention that starts as a convolution (d'Ascoli et al., arXiv 2103.10697 §3; timm
    1.0.31:timm/models/convit.py, `local_init`).

    Head h attends to offset Δ_h: v_h = `strength` · (2 Δ_h, −1), so that positions score −`strength` |δ − Δ_h|² but for
    a constant; g = `gate`; W_V the identity. Offsets are the cells of a ⌈√H⌉ square around the query, as in timm where
    H is a square; of tokens without a grid the H places around it.
    """

    strength: float = Field(default=1.0, ge=0)
    """Locality strength; 1 in timm."""
    gate: float = 1.0
    """g of every head: σ(1) = 0.73 of the attention is positional at first."""
    value_identity: bool = True
    """Whether W_V of all heads together starts as a rectangular identity."""

    def unsupported(self, task: Task) -> str | None:
        """The published layers come before CLS is put in, and none is causal."""
        shape = task.geometry()
        if shape.extra_tokens:
            return "positions of a CLS token are not defined"
        return "attention is causal" if shape.causal else None

    def apply(self, model: torch.nn.Module, context: Context) -> None:
        """Give every attention a gate."""
        import torch

        from benchmark.nn.attention import attentions
        from benchmark.nn.positions import PositionGate

        shape = context.task.geometry()
        columns = shape.grid[1] if shape.grid else shape.tokens
        place = torch.arange(shape.tokens)
        x, y = ((at - at[:, None]).float() for at in (place % columns, place // columns))
        relations = torch.stack([x, y, x.square() + y.square()], dim=-1)
        for attention in attentions(model):
            weight = torch.tensor([[2.0 * dx, 2.0 * dy, -1.0] for dx, dy in offsets(attention.heads, bool(shape.grid))])
            attention.gate = PositionGate(self.strength * weight, relations, self.gate)
            if self.value_identity:
                torch.nn.init.eye_(attention.value.weight)


def offsets(heads: int, grid: bool) -> list[tuple[int, int]]:
    """Δ_h = (columns, rows) of every head."""
    side = math.ceil(math.sqrt(heads)) if grid else heads
    centre = (side - 1) // 2 if side % 2 == 0 else side // 2
    return [(head % side - centre, head // side - (centre if grid else 0)) for head in range(heads)]
