"""An exception in one sentence, with the place in the plugin that it comes from."""

from __future__ import annotations

import re
import sysconfig
import traceback
from pathlib import Path

from benchmark.spec.catalog import PRODUCT, shown_path
from benchmark.wording import reason_of

FRAME = re.compile(r'^ *File "([^"]+)", line (\d+)', re.MULTILINE)
OURS = str(PRODUCT / "benchmark")
STANDARD = str(Path(sysconfig.get_path("stdlib")).resolve())
LONGEST = 300


def told(error: BaseException) -> str:
    """`mine.py:12: ValueError: no such head`."""
    return told_of("".join(traceback.format_exception(error)))


def told_of(trace: str) -> str:
    """The same of a traceback's text: the last line of it that is the plugin's, and what was raised."""
    own = [frame for frame in FRAME.finditer(trace) if is_plugin(frame[1])]
    raised = reason_of(trace)
    place = f"{shown_path(Path(own[-1][1]))}:{own[-1][2]}: " if own else ""
    return place + (raised if len(raised) <= LONGEST else f"{raised[:LONGEST]} ...")


def is_plugin(file: str) -> bool:
    """Whether a line of that file says something to the author of a plugin."""
    library = "-packages" in file  # site-packages, dist-packages
    if library:
        return not any(f"-packages/{name}/" in file for name in ("torch", "numpy", "pydantic"))
    return not file.startswith(("<", OURS, STANDARD))
