"""`bench data` in a process of its own, under limits that cannot be taken back."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

from tasks.data import manifest as manifests

CHILD = """
import resource, shutil, sys
from pathlib import Path
from types import SimpleNamespace
from tasks.data import manifest
manifest.FOLDER = Path(sys.argv[1])
limit = int(sys.argv[2])
if limit > 0:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
if limit < 0:  # as if the free space were gone between the question and the writing
    shutil.disk_usage = lambda path: SimpleNamespace(free=1 << 50)
from benchmark.cli.data import command
from benchmark.cli.errors import guarded
guarded(command, sys.argv[3:])
"""
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


def run(*arguments, largest_file=0, code):
    """What the command says on the standard error, when it ends with `code`; files may have `largest_file` bytes."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(manifests.FOLDER), str(largest_file), *map(str, arguments)],
        capture_output=True, text=True, timeout=120, preexec_fn=obey_permissions,
    )  # fmt: skip
    assert done.returncode == code, f"exit code {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}"
    return done


def error(*arguments, code, **keywords):
    """The one line of error the command ends with."""
    done = run(*arguments, code=code, **keywords)
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


def obey_permissions():
    """Take from root what lets it read and write everything, so that it is refused like anybody else."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "prctl")
