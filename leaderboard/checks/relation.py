"""Relations as data, and the one engine that holds printed numbers against them.

A relation says what its operands imply for one of them, the target. From that alone come the verdict under each
rounding policy, the arithmetic, the slips of the pen that would mend it, and the values that would be consistent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, Literal

from leaderboard.checks.finding import Cell, Explanation, Finding, Severity, Tally, Verdict, ranked
from leaderboard.checks.numbers import LOOSER, Interval, Reported, exactly, parse, show
from leaderboard.claims.model import Rounding

Sign = Literal["=", "≤", "≥", "∈"]
"""∈: the formula is a stretch, and not one value known to some digits."""
Implied = Callable[..., Interval]

POLICY = {
    "nearest": "rounded to nearest, ties either way (± 0.5 of the last digit)",
    "double": "rounded twice (± 0.55 of the last digit)",
    "truncated": "truncated (up to 1 of the last digit lost)",
}


@dataclass(frozen=True, slots=True)
class Relation:
    """`target sign implied(others)`, all in the scale that the target is printed in."""

    pattern: str
    """What a break of it is called; also the kind by which many findings of a table become one."""
    formula: str
    """The implied value as text, `{0}` the first of the other operands."""
    implied: Implied
    sign: Sign = "="
    why: str = ""
    """Why it must hold, where the formula does not say it."""
    severity: Severity = Severity.ERROR


@dataclass(frozen=True, slots=True)
class Term:
    """A printed number as an operand."""

    name: str
    reported: Reported
    cell: Cell
    factor: Fraction = Fraction(1)
    """What its print is multiplied by to be in the target's scale."""

    def span(self, policy: Rounding | None = None) -> Interval:
        """Every value that prints like this."""
        span = self.reported.interval(policy)
        return span if self.factor == 1 else span.scale(self.factor)

    def __str__(self) -> str:
        return self.reported.text if self.factor == 1 else show(self.reported.value * self.factor)


