"""Run as `python -m benchmark.conformance.light`: plans a subject, and says who imports torch on the way."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Any

OURS = ("<", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120 - before pathlib is there


class Watch:
    """Stands first among the finders of modules; ends the process when torch is asked for."""

    during = "it is loaded"

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> ModuleSpec | None:
        """Never finds anything."""
        stack = traceback.extract_stack()
        if name == "torch" and any("find_and_load" in frame.name for frame in stack[-3:]):  # not asked where it is
            frames = [f for f in stack if not f.filename.startswith(OURS) and "importlib" not in f.filename]
            answer(frames[0].filename if frames else "?", frames[0].lineno or 0 if frames else 0, self.during)
        return None


def answer(file: str, line: int, during: str) -> None:
    """One line of JSON, and the end."""
    os.write(channel, (json.dumps({"file": file, "line": line, "during": during}) + "\n").encode())
    os._exit(0)


def main() -> None:
    """Load the families of a subject and ask what planning asks."""
    from benchmark.conformance.subject import Subject

    request = json.load(sys.stdin)
    watch = Watch()
    sys.meta_path.insert(0, watch)
    subject = Subject.from_json(request)
    for pair in (subject.pair, *subject.others):
        watch.during = "planning asks `metrics`, `geometry`, `missing_data`, `unsupported` or `prior_mode`"
        pair.task.metrics()
        pair.task.geometry()
        pair.task.missing_data()
        pair.initializer.unsupported(pair.task)
        pair.initializer.prior_mode()
    answer("", 0, "")


if __name__ == "__main__":
    channel = os.dup(1)
    os.dup2(2, 1)
    main()
