"""How many seeds one experiment may have, and which."""

from __future__ import annotations

from collections.abc import Sequence

MOST_SEEDS = 10_000
"""Seeds of one experiment; far beyond any published number, small enough to list."""
LARGEST_SEED = 2**63 - 1
"""The store keeps seeds in 64 signed bits, and torch takes no larger ones either."""


def seed_range(first: int, last: int) -> range:
    """Seeds `first` to `last`, both among them.

    Raises:
        ValueError: more seeds than an experiment may have.
    """
    check_count(last - first + 1)
    return range(first, last + 1)


def check_count(count: int) -> None:
    """Refuse a number of seeds before anything is made of it. Raises ValueError."""
    if count > MOST_SEEDS:
        raise ValueError(f"at most {MOST_SEEDS} seeds can be asked for at once, found {count}")


def check_seeds(seeds: Sequence[int]) -> None:
    """Refuse seeds that cannot be used or kept. Raises ValueError."""
    check_count(len(seeds))
    if not seeds:
        raise ValueError("expected at least one seed")
    wrong = next((seed for seed in seeds if not 0 <= seed <= LARGEST_SEED), None)
    if wrong is not None:
        raise ValueError(f"a seed is a whole number from 0 to 2^63 - 1, found {wrong}")