@dataclass(frozen=True, slots=True)
class Case:
    """A relation applied to printed numbers, the target first."""

    relation: Relation
    target: Term
    others: tuple[Term, ...]

    def implied(self, policy: Rounding | None = None) -> Interval:
        """What the other operands allow. Raises ZeroDivisionError where they allow everything."""
        return self.relation.implied(*(term.span(policy) for term in self.others))

    def holds(self, policy: Rounding | None = None) -> bool:
        """Whether some values that print like these are so related."""
        try:
            span, target = self.implied(policy), self.target.span(policy)
        except (ZeroDivisionError, ValueError):
            return True
        if self.relation.sign == "≤":
            return target.lo <= span.hi
        return target.hi >= span.lo and (self.relation.sign == "≥" or target.lo <= span.hi)

    @property
    def terms(self) -> tuple[Term, ...]:
        """All operands."""
        return (self.target, *self.others)

    @property
    def exact(self) -> Interval:
        """What the numbers as they stand imply."""
        return self.relation.implied(*(exactly(term.reported.value * term.factor) for term in self.others))

    @property
    def middle(self) -> Fraction:
        """The implied value of the numbers as they stand (the middle, where they imply a stretch)."""
        return (self.exact.lo + self.exact.hi) / 2

    @property
    def digits(self) -> int:
        """Decimals of the target."""
        return max(self.target.reported.decimals, 0)

    @property
    def chance(self) -> float:
        """Probability that unrelated numbers of this size and precision would agree by accident."""
        try:
            span, target = self.implied(), self.target.span()
        except (ZeroDivisionError, ValueError):
            return 1.0
        values = [float(term.reported.value * term.factor) for term in self.terms]
        spread = max(max(values) - min(values), abs(values[0]) / 10, 1e-12)
        return min(1.0, float(span.hi - span.lo + target.hi - target.lo) / spread)

    def judge(self) -> tuple[Verdict, Rounding]:
        """The verdict, and the policy it holds under."""
        return judge(self.holds, self.target.reported.rounding)

    def tell(self, tally: Tally, could: Iterable[Explanation] = (), **more: Any) -> Iterator[Finding]:
        """Count it where it holds; else what to say of it (`finding`)."""
        verdict = self.judge()
        if verdict[0] is Verdict.PASS:
            tally.ok()
        else:
            yield self.finding(could, verdict, **more)

    def changed(self, term: Term, reported: Reported) -> Case:
        """The same with another print of one operand."""
        new = [replace(t, reported=reported) if t is term else t for t in self.terms]
        return replace(self, target=new[0], others=tuple(new[1:]))

    def solved(self, term: Term) -> Fraction | None:
        """What one operand would have to be, by Newton's rule; None where nothing near would do, or much would."""
        if self.relation.sign != "=":
            return None
        if term is self.target:
            return self.middle
        place, value, step = self.others.index(term), term.reported.value, term.reported.ulp
        for _ in range(6):
            at, beyond = (self._at(place, x) for x in (value, value + step))
            if at is None or beyond is None or at == beyond:
                return None
            move = (self.target.reported.value - at) * step / (beyond - at)
            value = (value + move).limit_denominator(10**12)
            if abs(move) < step / 1000:
                break
        return value

    def needed(self, term: Term) -> str | None:
        """What one operand would have to print."""
        if (value := self.solved(term)) is None or (value < 0 <= term.reported.value and term is not self.target):
            return None
        text = show(value, max(term.reported.decimals, 0))
        printed = parse(text, term.reported.rounding)
        return text if printed is not None and self.changed(term, printed).holds() else None

    def _at(self, place: int, value: Fraction) -> Fraction | None:
        terms = [t.reported.value * t.factor for t in self.others]
        terms[place] = value * self.others[place].factor
        try:
            span = self.relation.implied(*map(exactly, terms))
        except (ZeroDivisionError, ValueError):
            return None
        return (span.lo + span.hi) / 2

    def mended(self, near: Callable[[Term], Fraction | None] = lambda _: None) -> Iterator[Explanation]:
        """Copies of another operand, and slips of the pen in each, nearest to what it must be; of many those that fit.

        `near` says what an operand is likely near to where it need be no one value.
        """
        for term, other in combinations(self.terms, 2):
            same = term.reported.text == other.reported.text and len(term.reported.text.strip("+-−0.")) > 2
            if same and (need := self.needed(other)) is not None:
                either = f"{term.name} or " if self.needed(term) == need else ""
                told = f"{term.reported.text} stands twice; {either}{other.name} = {need} would fit"
                yield Explanation("a number from another cell", told, True)
        for term in self.terms:
            goal = self.solved(term)
            found = slip(
                term.name, term.reported, lambda other, t=term: self.changed(t, other).holds(),  # type: ignore[misc]
                near(term) if goal is None else goal,
            )  # fmt: skip
            if found.fits or term is self.target or len(self.terms) < MANY:
                yield found

    @property
    def nearest(self) -> tuple[str, ...]:
        """What each operand would have to print, the others being right; of many only the target."""
        told = self.terms if len(self.terms) < 2 * MANY else (self.target,)
        needs = ((term.name, self.needed(term)) for term in told)
        return tuple(f"{need} for {name}" for name, need in needs if need is not None)

    def finding(
        self, could: Iterable[Explanation] = (), verdict: tuple[Verdict, Rounding] | None = None, *, beside: str = "",
        of: Case | None = None, near: Callable[[Term], Fraction | None] = lambda _: None, **more: Any,
    ) -> Finding:  # fmt: skip
        """What to say of it: the sentence, the arithmetic, the slips, and the values that would be consistent.

        Args:
            could: what else could be the case.
            verdict: by default that of `judge`.
            beside: added to the arithmetic.
            of: the same with further operands that it stands on.
            near: see `mended`.
            more: fields of the finding that are not to be derived; `mended=False` for one without slips.
        """
        whole = of or self
        said, arithmetic = self.told()
        mends = whole.mended(near) if more.pop("mended", True) else ()
        derived = {"pattern": self.relation.pattern, "severity": self.relation.severity,
                   "cells": tuple(dict.fromkeys(term.cell for term in whole.terms)), "message": said}  # fmt: skip
        found = Finding(**{**derived, "arithmetic": arithmetic + beside, "explanations": (*could, *mends),
                           "nearest": whole.nearest, **more})  # fmt: skip
        return reported_as(*(verdict or self.judge()), found)

    def told(self) -> tuple[str, str]:
        """The sentence and the arithmetic."""
        relation, name, target = self.relation, self.target.name, self.target.reported
        digits, middle, span = self.digits, self.middle, self.implied()
        worked, given = relation.formula.format(*self.others), [f"{t.name} {t.reported.text}" for t in self.others]
        stands = f"printed {target.text} stands for {self.target.span()}"
        why = f": {relation.why}" if relation.why else ""
        if relation.sign == "=":
            shown = show(middle, digits + 1)
            ends = f"[{show(span.lo, digits + 2)}, {show(span.hi, digits + 2)}]"
            said = f"{worked} = {show(middle, digits)}, printed {name} {target.text}"
            if worked == str(self.others[0]):
                gap = show(abs(target.value - middle), max(digits, self.others[0].reported.decimals))
                return said, f"|{target.text} − {worked}| = {gap}; {worked} stands for {span}, {stands}"
            return said, f"{worked} = {shown}, in {ends}; {stands}"
        if relation.sign == "∈":
            stretch = f"[{show(self.exact.lo, digits)}, {show(self.exact.hi, digits)}]" if given else worked
            source = f"{worked} is {stretch}, from {', '.join(given)}; " if given else ""
            return f"{name} {target.text} lies outside {stretch}{why}", source + stands
        verb, limit = ("exceeds", span.hi) if relation.sign == "≤" else ("is below", span.lo)
        told = given[0] if worked == str(self.others[0]) else f"{worked} = {show(middle)}"
        gap, allowed = show(abs(target.value - middle), digits), show(abs(limit - middle) + target.ulp / 2)
        return (
            f"{name} {target.text} {verb} {told}{why}",
            f"{target.text} is {gap} beyond {worked}; rounding allows {allowed}",
        )


