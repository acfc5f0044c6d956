"""Backends by name: the project's own, and third parties' by the entry-point group `bench.backends`."""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from benchmark.backends.contract import Backend, Options, Underway
from benchmark.errors import UsageError
from benchmark.spec.source import core_schema
from benchmark.wording import hint

GROUP = "bench.backends"
BUILT_IN = {
    "local": "benchmark.backends.local:Local",
    "dask": "benchmark.backends.dask:Dask",
    "ray": "benchmark.backends.ray:Ray",
    "slurm": "benchmark.backends.slurm:Slurm",
}
ASK_SECONDS = 5.0
PACKAGES = {"dask": "distributed", "ray": "ray", "slurm": "submitit"}
"""What a backend needs; each is an extra of this project by the backend's name."""


def known() -> dict[str, str]:
    """Name → `module:class` of every backend; the project's own names cannot be taken over."""
    return {point.name: point.value for point in metadata.entry_points(group=GROUP)} | BUILT_IN


def find(name: str) -> type[Backend]:
    """The class of a backend.

    Raises:
        UsageError: no such backend, what it needs is not installed, or it cannot be loaded.
    """
    if name not in known():
        raise UsageError(f"--backend '{name}' is not known{hint(name, known())}.")
    try:
        if name in PACKAGES:
            importlib.import_module(PACKAGES[name])
        found = load(name)
    except (ImportError, AttributeError) as error:
        remedy = f"pip install 'initbench[{name}]'" if name in PACKAGES else "mend the package that brings it"
        raise UsageError(f"--backend {name} cannot be loaded ({error}): {remedy}.") from None
    if not (isinstance(found, type) and issubclass(found, Backend)):
        raise UsageError(f"--backend {name}: {known()[name]} is no subclass of benchmark.backends.contract.Backend.")
    return found


def load(name: str) -> Any:
    """What a name stands for, whether or not the packages it needs to train are there."""
    module, _, attribute = known()[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def underway(store: Path) -> list[Underway]:
    """Jobs for cells of a store that were submitted by runs whose dispatcher left; a question every few seconds."""
    return [*asked(store, int(time.monotonic() / ASK_SECONDS))]


@functools.lru_cache(maxsize=1)
def asked(store: Path, _: int) -> tuple[Underway, ...]:
    """Every backend that has a folder in the store, asked."""
    return tuple(job for name in known() if (store / name).is_dir() for job in load(name).underway(store))


def read_options(name: str, kind: type[Backend], written: Mapping[str, Any]) -> Options:
    """Options of a backend, checked; text is read as YAML would read it.

    Raises:
        UsageError: with every option that is not known or does not fit.
    """
    fields = kind.Options.model_fields
    values = {key: scalar(value, fields[key].annotation if key in fields else None) for key, value in written.items()}
    try:
        return kind.Options.model_validate(values)
    except ValidationError as error:
        lines = [problem(detail, fields) for detail in error.errors(include_url=False)]
        raise UsageError("\n".join(f"--backend-option {line} (backend {name})" for line in lines)) from None


def scalar(value: Any, kind: Any) -> Any:
    """Text as the option's kind wants it: as it is for text, else a YAML scalar."""
    return core_schema(value) if isinstance(value, str) and kind is not str else value


def problem(detail: Mapping[str, Any], fields: Iterable[str]) -> str:
    """One of pydantic's errors, in a line."""
    key = ".".join(map(str, detail["loc"]))
    if detail["type"] == "extra_forbidden":
        return f"'{key}' is not known{hint(key, fields)}"
    return f"{key}: {detail['msg']}, found {detail['input']!r}"
