"""Metrics are checked where they enter: whatever is a number becomes a float, anything else is refused by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from numbers import Real
from typing import Any

from benchmark.errors import PluginError


def as_floats(values: Any, method: str) -> dict[str, float]:
    """The metrics a family returned from `method`, as floats.

    Raises PluginError with name, type and value of the first that is no number.
    """
    if not isinstance(values, Mapping):
        raise PluginError(f"{method} must return a dict of metric → number, found {_told(values)}")
    return {_name(name, method): _number(name, value, method) for name, value in values.items()}


def _name(name: Any, method: str) -> str:
    if type(name) is not str:
        raise PluginError(f"{method} must name its metrics with text, found {_told(name)}")
    return name


def _number(name: Any, value: Any, method: str) -> float:
    found = value
    if hasattr(value, "item") and _scalars(value) == 1:
        found = value.item()  # of numpy, torch and their like
    try:
        if isinstance(found, Real) or (type(found).__module__ == "decimal"):
            return float(found)
    except OverflowError:
        pass
    raise PluginError(f"metric {name!r} of {method} must be a number, found {_told(value)}")


def _scalars(value: Any) -> int:
    count = value.numel() if hasattr(value, "numel") else getattr(value, "size", 1)
    return int(count)


def _told(value: Any) -> str:
    kind = type(value)
    prefix = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    text = repr(value)
    return f"{prefix}{kind.__qualname__}: {text if len(text) <= 100 else text[:100] + '…'}"


def check_names(returned: Collection[str], declared: Collection[str]) -> None:
    """Refuse metrics that are not declared.

    One of the curve may be of a sample, `name@size`; those of averaged parameters are `ema_name`. Raises PluginError.
    """
    stems = {name.partition("@")[0] for name in declared}
    for name in returned:
        stem = name.partition("@")[0]
        if not {stem, stem.removeprefix("ema_")} & stems:
            raise PluginError(
                f"metric {name!r} is returned but not declared by metrics() ({', '.join(declared)}); "
                "declare it with its direction, or leave it out"
            )


def check_complete(returned: Collection[str], declared: Sequence[str]) -> None:
    """Refuse declared metrics that are missing at the end. Raises PluginError."""
    if missing := [name for name in declared if name not in returned]:
        raise PluginError(
            f"metric {missing[0]!r} is declared by metrics() but neither summarize(final=True) nor summarize_curve "
            f"returns it (they return {', '.join(sorted(returned)) or 'none'})"
        )
