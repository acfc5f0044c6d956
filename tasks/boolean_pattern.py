"""Interaction patterns of the Boolean tasks: which bit may attend to which, per layer and head.

arXiv 2608.00418 Appendix E describes its patterns in words (2Parity: only x0 and x1; Majority: no off-diagonal
interaction; Cyclic3: local connections; ThreeSym: one pair per head). The matrices are not printed, so each reading is
a name here, and what is left open is a field.
"""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from benchmark.parameters import Parameters

PatternName = Literal[
    "parity_pair_off",
    "parity_pair_block",
    "block_identity",
    "maj_diag",
    "maj_block",
    "cyclic_band",
    "threesym_heads",
    "custom",
]
Entries = frozenset[tuple[int, int]]


class BooleanPattern(Parameters):
    """A named pattern over n bits."""

    name: PatternName
    """Within each group of bits: `parity_pair_off` opens every pair but not the bit itself, `parity_pair_block`,
    `block_identity` and `maj_block` the whole block, `maj_diag` the bit itself; `cyclic_band` ignores groups and opens
    i → i + offset (mod n); `threesym_heads` gives head h the block of group h alone; `custom` lists its entries."""
    groups: tuple[tuple[int, ...], ...] = ()
    """Groups of bits that belong together."""
    offsets: tuple[int, ...] = (0, 1)
    """Offsets of `cyclic_band`."""
    entries: tuple[tuple[int, int], ...] = ()
    """Open (query, key) pairs of `custom`."""
    rows_elsewhere: Literal["neutral", "identity"] = "neutral"
    """Rows the pattern says nothing about: closed everywhere, which softmax cannot tell from no prior at all, or
    attending to themselves. `block_identity` always means `identity`."""
    layers: tuple[int, ...] | None = None
    """Layers that have the pattern; all when absent."""
    heads: tuple[int, ...] | None = None
    """Heads that have the pattern; all when absent."""

    @model_validator(mode="after")
    def _check(self) -> BooleanPattern:
        needs_groups = self.name not in ("cyclic_band", "custom")
        if needs_groups and not self.groups:
            raise ValueError(f"pattern `{self.name}` needs `groups`, for example [[0, 1]]")
        if self.name == "custom" and not self.entries:
            raise ValueError("pattern `custom` needs `entries`, for example [[0, 1], [1, 0]]")
        return self

    def largest_bit(self) -> int:
        """Largest bit that is named, −1 when none is."""
        named = [bit for group in self.groups for bit in group] + [bit for entry in self.entries for bit in entry]
        return max(named, default=-1)

    def covers(self, layer: int, head: int) -> bool:
        """Whether this layer and head have the pattern at all."""
        return (self.layers is None or layer in self.layers) and (self.heads is None or head in self.heads)

    def open_entries(self, bits: int, head: int) -> Entries:
        """Open (query, key) pairs of one head."""
        named = self._named_entries(bits, head)
        if self.rows_elsewhere == "neutral" and self.name != "block_identity":
            return named
        rows = {query for query, _ in named}
        return named | {(bit, bit) for bit in range(bits) if bit not in rows}

    def _named_entries(self, bits: int, head: int) -> Entries:
        if self.name == "custom":
            return frozenset(self.entries)
        if self.name == "cyclic_band":
            return frozenset((bit, (bit + offset) % bits) for bit in range(bits) for offset in self.offsets)
        groups = (self.groups[head % len(self.groups)],) if self.name == "threesym_heads" else self.groups
        pairs = {(query, key) for group in groups for query in group for key in group}
        if self.name == "parity_pair_off":
            return frozenset(pair for pair in pairs if pair[0] != pair[1])
        if self.name == "maj_diag":
            return frozenset(pair for pair in pairs if pair[0] == pair[1])
        return frozenset(pairs)
