"""Names and the patterns (of `fnmatch`) that mean them."""

from collections.abc import Sequence
from fnmatch import fnmatchcase


def meant(name: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns is the name, or matches it: a name may hold brackets itself (`acc[top5]`)."""
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)
