"""Tables made from true numbers by honest rounding are never called impossible under their own policy.

Random tables, each with a value printed twice, a difference, an average, an accuracy with its error, a count
over N, P, R and F1, an ordered pair and a relative gain; every number is rounded by one of four procedures.
"""

from __future__ import annotations

import importlib.util
import os
import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from leaderboard.checks.difference import agrees, quotient
from leaderboard.checks.finding import Severity
from leaderboard.checks.numbers import Reported, exactly, parse, show
from leaderboard.checks.pairs import meet
from leaderboard.checks.published.counts import possible
from leaderboard.checks.relation import bare
from leaderboard.checks.relations import f_measure, harmonic, identity
from leaderboard.checks.runner import check_claims
from leaderboard.claims.model import Claim, ClaimSet, Rounding

TABLES = int(os.environ.get("HONEST_TABLES", "20000"))
"""A slice; `HONEST_TABLES=100000 pytest tests/checks/test_honest_tables.py` draws all."""
COMPLEMENT = identity("error", "accuracy").on(Fraction(100))
ORDER = identity("top1", "top5").on(Fraction(100))
WHOLE = 10**9
"""True numbers are whole multiples of 10^-9."""

Procedure = Callable[[int, int], int]


def half_away(true: int, decimals: int) -> int:
    unit = 10 ** (9 - decimals)
    return (abs(true) * 2 + unit) // (2 * unit) * (1 if true >= 0 else -1)


def half_even(true: int, decimals: int) -> int:
    unit = 10 ** (9 - decimals)
    low, rest = divmod(true, unit)
    return low + (2 * rest > unit or (2 * rest == unit and low % 2 == 1))


def twice(true: int, decimals: int) -> int:
    finer = half_away(true, decimals + 1)
    return (abs(finer) * 2 + 10) // 20 * (1 if finer >= 0 else -1)


def truncate(true: int, decimals: int) -> int:
    unit = 10 ** (9 - decimals)
    return abs(true) // unit * (1 if true >= 0 else -1)


PROCEDURES: dict[str, tuple[Procedure, Rounding]] = {
    "half away from zero": (half_away, "nearest"),
    "half to even": (half_even, "nearest"),
    "rounded twice": (twice, "double"),
    "truncated": (truncate, "truncated"),
}


class Printer:
    """Prints true numbers by one procedure."""

    def __init__(self, name: str) -> None:
        self.round, self.policy = PROCEDURES[name]

    def __call__(self, true: int, decimals: int, sign: bool = False) -> Reported:
        mantissa = self.round(true, decimals)
        text = ("+" if sign and mantissa >= 0 else "") + ("-" if mantissa < 0 else "") + str(abs(mantissa))
        return Reported(text, mantissa, decimals, self.policy)


def draw(chance: random.Random, top: int) -> int:
    """A true number below `top`, often on or next to a tie."""
    value = chance.randrange(top * WHOLE)
    if chance.random() < 0.3:
        unit = 10 ** (9 - chance.randrange(1, 4))
        value = value // unit * unit + unit // 2 + chance.choice((-1, 0, 0, 1))
    return min(max(value, 0), top * WHOLE)


@pytest.mark.parametrize("name", PROCEDURES)
def test_honestly_rounded_table_is_never_impossible(name: str) -> None:
    chance = random.Random(name)
    printer = Printer(name)
    for _ in range(TABLES // len(PROCEDURES)):
        d = chance.randrange(1, 4)
        a, b = draw(chance, 100), draw(chance, 100)
        first, second = printer(a, d), printer(b, d)
        assert meet(first, printer(a, chance.randrange(0, 5)))
        assert agrees(first, second, printer(a - b, chance.randrange(1, 4), sign=True))
        assert bare(COMPLEMENT, printer(100 * WHOLE - a, d), first).holds()
        assert bare(ORDER, printer(min(a, b), d), printer(max(a, b), d)).holds()
        items = chance.randrange(50, 20_000)
        count = chance.randrange(items + 1)
        share = Fraction(100 * count * WHOLE, items)
        if share.denominator == 1 or name != "rounded twice":
            printed = exact_printer(name, share, d)
            assert possible(printed, True, items)


def exact_printer(name: str, true: Fraction, decimals: int) -> Reported:
    """A fraction rounded without first cutting it to nine decimals."""
    scaled = true / WHOLE * 10**decimals
    if name == "rounded twice":
        scaled = Fraction(int(scaled * 10 + Fraction(1, 2)), 10)
    low = scaled.numerator // scaled.denominator
    rest = scaled - low
    up = {
        "half away from zero": rest >= Fraction(1, 2),
        "half to even": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and low % 2 == 1),
        "rounded twice": rest >= Fraction(1, 2),
        "truncated": False,
    }[name]
    mantissa = low + up
    return Reported(str(mantissa), mantissa, decimals, PROCEDURES[name][1])


