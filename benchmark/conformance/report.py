"""What the kit found, as text and as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmark.conformance.rules import RULES, Result
from benchmark.registry import Kind
from benchmark.wording import counted

MARKS = {"held": "ok", "found": "FOUND", "not checked": "-"}


class NonconformingError(AssertionError):
    """A plugin does not hold to a rule; the message is the report."""


@dataclass(frozen=True)
class Report:
    """Results of one subject, in the order they were made."""

    kind: Kind
    name: str
    task: str
    profile: str
    results: tuple[Result, ...]

    @property
    def findings(self) -> tuple[Result, ...]:
        """Rules that do not hold."""
        return tuple(result for result in self.results if result.status == "found")

    def __str__(self) -> str:
        return "\n".join(
            [heading(self.kind, self.name, self.task, self.profile), *map(lines, self.results), self.verdict()]
        )

    def verdict(self) -> str:
        """The last line."""
        held = sum(result.status == "held" for result in self.results)
        open_ = sum(result.status == "not checked" for result in self.results)
        seconds = sum(result.seconds for result in self.results)
        parts = [counted(held, "rule") + " held", counted(len(self.findings), "does not hold", "do not hold")]
        return ", ".join([*parts, *([f"{open_} not checked"] if open_ else [])]) + f" ({seconds:.0f} s)."

    def as_json(self) -> dict[str, Any]:
        """The report as plain values, each result with its rule's words."""
        words = ("holds", "why", "way_out")
        results = [{**vars(one), **{word: getattr(RULES[one.rule], word) for word in words}} for one in self.results]
        head = {"kind": self.kind, "name": self.name, "task": self.task, "profile": self.profile}
        return {**head, "findings": len(self.findings), "results": results}


def heading(kind: Kind, name: str, task: str, profile: str) -> str:
    """What is checked."""
    return f"{kind} {name}{f', on task {task}' if kind == 'initializer' else ''}, profile {profile}"


def lines(result: Result) -> str:
    """One rule: its mark, its name, what holds or what was found, and the way out."""
    one = RULES[result.rule]
    head = f"  {MARKS[result.status]:<6} {result.rule:<16} "
    texts = list(result.found) or [result.reason or one.holds]
    texts += [f"note: {note}" for note in result.notes]
    texts += [f"way out: {one.way_out}"] if result.found else []
    return "\n".join(f"{head if not number else ' ' * len(head)}{text}" for number, text in enumerate(texts))
