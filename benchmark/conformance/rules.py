"""What a rule of the kit is, and what came of asking it. No torch here: the command line lists rules."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from benchmark.conformance.wording import told
from benchmark.registry import Kind

if TYPE_CHECKING:
    from benchmark.conformance.context import Context

Status = Literal["held", "found", "not checked"]

BOTH: tuple[Kind, ...] = ("task", "initializer")


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
    """What holds."""
    why: str
    """What goes wrong otherwise."""
    way_out: str
    """What to do about a finding."""
    find: Callable[[Context], Iterable[str]]
    """Every way in which it does not hold, one sentence each, and notes; raises `NotChecked`."""


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

    def as_json(self) -> dict[str, Any]:
        """Field → value; `from_json` is its inverse."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Result:
        """The result that `as_json` wrote."""
        return cls(**{**value, "found": tuple(value["found"]), "notes": tuple(value["notes"])})


RULES: dict[str, Rule] = {}
"""Rules by id, in the order they are asked; filled by the modules of `benchmark.conformance`."""

Find = Callable[["Context"], Iterable[str]]


def rule(id: str, *, kinds: tuple[Kind, ...] = BOTH, holds: str, why: str, way_out: str) -> Callable[[Find], Find]:
    """Make a rule of a function that yields what is wrong."""

    def declare(find: Find) -> Find:
        RULES[id] = Rule(id, kinds, holds, why, way_out, find)
        return find

    return declare


def ask(one: Rule, context: Context) -> Result:
    """Ask one rule; whatever the plugin raises on the way is a finding, unless an earlier rule told of it."""
    started = time.perf_counter()
    said: list[str] = []
    reason = ""
    try:
        for sentence in one.find(context):
            said.append(sentence)  # noqa: PERF402 - what was said before an exception counts
    except NotChecked as obstacle:
        reason = str(obstacle)
    except (Exception, SystemExit) as error:
        said.append(told(error))
    notes = tuple(str(sentence) for sentence in said if isinstance(sentence, Note))
    found = []
    for sentence in (sentence for sentence in said if not isinstance(sentence, Note)):
        earlier = next((rule for known, rule in context.told.items() if known in sentence), None)
        if earlier is None:
            found.append(sentence)
        else:
            reason = f"what is found in {earlier} stands in the way"
    context.told.update(dict.fromkeys(found, one.id))
    status: Status = "found" if found else "not checked" if reason else "held"
    return Result(one.id, status, tuple(found), notes, reason, time.perf_counter() - started)