MANY = 5
"""Operands from which only slips that mend are told; from twice as many only what the target would have to be."""


def bare(relation: Relation, target: Reported, *others: Reported) -> Case:
    """A relation applied to numbers that stand in no table."""
    first, *rest = (Term("", number, Cell(number.text, "")) for number in (target, *others))
    return Case(relation, first, tuple(rest))


def judge(test: Callable[[Rounding | None], bool], declared: Rounding) -> tuple[Verdict, Rounding]:
    """`test(None)` uses every number's own policy, `test(policy)` that one for all.

    Returns the verdict and the policy it holds under (for FAIL: the declared one).
    """
    if test(None):
        return Verdict.PASS, declared
    for policy in LOOSER[declared]:
        if test(policy):
            return Verdict.PASS_IF_ROUNDING, policy
    return Verdict.FAIL, declared


def reported_as(verdict: Verdict, policy: Rounding, finding: Finding) -> Finding:
    """The finding with its verdict; one that holds under a looser rounding only is no more than information."""
    severity, message = finding.severity, finding.message
    if verdict is Verdict.PASS_IF_ROUNDING:
        severity, message = Severity.INFO, f"{message}; agrees only if {POLICY[policy].split(' (')[0]}"
    return replace(
        finding, verdict=verdict, severity=severity, message=message, policy=POLICY[policy],
        explanations=ranked(finding.explanations),
    )  # fmt: skip


# --- slips of the pen -------------------------------------------------------------------------------------------------

LEADING_ZERO = re.compile(r"[+\-−]?0\d")
"""`02.10`: no one prints it."""


def edit(a: str, b: str) -> Explanation:
    """Whether two printed numbers are one digit, one swap of neighbours or one shift of the point apart."""
    kinds = {"one digit differs": b in _changed(a), "two neighbouring digits are swapped": b in _swapped(a),
             "the decimal point has moved": point_moved(a, b)}  # fmt: skip
    title = next((kind for kind, fits in kinds.items() if fits), "")
    told = f"{a} and {b}" if title else f"{a} and {b} differ in more"
    return Explanation(title or "one digit, a swap of digits or the decimal point", told, bool(title))


def point_moved(a: str, b: str) -> bool:
    """The same significant digits with the point elsewhere; a lone digit says too little."""
    digits = [text.replace(".", "").strip("0+-") for text in (a, b)]
    return a != b and digits[0] == digits[1] and len(digits[0]) >= 2


def slips(number: Reported, fits: Callable[[Reported], bool]) -> Iterator[str]:
    """Numbers one changed digit or one swap of neighbours away that fit."""
    text = number.text.strip()
    for candidate in dict.fromkeys((*_changed(text), *_swapped(text))):
        reported = parse(candidate, number.rounding)
        padded = LEADING_ZERO.match(candidate) and not LEADING_ZERO.match(text)
        if not padded and reported is not None and fits(reported):
            yield candidate


def _changed(text: str) -> Iterator[str]:
    for place, character in enumerate(text):
        if character.isdigit():
            yield from (text[:place] + digit + text[place + 1 :] for digit in "0123456789" if digit != character)


def _swapped(text: str) -> Iterator[str]:
    places = [i for i, character in enumerate(text) if character.isdigit()]
    for first, second in pairwise(places):
        if second - first <= 2 and text[first] != text[second]:
            letters = list(text)
            letters[first], letters[second] = letters[second], letters[first]
            yield "".join(letters)


def slip(role: str, number: Reported, fits: Callable[[Reported], bool], exact: Fraction | None = None) -> Explanation:
    """A slip in one number of a relation; of several that fit the nearest to `exact`, by default to the number."""
    goal = number.value if exact is None else exact

    def distance(text: str) -> Fraction:
        reported = parse(text)
        return abs(reported.value - goal) if reported is not None else Fraction(0)

    found = sorted(slips(number, fits), key=distance)
    if not found:
        return Explanation(f"a slip in the {role} {number.text}", "no change of one digit or swap of two fits", False)
    return Explanation(f"a slip in the {role}", f"{number.text} for {' or '.join(found[:3])}", True)


def difference(a: Reported, b: Reported) -> str:
    """`85.92 − 83.38 = 2.54`."""
    return f"{a.text} − {b.text} = {show(a.value - b.value, max(a.decimals, b.decimals, 0))}"
