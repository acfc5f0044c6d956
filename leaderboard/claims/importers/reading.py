"""What one cell says: numbers exactly as printed, with their spread, difference, count and marks."""

from __future__ import annotations

from dataclasses import dataclass, field

from leaderboard.claims.importers.grid import Style


@dataclass(slots=True)
class Number:
    """One printed number and what is attached to it; `printed` is empty for the missing part of `7.621 / --`."""

    printed: str
    style: Style
    percent: bool = False
    suffix: str = ""
    """Unit letters directly behind the number: M, G, ms ..."""
    spread: str | None = None
    delta: str | None = None
    delta_percent: bool = False
    more: tuple[tuple[str, bool], ...] = ()
    """Further differences in the same bracket, `(+3.65, +12.74%)`, each with whether it is in percent."""
    interval: tuple[str, str] | None = None
    """The two ends of a range in brackets, `[2950, 3502]`."""
    marks: str = ""
    n: int | None = None
    """Runs behind the number, printed as `(n=5)`."""
    finite: bool = True
    """False for `NaN`, `∞`, `diverged` and their like."""

    @property
    def has_value(self) -> bool:
        """Whether `printed` is a finite number."""
        return self.finite and bool(self.printed)


@dataclass(slots=True)
class Reading:
    """What one cell says. `problem` is the reason when the cell, or `problem_text` of it, was not understood."""

    numbers: list[Number] = field(default_factory=list)
    missing: bool = False
    problem: str = ""
    problem_text: str = ""
