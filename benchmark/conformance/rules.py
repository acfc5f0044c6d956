"""What a rule of the kit is, and what came of asking it. Their words are in `rules.yaml`, in their order."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchmark.registry import Kind
from benchmark.spec.source import read_file
from benchmark.wording import placed_reason

if TYPE_CHECKING:
    from benchmark.conformance.context import Context

Status = Literal["held", "found", "not checked"]
Find = Callable[["Context"], Iterable[str]]
"""Yields every way in which a rule does not hold, one sentence each, and notes; raises `NotChecked`."""


class NotChecked(Exception):  # noqa: N818 - nothing is wrong
    """A rule cannot be asked here; the message says why."""


class Note(str):
    """What a rule has to tell that is no finding."""

    __slots__ = ()


@dataclass(frozen=True)
class Rule:
    """One thing that holds for a sound plugin."""

    id: str
    kinds: tuple[Kind, ...]
    holds: str
    why: str
    """What goes wrong otherwise."""
    way_out: str
    """What to do about a finding."""


@dataclass(frozen=True)
class Result:
    """What came of one rule."""

    rule: str
    status: Status
    found: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""
    """Why it was not checked."""
    seconds: float = 0.0

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Result:
        """The result whose `vars` went through JSON."""
        return cls(**{**value, "found": tuple(value["found"]), "notes": tuple(value["notes"])})


def read() -> dict[str, Rule]:
    """Rules by id."""
    tree, _ = read_file(Path(__file__).with_suffix(".yaml"))
    assert tree is not None
    return {id: Rule(id, **{**words, "kinds": tuple(words["kinds"])}) for id, words in tree.plain().items()}


RULES = read()
FINDS: dict[str, Find] = {}
"""What asks them; filled by the modules of `benchmark.conformance`."""


def rule(find: Find) -> Find:
    """Make a function named as a rule the one that asks it."""
    FINDS[find.__name__.replace("_", "-")] = find
    return find


def told(error: BaseException) -> str:
    """`KeyError: no such head (mine.py:12)`."""
    return placed_reason("".join(traceback.format_exception(error)))


def ask(one: Rule, context: Context) -> Result:
    """Ask one rule; whatever the plugin raises on the way is a finding, unless an earlier rule told of it."""
    started = time.perf_counter()
    said: list[str] = []
    reason = ""
    try:
        for sentence in FINDS[one.id](context):
            said.append(sentence)  # noqa: PERF402 - what was said before an exception counts
    except NotChecked as obstacle:
        reason = str(obstacle)
    except (Exception, SystemExit) as error:
        said.append(told(error))
    notes = tuple(str(sentence) for sentence in said if isinstance(sentence, Note))
    found = []
    for sentence in (sentence for sentence in said if not isinstance(sentence, Note)):
        earlier = next((id for known, id in context.told.items() if known in sentence), None)
        if earlier is None:
            found.append(sentence)
        else:
            reason = f"what is found in {earlier} stands in the way"
    context.told.update(dict.fromkeys(found, one.id))
    status: Status = "found" if found else "not checked" if reason else "held"
    return Result(one.id, status, tuple(found), notes, reason, time.perf_counter() - started)


def table() -> str:
    """The rules as docs/conformance.md shows them."""
    rows = [f"| `{r.id}` | {' and '.join(r.kinds)} | {r.holds} | {r.why} | {r.way_out} |" for r in RULES.values()]
    return "\n".join(["| rule | of | what holds | why | way out |", "|---|---|---|---|---|", *rows])
