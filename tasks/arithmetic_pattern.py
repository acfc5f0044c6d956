"""Interaction patterns of arithmetic: which digit may attend to which, per head.

arXiv 2608.00418 Appendix E says that in addition only corresponding digits of the two operands interact while other
heads may take the carry, and that in multiplication digits interact across the numbers, heads standing for partial
products. The matrices are not printed; each reading is a name here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from benchmark.parameters import Parameters

PatternName = Literal["add_aligned", "add_carry1", "add_lower", "add_heads", "mul_cross", "mul_diag_heads"]


@dataclass(frozen=True)
class Pair:
    """A query and a key token: the digit each counts (i and j, for 10^i and 10^j), and how they lie."""

    i: int
    j: int
    across: bool
    """Whether they belong to different operands."""
    head: int
    heads: int

    @property
    def same(self) -> bool:
        """Whether they are one token."""
        return not self.across and self.i == self.j


def _aligned(pair: Pair) -> bool:
    return pair.across and pair.i == pair.j


_BY_HEAD: tuple[Callable[[Pair], bool], ...] = (
    _aligned,
    lambda pair: pair.same,
    lambda pair: pair.j == pair.i - 1,
    lambda pair: pair.j == pair.i + 1,
)

_OPEN: dict[PatternName, Callable[[Pair], bool]] = {
    "add_aligned": _aligned,
    "add_carry1": lambda pair: _aligned(pair) or pair.j == pair.i - 1,
    "add_lower": lambda pair: pair.j <= pair.i and not pair.same,
    "add_heads": lambda pair: _BY_HEAD[pair.head % len(_BY_HEAD)](pair),
    "mul_cross": lambda pair: pair.across,
    "mul_diag_heads": lambda pair: pair.across and (pair.i + pair.j) % pair.heads == pair.head,
}


class ArithmeticPattern(Parameters):
    """A named pattern over the tokens a_{d-1} … a_0 b_{d-1} … b_0."""

    name: PatternName
    """`add_aligned`: a_i ↔ b_i. `add_carry1`: also digit i − 1 of both operands, where the carry comes from.
    `add_lower`: every digit up to i of both. `add_heads`: heads in turn open the aligned digit, the token itself, digit
    i − 1 of both, digit i + 1 of both. `mul_cross`: every a_i ↔ every b_j. `mul_diag_heads`: head h of H opens
    a_i ↔ b_j where i + j ≡ h (mod H), the partial products of its digits."""
    own: bool = False
    """Whether every token may also attend to itself."""
    offset: int = 0
    """Misalignment: b_{i+offset} (cyclically) is taken for b_i: a wrong pattern with as many open entries."""

    def open_entries(self, digits: int, head: int, heads: int) -> frozenset[tuple[int, int]]:
        """Open (query, key) pairs of one head, tokens numbered 0 to 2d − 1."""
        is_open = _OPEN[self.name]
        significance = [digits - 1 - place for place in range(digits)]
        significance += [(i - self.offset) % digits for i in significance]
        found = set()
        for query, i in enumerate(significance):
            for key, j in enumerate(significance):
                pair = Pair(i, j, (query < digits) != (key < digits), head, heads)
                if is_open(pair) or (self.own and query == key):
                    found.add((query, key))
        return frozenset(found)
