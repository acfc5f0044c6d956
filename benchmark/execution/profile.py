"""The user's own file: how this person's cells are executed, on whatever machine; nothing that determines a cell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from benchmark.parameters import Parameters
from benchmark.spec.marks import InvalidSpecError
from benchmark.spec.problems import validated
from benchmark.spec.source import read_file


class Execution(Parameters):
    """Defaults of `bench run`'s options of the same names; the command line wins."""

    backend: str | None = None
    """local, dask, ray, slurm, or an installed package's."""
    backend_options: dict[str, str | int | float | bool] = Field(default={})
    """Options of that backend; they hold when it is the one that is used."""
    workers: int | None = None
    """Stacks trained at once."""
    device: str | None = None
    """auto, cpu, cuda, or GPUs by number."""
    execution: str | None = None
    """auto, alone, compiled, stack:N or compiled-stack:N."""
    cell_timeout: float | None = None
    """Seconds a cell may take."""
    checkpoint: float | None = None
    """Minutes between two checkpoints of long training; 0 without them."""
    keep: Literal["model"] | None = None
    """Write finished cells' weights into the store."""
    retries: int | None = None
    """How often a stack is handed out again because its worker was lost."""
    max_failures: int | None = None
    """Stop when so many cells have failed."""


class Profile(Parameters):
    """The file: one block."""

    execution: Execution = Execution()
    """How cells are executed."""


def default_path() -> Path:
    """`initbench.yaml` in the user's configuration folder (XDG); where a user has no home, nothing is."""
    path = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config") / "initbench.yaml"
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def load_profile(path: Path | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The file's options and its backend's options; both empty when no file is named and the usual one is not there.

    Raises:
        InvalidSpecError: with every problem of the file at its place.
    """
    path = path or (default_path() if default_path().exists() else None)
    if path is None:
        return {}, {}
    root, problems = read_file(path)
    profile = None
    if root is not None and not problems:
        profile, problems = validated(Profile, root, "the profile file")
    if profile is None:
        raise InvalidSpecError(problems, "the profile file")
    given = profile.execution.model_dump(exclude_none=True)
    return given, given.pop("backend_options")