@pytest.mark.parametrize("name", PROCEDURES)
def test_honestly_rounded_averages_scores_and_ratios_are_never_impossible(name: str) -> None:
    chance = random.Random(f"{name} 2")
    printer = Printer(name)
    for _ in range(1500):
        d = chance.randrange(1, 4)
        p, r = draw(chance, 1) + 1, draw(chance, 1) + 1
        f = harmonic(exactly(Fraction(p, WHOLE)), exactly(Fraction(r, WHOLE))).lo
        score = exact_printer(name, f * WHOLE, d)
        assert bare(f_measure(Fraction(1)), score, printer(p, d), printer(r, d)).holds()
        a, b = draw(chance, 100), draw(chance, 100) + WHOLE
        ratio = Fraction(a - b, b) * 100
        if ratio >= 0:
            over = quotient(printer(a, d), printer(b, d))
            assert over is not None
            assert over.meets(exact_printer(name, ratio * WHOLE, d).interval())


@pytest.mark.parametrize("name", PROCEDURES)
def test_whole_sets_of_honest_tables_give_no_error_and_no_failure(name: str) -> None:
    chance = random.Random(f"{name} 3")
    printer = Printer(name)
    claims = [claim for row in range(250) for claim in honest_row(chance, printer, row)]
    report = check_claims([ClaimSet(id="honest", claims=tuple(claims))])
    assert report.numbers >= 2500
    assert [f.message for f in report.findings if f.severity is Severity.ERROR] == []
    wanted = ("XT-DUP", "DELTA", "AVG", "AVG-RANGE", "COMPL", "ORDER", "F-BOUND", "F-HARM", "GRIM-ACC", "DOMAIN")
    assert [f.message for f in report.findings if f.check in wanted and f.severity is Severity.WARNING] == []
    assert all(report.tallies[id].passed for id in wanted)


def text(reported: Reported) -> str:
    return show(reported.value, reported.decimals)


def honest_row(chance: random.Random, printer: Printer, row: int) -> list[Claim]:
    """Ten numbers of one row of true values."""
    d = chance.randrange(1, 4)
    items = chance.randrange(50, 900)
    counts = sorted(chance.randrange(items + 1) for _ in range(4))
    task = f"task {row}"

    def claim(printed: Reported, column: str, metric: str, **fields: object) -> Claim:
        scope = {"task": task, "metric": metric, "method": "mine", "budget": "same"} | dict(fields.pop("scope", {}))  # type: ignore[call-overload]
        where = {"table": "Table 1", "row": str(row), "column": column} | dict(fields.pop("where", {}))  # type: ignore[call-overload]
        data = {"printed": text(printed), "scope": scope, "where": where, "unit": "percent", "rounding": printer.policy}
        return Claim.model_validate({**data, "direction": "max", "group": str(row), **fields})

    top1, top5 = (exact_printer_for(printer, Fraction(100 * counts[i] * WHOLE, items), d) for i in (1, 3))
    value, base = draw(chance, 100), draw(chance, 100)
    parts = [draw(chance, 100) for _ in range(chance.randrange(2, 6))]
    mean = exact_printer_for(printer, Fraction(sum(parts), len(parts)), d)
    p, r = draw(chance, 100) + 1, draw(chance, 100) + 1
    f1 = exact_printer_for(printer, harmonic(exactly(p), exactly(r)).lo, d)
    error = exact_printer_for(printer, 100 * WHOLE - Fraction(100 * counts[1] * WHOLE, items), d)
    difference = printer(value - base, d, sign=True)
    signed = ("+" if difference.mantissa >= 0 else "") + text(difference)
    return [
        claim(top1, "top1", "top-1", role="top1", items=items, n=1),
        claim(error, "error", "top-1 error", role="top1 error", direction="min"),
        claim(top5, "top5", "top-5", role="top5", items=items, n=1),
        claim(printer(value, d), "value", "score", delta={"printed": signed, "baseline": "base"}),
        claim(printer(base, d), "base", "score", scope={"method": "base"}),
        claim(printer(value, chance.randrange(1, 5)), "value", "score", where={"table": "Table 2"}),
        claim(mean, "mean", "mean", role="average"),
        *(claim(printer(x, d), f"part {i}", "part", role="part") for i, x in enumerate(parts)),
        claim(printer(p, d), "P", "precision", role="precision"),
        claim(printer(r, d), "R", "recall", role="recall"),
        claim(f1, "F1", "F1", role="f1"),
    ]


def exact_printer_for(printer: Printer, true: Fraction, decimals: int) -> Reported:
    name = next(name for name, (function, _) in PROCEDURES.items() if function == printer.round)
    return exact_printer(name, true, decimals)


def test_parser_and_printer_agree() -> None:
    assert parse("85.92") == Reported("85.92", 8592, 2)


def test_whole_honest_tables_with_averages_differences_and_bold_hold_no_error() -> None:
    spec = importlib.util.spec_from_file_location("honest", Path(__file__).with_name("honest.py"))
    assert spec is not None
    assert spec.loader is not None
    honest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(honest)
    assert [f"{finding.check}: {finding.message}" for finding in honest.errors(80, seed=7)] == []
