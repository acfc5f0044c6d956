"""The catalogue: every check registers itself here with its id, severity, needs and explanation."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from benchmark.errors import UsageError
from leaderboard.checks import published, stored
from leaderboard.checks.finding import Finding, Severity, Tally

if TYPE_CHECKING:
    from leaderboard.checks.evidence import Evidence
    from leaderboard.checks.stored.evidence import StoreEvidence

T = TypeVar("T")
Needs = Literal["claims", "store"]
Function = Callable[["Evidence", Tally], Iterator[Finding]]
OnStore = Callable[["StoreEvidence", Tally], Iterator[Finding]]

CATALOGUE: dict[str, Check] = {}
ALIASES = {"REL%": "REL", "SCALE": "DOMAIN"}


@dataclass(frozen=True)
class Check:
    """A registered check. `on_claims` or `on_store`, or both, do the work; at least one is there."""

    id: str
    title: str
    severity: Severity
    """The worst it can report."""
    number: int
    """Its place in the catalogue, most valuable first."""
    text: str
    """Rule, formula, source, power and blind spot: what `--explain` prints."""
    on_claims: Function | None = None
    on_store: OnStore | None = None
    threshold: float | None = None
    """What an experiment may replace, in the check's unit; None: it has none."""

    @property
    def power(self) -> str:
        """How much it can find."""
        return section(self.text, "Power")

    @property
    def needs(self) -> tuple[Needs, ...]:
        """What it looks at."""
        found: dict[Needs, Any] = {"claims": self.on_claims, "store": self.on_store}
        return tuple(name for name, function in found.items() if function)


SECTIONS = ("Formula", "Severity", "Source", "Power", "Blind spot")
"""Headings that may occur in a check's text."""


def section(text: str, heading: str) -> str:
    """What a check's text says under a heading, on one line; empty when it does not."""
    flat = " ".join(text.split())
    start = flat.find(f"{heading}: ")
    if start < 0:
        return ""
    rest = flat[start + len(heading) + 2 :]
    ends = [rest.find(f" {other}: ") for other in SECTIONS]
    return rest[: min((end for end in ends if end >= 0), default=len(rest))]


@lru_cache(maxsize=1)
def described() -> dict[str, Check]:
    """What `catalogue.md` says of each check."""
    text = (Path(__file__).parent / "catalogue.md").read_text(encoding="utf-8")
    found = {}
    for section in text.split("\n## ")[1:]:
        head, facts, body = section.strip().split("\n\n", 2)
        id, _, title = head.partition(": ")
        severity, number, *more = facts.split(" · ")
        threshold = float(more[0].removeprefix("threshold ")) if more else None
        found[id] = Check(id, title, Severity(severity), int(number), body, threshold=threshold)
    return found


def check(id: str) -> Callable[[Function], Function]:
    """Register a generator function as a check of published numbers."""
    return lambda function: _registered(id, function, on_claims=function)


def on_store(id: str) -> Callable[[OnStore], OnStore]:
    """Register a generator function as a check of a store."""
    return lambda function: _registered(id, function, on_store=function)


def _registered(id: str, function: T, **fields: Any) -> T:
    CATALOGUE[id] = replace(CATALOGUE.get(id) or described()[id], **fields)
    return function


def load(package: ModuleType) -> None:
    """Import every module of a package, so that its checks are registered."""
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


def catalogue(of_store: bool = True) -> tuple[Check, ...]:
    """Every check, in the order of the catalogue; without those of a store where they are not needed."""
    load(published)
    if of_store:
        load(stored)
    return tuple(sorted(CATALOGUE.values(), key=lambda entry: entry.number))


def find(id: str) -> Check:
    """The check with that id, in any case.

    Raises:
        UsageError: there is none; the message names near ones.
    """
    wanted = ALIASES.get(id.upper(), id.upper())
    known = {entry.id: entry for entry in catalogue()}
    if wanted not in known:
        near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.5)
        hint = f"did you mean '{near[0]}'?" if near else f"checks: {', '.join(known)}"
        raise UsageError(f"no check called '{id}'; {hint}")
    return known[wanted]


def select(only: Sequence[str] = (), without: Sequence[str] = (), of_store: bool = True) -> tuple[Check, ...]:
    """The checks to run, in the order of the catalogue.

    Raises:
        UsageError: no such check, or one that is both wanted and not.
    """
    named, unwanted = ({find(id).id for id in ids} for ids in (only, without))  # loads all
    if both := sorted(named & unwanted):
        raise UsageError(f"{', '.join(both)} named by --only and by --except; name it once")
    wanted = named or {entry.id for entry in catalogue(of_store)}
    return tuple(entry for entry in catalogue(of_store) if entry.id in wanted - unwanted)
