"""Where numbers come from: code, packages, machine and call. Nothing here can fail a run; nothing names a person."""

from __future__ import annotations

import functools
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import benchmark
from benchmark.execution.devices import gpus
from benchmark.origin import PACKAGES


def provenance(threads: int, device: str) -> dict[str, Any]:
    """What is kept with every cell: versions, commits, processor; JSON types only.

    `threads` is the number of torch threads of the process that trains, `device` where it trains.
    """
    return {
        "initbench": benchmark.__version__,
        "code": repository(Path(benchmark.__file__).parent),
        "python": platform.python_version(),
        "platform": platform.platform(aliased=True, terse=True),
        "machine": platform.machine(),
        "packages": package_versions(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "gpus": [gpu.name for gpu in gpus()] if device.startswith("cuda") else [],
        "threads": threads,
    }


def environment(threads: int, device: str) -> dict[str, Any]:
    """What is kept with every run: `provenance`, and the repository it was started in."""
    return {**provenance(threads, device), "working_repository": repository(Path.cwd())}


def without_home(word: str) -> str:
    """A command line word with the home folder, if there is one, written as `~`."""
    try:
        home = str(Path.home())
    except RuntimeError:  # neither HOME nor a passwd entry
        return word
    return word.replace(home, "~") if len(home) > 1 else word


@functools.cache
def package_versions() -> dict[str, str]:
    """Installed versions, read without importing the packages."""
    return {name: version for name in PACKAGES if (version := installed_version(name))}


def installed_version(name: str) -> str | None:
    """Version of an installed distribution, None when it is not there."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@functools.cache
def repository(folder: Path) -> dict[str, Any] | None:
    """Commit of the git repository that tracks files of `folder`, and whether tracked files differ from it.

    None without git, outside a repository, or when the repository tracks nothing in that folder (a virtual
    environment inside someone's repository is not that repository's code).
    """
    commit = git(folder, "rev-parse", "HEAD")
    if not commit or not git(folder, "ls-files", "--cached", "."):
        return None
    changes = git(folder, "status", "--porcelain", "--untracked-files=no", "--", ":/")
    return {"commit": commit, "dirty": None if changes is None else bool(changes)}


def git(folder: Path, *arguments: str) -> str | None:
    """Output of a git command, None when it fails, is absent or takes longer than 10 s."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True, text=True, timeout=10, check=True, env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout.strip()


@functools.cache
def cpu_model() -> str:
    """The processor's name, as the operating system calls it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or sys.platform
