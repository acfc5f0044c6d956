"""Pairs of operands as numbers and digits: results, carries, splits, and predictors that know one column only.

A pair (a, b) of d-digit operands has the index a · 10^d + b. Digit k of a number is the one that counts 10^k.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Operation = Literal["addition", "multiplication"]
Numbers = NDArray[np.int64]
Digits = NDArray[np.uint8]

BASE = 10


def result_digits(operation: Operation, digits: int) -> int:
    """Digits of the largest result, which all results are padded to."""
    return digits + 1 if operation == "addition" else 2 * digits


def operands(pairs: Numbers, digits: int) -> tuple[Numbers, Numbers]:
    """The operands a and b of pair indices."""
    first, second = np.divmod(pairs, BASE**digits)
    return first, second


def results(operation: Operation, first: Numbers, second: Numbers) -> Numbers:
    """a + b or a · b."""
    return first + second if operation == "addition" else first * second


def digits_of(numbers: Numbers, count: int) -> Digits:
    """Zero-padded digits (n, count), most significant first."""
    powers = BASE ** np.arange(count - 1, -1, -1, dtype=np.int64)
    return (numbers[:, None] // powers % BASE).astype(np.uint8)


def tokens(pairs: Numbers, digits: int) -> Digits:
    """Tokens a_{d-1} … a_0 b_{d-1} … b_0 of pair indices, (n, 2d)."""
    return digits_of(pairs, 2 * digits)


def carries(inputs: Digits) -> NDArray[np.int64]:
    """How many columns of a + b carry, from tokens (n, 2d)."""
    digits = inputs.shape[1] // 2
    columns = inputs[:, :digits].astype(np.int64) + inputs[:, digits:]
    carry = np.zeros(len(inputs), dtype=np.int64)
    count = np.zeros_like(carry)
    for place in range(digits - 1, -1, -1):
        carry = (columns[:, place] + carry >= BASE).astype(np.int64)
        count += carry
    return count


def split(digits: int, training: int, seed: int, *, commutative_safe: bool) -> tuple[Numbers, Numbers]:
    """Indices of the training and of the test pairs, each in random order; together they are all pairs.

    RandomState, because numpy keeps its streams the same for good. With `commutative_safe`, (a, b) and (b, a) are on
    the same side.
    """
    generator = np.random.RandomState(np.random.MT19937(np.random.SeedSequence(seed)))
    if commutative_safe:
        return _unordered_split(digits, training, generator)
    order = generator.permutation(BASE ** (2 * digits))
    return order[:training], order[training:]


def _unordered_split(digits: int, training: int, generator: np.random.RandomState) -> tuple[Numbers, Numbers]:
    """Whole groups {(a, b), (b, a)} in random order fill the training set; where one place is left that the next group
    does not fit into, the next group of one, (a, a), takes it."""
    first, second = np.triu_indices(BASE**digits)
    order = generator.permutation(len(first))
    first, second = first[order], second[order]
    single = first == second
    ends = np.cumsum(np.where(single, 1, 2))
    chosen = ends <= training
    left = training - int(chosen.sum() * 2 - (chosen & single).sum())
    if left:
        free = np.flatnonzero(single & ~chosen)
        if not len(free):
            raise ValueError(f"no commutative-safe split of {digits}-digit pairs has {training} training pairs")
        chosen[free[0]] = True
    return _both_orders(first[chosen], second[chosen], digits), _both_orders(first[~chosen], second[~chosen], digits)


def _both_orders(first: Numbers, second: Numbers, digits: int) -> Numbers:
    both = np.stack((first * BASE**digits + second, second * BASE**digits + first), axis=1)
    kept: Numbers = both[np.stack((np.ones(len(first), dtype=bool), first != second), axis=1)]
    return kept


@dataclass(frozen=True)
class Predictor:
    """The best answer, over all pairs, of a predictor that sees a context for each output digit."""

    correct: NDArray[np.bool_]
    """Whether the most frequent digit given the context is right, (pairs, output digits), most significant first."""
    loss: float
    """Mean cross-entropy of the digit frequencies given the context, in nats: mean conditional entropy."""


@lru_cache(maxsize=8)
def predictor(operation: Operation, digits: int, sees: Literal["nothing", "own_column"]) -> Predictor:
    """`nothing`: digit frequencies alone. `own_column`: a_k and b_k for output digit k, beyond them the highest two."""
    pairs = np.arange(BASE ** (2 * digits), dtype=np.int64)
    inputs = tokens(pairs, digits).astype(np.int64)
    count = result_digits(operation, digits)
    targets = digits_of(results(operation, *operands(pairs, digits)), count)
    correct, losses = np.empty(targets.shape, dtype=np.bool_), []
    for column in range(count):
        place = max(column - (count - digits), 0)  # the column of the operands that counts the same, or the highest
        context = inputs[:, place] * BASE + inputs[:, digits + place] if sees == "own_column" else 0 * pairs
        table = np.zeros((BASE * BASE, BASE), dtype=np.int64)
        np.add.at(table, (context, targets[:, column]), 1)
        correct[:, column] = table.argmax(axis=1)[context] == targets[:, column]
        losses.append(_conditional_entropy(table))
    return Predictor(correct, float(np.mean(losses)))


def _conditional_entropy(table: NDArray[np.int64]) -> float:
    """Of the second axis given the first, from counts, in nats."""
    total = table.sum(axis=1, keepdims=True)
    share = np.divide(table, total, out=np.ones(table.shape), where=table > 0)  # log 1 = 0 where nothing was counted
    return float(-(table * np.log(share)).sum() / table.sum())
