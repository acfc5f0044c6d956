"""What makes two cells the same: canonical JSON and its hash, and the random streams of a seed."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmark.initializer import Initializer
    from benchmark.parameters import Parameters
    from benchmark.task import Task

IDENTITY_VERSION = 1
"""Raised when what is hashed, or how it is written, changes; all ids change with it."""


def canonical_json(value: Any) -> str:
    """The one text of a JSON value: keys sorted by code point, no spaces, ASCII, shortest round-trip floats, no −0.0.

    Raises:
        ValueError: NaN or infinity, or two keys that are one in JSON.
        TypeError: something JSON does not have, a set among them (its order is not fixed).
    """
    return json.dumps(normal(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def normal(value: Any) -> Any:
    """`value` in JSON's types, −0.0 as 0.0; integers and floats stay apart (1 and 1.0 are written differently)."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        if not math.isfinite(value):
            raise ValueError(f"{value} has no place in an identity")
        return value + 0.0
    if isinstance(value, Mapping):
        if not all(type(key) is str for key in value):
            raise TypeError(f"expected text as keys, found {list(value)[:5]}")
        return {key: normal(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [normal(item) for item in value]
    raise TypeError(f"expected a JSON value, found {value!r} ({type(value).__name__})")


def parameters_of(family: Parameters) -> dict[str, Any]:
    """A resolved family's parameters as they enter the identity.

    Raises:
        TypeError: a field holds a set, whose order would make the id differ from process to process.
    """
    refuse_sets(family.model_dump(), type(family).__name__)
    dumped: dict[str, Any] = normal(family.model_dump(mode="json", by_alias=True, round_trip=True))
    return dumped


def refuse_sets(value: Any, where: str) -> None:
    """Raise for a set anywhere in `value`."""
    if isinstance(value, set | frozenset):
        raise TypeError(f"{where} is a set, which has no order to hash; use a tuple")
    if isinstance(value, Mapping):
        for key, item in value.items():
            refuse_sets(item, f"{where}.{key}")
    elif isinstance(value, list | tuple):
        for item in value:
            refuse_sets(item, where)


def resolved_cell(task: Task, initializer: Initializer, profile: str, seed: int) -> dict[str, Any]:
    """Everything that determines a cell's numbers, and nothing else: what its id is the hash of."""
    return {
        "identity_version": IDENTITY_VERSION,
        "profile": profile,
        "seed": seed,
        "task": {"family": task.family, "version": task.version, "parameters": parameters_of(task)},
        "initializer": {
            "family": initializer.family,
            "version": initializer.version,
            "parameters": parameters_of(initializer),
        },
    }


def hash_resolved(resolved: Mapping[str, Any]) -> str:
    """The id of a resolved cell: sha256 of its canonical JSON, 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(resolved).encode()).hexdigest()


def hashed_by_seed(resolved: Mapping[str, Any]) -> Callable[[int], str]:
    """`hash_resolved` of a cell and of those that differ from it in the seed alone, whose text is written once."""
    parts = [canonical_json({k: v for k, v in resolved.items() if side(k)}) for side in ("seed".__gt__, "seed".__lt__)]
    before, after = (part[1:-1] for part in parts)
    head, tail = f'{{{before}{"," * bool(before)}"seed":', f"{',' * bool(after)}{after}}}"
    return lambda seed: hashlib.sha256(f"{head}{seed}{tail}".encode()).hexdigest()


def cell_id(task: Task, initializer: Initializer, profile: str, seed: int) -> str:
    """The id of a cell; names, order, device and paths are not in it."""
    return hash_resolved(resolved_cell(task, initializer, profile, seed))


def stream(seed: int, name: str) -> int:
    """Start value (64 bits) of a seed's random stream of that name; streams of different names are independent."""
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big")
