"""Baselines that nobody names: one reading for a whole table, what breaks it, and what must stay silent."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from leaderboard.checks.difference import is_percentage, quotient
from leaderboard.checks.finding import Severity
from leaderboard.checks.numbers import parse
from leaderboard.checks.runner import Report, check_claims
from leaderboard.claims.model import Claim, ClaimSet

Row = tuple[str, str, str | None]
"""Method, value, printed difference."""


@pytest.fixture
def findings(make: Callable[..., Claim]) -> Callable[..., list[tuple[str, str, str]]]:
    """(check, severity, difference) of what DELTA and REL say of columns of rows."""

    def run(*columns: Sequence[Row], groups: Sequence[str] = (), **delta: Any) -> list[tuple[str, str, str]]:
        claims = []
        for place, rows in enumerate(zip(*columns, strict=True)):
            for column, (method, value, printed) in enumerate(rows):
                fields: dict[str, Any] = {"model": groups[place]} if groups else {}
                if printed is not None:
                    fields["delta"] = {"printed": printed, **delta}
                scope = {"task": f"task {column}", "metric": "accuracy", "method": method}
                where = {"row": f"{place} {method}", "column": f"task {column}"}
                claims.append(make(value, unit="percent", **scope, **where, **fields))
        report = check_claims([ClaimSet(id="t", claims=tuple(claims))], only=["DELTA", "REL"])
        return [
            (f.check, str(f.severity), next((c.printed for c in f.cells if c.printed.startswith("(")), ""))
            for f in report.findings
        ]

    return run


def steps(wrong: str | None = None) -> list[Row]:
    printed = [None, "+0.7", "+0.2", wrong or "+1.2", "+0.8"]
    return list(zip("abcde", ("76.1", "76.8", "77.0", "78.2", "79.0"), printed, strict=True))


def test_steps_from_row_to_row_are_silent(findings: Any) -> None:
    assert findings(steps()) == []
    assert findings(steps(), to="previous") == []


@pytest.mark.parametrize("wrong", ["+0.3", "+0.9", "+1.0", "+1.6", "+1.8", "+2.7", "+3.2", "+7.2"])
def test_a_wrong_step_is_told_though_it_fits_another_row_or_as_a_percentage(findings: Any, wrong: str) -> None:
    assert findings(steps(wrong)) == [("DELTA", "warning", f"({wrong})")]
    assert findings(steps(wrong), to="previous") == [("DELTA", "error", f"({wrong})")]


def test_a_total_among_steps_is_wrong_only_where_the_source_says_steps(findings: Any) -> None:
    total = [*steps()[:4], ("e", "79.0", "+2.9")]
    assert findings(total) == []
    assert findings(total, to="previous") == [("DELTA", "error", "(+2.9)")]


GROUPS = ("DeiT", "DeiT", "DeiT", "Swin", "Swin", "Swin")


def grouped(last: str, base: str = "Baseline") -> list[Row]:
    methods = [base, "Distill", "Ours"] * 2
    values = ("79.8", "81.2", "81.9", "81.3", "82.0", "82.6")
    return list(zip(methods, values, (None, "+1.4", "+2.1", None, "+0.7", last), strict=True))


@pytest.mark.parametrize("groups", [GROUPS, ()])
@pytest.mark.parametrize("wrong", ["+0.3", "+0.8", "+1.6", "+1.8", "+2.3", "+7.3"])
def test_each_group_has_its_own_baseline(findings: Any, groups: Sequence[str], wrong: str) -> None:
    assert findings(grouped("+1.3"), groups=groups) == []
    assert findings(grouped("+1.3"), groups=groups, to="corresponding") == []
    assert findings(grouped(wrong), groups=groups) == [("DELTA", "warning", f"({wrong})")]
    assert findings(grouped(wrong), groups=groups, to="corresponding") == [("DELTA", "error", f"({wrong})")]
    assert findings(grouped(wrong, "ERM"), groups=groups, to="corresponding") == [("DELTA", "error", f"({wrong})")]


def test_pairs_below_their_own_baselines_in_two_columns(findings: Any) -> None:
    def pairs(last: str) -> list[list[Row]]:
        methods = ("MoCo", "+ Ours", "BYOL", "+ Ours")
        first = zip(methods, ("60.1", "62.0", "63.4", "65.5"), (None, "+1.9", None, "+2.1"), strict=True)
        second = zip(methods, ("40.2", "43.3", "42.0", "44.6"), (None, "+3.1", None, last), strict=True)
        return [list(first), list(second)]

    assert findings(*pairs("+2.6")) == []
    assert findings(*pairs("+6.2")) == [("DELTA", "warning", "(+6.2)")]


@pytest.mark.parametrize(("relative", "check", "right", "wrong"), [
    (False, "DELTA", ("+1.7", "+2.6", "+0.9"), "+3.6"), (True, "REL", ("2.35", "4.23", "1.09"), "5.23"),
])  # fmt: skip
@pytest.mark.parametrize("rule", [None, "best"])
def test_the_best_competitor_of_each_task(
    findings: Any, relative: bool, check: str, right: Sequence[str], wrong: str, rule: str | None
) -> None:
    def tasks(gains: Sequence[str]) -> list[list[Row]]:
        values = (("70.1", "72.3", "74.0"), ("61.5", "60.2", "64.1"), ("80.0", "82.2", "83.1"))
        return [list(zip("ABo", row, (None, None, gain), strict=True)) for row, gain in zip(values, gains, strict=True)]

    assert findings(*tasks(right), relative=relative, to=rule) == []
    told = findings(*tasks([right[0], wrong, right[2]]), relative=relative, to=rule)
    assert [item[:2] for item in told] == [(check, "warning")]


@pytest.mark.parametrize("last", ["10.0", "13.0"])
def test_percentages_of_metrics_with_either_direction_share_a_reading(make: Callable[..., Claim], last: str) -> None:
    columns = (("recall", "50.0", "40.0", "55.0", "10.0"), ("MRR", "20.0", "30.0", "36.0", "20.0"),
               ("RMSE", "8.0", "9.0", "7.0", "12.5"), ("MAE", "6.0", "5.0", "4.5", last))  # fmt: skip
    claims = []
    for metric, *values, gain in columns:
        for method, value in zip("ABo", values, strict=True):
            delta = {"delta": {"printed": gain, "relative": True, "to": "best"}} if method == "o" else {}
            direction = "max" if metric in ("recall", "MRR") else "min"
            claims.append(make(value, task="T", metric=metric, method=method, direction=direction, row=method, **delta))
    report = check_claims([ClaimSet(id="t", claims=tuple(claims))], only=["REL"])
    assert [(f.check, str(f.severity)) for f in report.findings] == ([] if last == "10.0" else [("REL", "warning")])


def test_a_guess_of_the_importer_is_never_an_error(make: Callable[..., Claim], run: Callable[..., Report]) -> None:
    def rows(**delta: Any) -> list[Claim]:
        shared = {"task": "A", "metric": "accuracy", "unit": "percent"}
        gain = {"printed": "+9.9", "baseline": "base", **delta}
        return [make("80.0", method="base", **shared), make("82.0", method="mine", delta=gain, **shared)]

    assert [f.severity for f in run("DELTA", *rows(inferred=True)).findings] == [Severity.WARNING]
    assert [f.severity for f in run("DELTA", *rows()).findings] == [Severity.ERROR]


def test_a_line_of_differences_has_one_reading_for_all_metrics(make: Callable[..., Claim]) -> None:
    def told(last: str) -> list[tuple[str, str]]:
        metrics = (("BLEU", "31.4", "32.0", "+0.6"), ("COMET", "84.9", "85.6", "+0.7"),
                   ("chrF", "55.0", "55.9", "+0.9"), ("TER", "50.1", "49.0", last))  # fmt: skip
        claims = []
        for metric, base, value, gain in metrics:
            shared = {"task": "T", "metric": metric}
            delta = {"printed": gain, "baseline": "SFT", "inferred": True}
            claims += [make("30.0", method="LLaMA", row="0", **shared), make(base, method="SFT", row="1", **shared)]
            claims.append(make(value, method="ours", row="2", delta=delta, **shared))
        report = check_claims([ClaimSet(id="t", claims=tuple(claims))], only=["DELTA"])
        return [(str(f.severity), f.cells[0].printed) for f in report.findings]

    assert told("-1.1") == told("+1.1") == []
    assert told("-2.3") == [("warning", "(-2.3)")]


def test_a_gap_to_another_task_that_fits_is_silent(make: Callable[..., Claim], run: Callable[..., Report]) -> None:
    claims = []
    for method, clean, corrupted, gap in (("R50", "76.1", "39.2", "36.9"), ("ours", "77.0", "51.1", "25.9")):
        shared = {"metric": "accuracy", "method": method, "row": method}
        delta = {"printed": gap, "task": "clean", "inferred": True}
        claims += [make(clean, task="clean", **shared), make(corrupted, task="corrupted", delta=delta, **shared)]
    assert run("DELTA", *claims).findings == []


def test_of_several_baselines_of_one_name_the_one_above_is_told(
    make: Callable[..., Claim], run: Callable[..., Report]
) -> None:
    shared = {"task": "A", "metric": "accuracy"}
    delta = {"printed": "+1.8", "baseline": "base"}
    rows = [make(value, method="base", row=value, **shared) for value in ("79.8", "81.3")]
    findings = run("DELTA", *rows, make("82.6", method="mine", delta=delta, **shared)).findings
    assert [f.message for f in findings] == ["82.6 − 81.3 = 1.3, printed difference +1.8"]


def test_every_difference_of_a_number_is_checked(make: Callable[..., Claim]) -> None:
    def told(*more: dict[str, Any]) -> list[tuple[str, str]]:
        shared = {"task": "A", "metric": "accuracy", "unit": "percent"}
        first = {"printed": "+2.44", "baseline": "base"}
        claims = (
            make("83.38", method="base", **shared),
            make("84.00", method="other", **shared),
            make("85.82", method="mine", delta=first, deltas=more, **shared),
        )
        report = check_claims([ClaimSet(id="t", claims=claims)], only=["DELTA", "REL"])
        return [(f.check, str(f.severity)) for f in report.findings]

    relative = {"baseline": "base", "relative": True}
    assert told({"printed": "2.93", **relative}, {"printed": "+1.82", "baseline": "other"}) == []
    assert told({"printed": "9.93", **relative}) == [("REL", "error")]
    assert told({"printed": "+3.82", "baseline": "other"}) == [("DELTA", "error")]


@pytest.mark.parametrize("sign", [1, -1])
def test_whole_numbers_decide_like_intervals(sign: int) -> None:
    chance = random.Random(sign)
    seen = set()
    for _ in range(2000):
        a, b = (f"{chance.uniform(0.1, 9):.{chance.randrange(3)}f}" for _ in range(2))
        if float(b) == 0:
            continue
        gain = sign * (float(a) - float(b)) / float(b) * 100 + chance.uniform(-8, 8)
        numbers = [parse(text) for text in (a, b, f"{gain:.{chance.randrange(3)}f}")]
        x, y, d = (number for number in numbers if number is not None)
        span = quotient(x, y)
        expected = span is not None and span.scale(sign).meets(d.interval())
        assert is_percentage(x, y, d, sign) is expected
        seen.add(expected)
    assert seen == {True, False}


RULES = ("previous", "first", "pairs", "best")


def random_table(chance: random.Random, rule: str, relative: bool, rows: int) -> list[list[Row]]:
    """Columns of true numbers with the rule's difference beside each but the first."""
    columns = []
    for _ in range(chance.randrange(1, 4)):
        values = [chance.uniform(40, 90)]
        for _ in range(rows):
            values.append(
                values[-1] + chance.uniform(0, 1.5) if rule == "previous" else values[0] + chance.uniform(-1, 4)
            )
        column: list[Row] = [("m0", f"{values[0]:.1f}", None)]
        for i in range(1, rows + 1):
            plain = [values[0], *(values[k] for k in range(2, rows + 1, 2))]
            base = {"previous": values[i - 1], "first": values[0], "pairs": values[i - 1], "best": max(plain)}[rule]
            shown = rule in ("previous", "first") or i % 2 == 1
            gain = (values[i] - base) * (100 / base if relative else 1)
            column.append((f"m{i}", f"{values[i]:.1f}", f"{gain:+.1f}" if shown else None))
        columns.append(column)
    return columns


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_honest_differences_of_any_rule_are_silent(findings: Any, rule: str, relative: bool) -> None:
    chance = random.Random(f"{rule} {relative}")
    for _ in range(60):
        table = random_table(chance, rule, relative, chance.randrange(2, 8))
        assert findings(*table) == []
        assert findings(*table, relative=relative) == []


def test_differences_to_a_baseline_that_is_not_in_the_table_are_hardly_ever_told(findings: Any) -> None:
    chance = random.Random(5)
    told = 0
    for _ in range(200):
        rows = chance.randrange(3, 8)
        gains = [None, *(f"+{chance.uniform(0.1, 5):.1f}" for _ in range(rows))]
        values = [f"{chance.uniform(70, 76):.1f}" for _ in gains]
        found = findings([(f"m{i}", value, gain) for i, (value, gain) in enumerate(zip(values, gains, strict=True))])
        assert all(severity == "warning" for _, severity, _ in found)
        told += bool(found)
    assert told <= 6


def test_which_reading_wins_a_tie_does_not_hang_on_the_hash_seed() -> None:
    """Row `a` is the first, the best and a named one: all three readings explain every other difference."""
    program = """
import random
from leaderboard.checks.runner import check_claims
from leaderboard.claims.model import Claim, ClaimSet
chance, claims = random.Random(0), []
def add(row, column, text, **more):
    scope = {"method": row, "task": column, "metric": "accuracy"}
    where = {"table": "T", "row": row, "column": column}
    claims.append(Claim.model_validate({"printed": text, "unit": "percent", "scope": scope, "where": where, **more}))
for column in "ABCD":
    add("a", column, "90.00")
    for row in "bcdef":
        value = round(chance.uniform(40, 89), 2)
        gain = (value - 90) / 0.9 + (5 if (row, column) == ("c", "B") else 0)
        add(row, column, f"{value:.2f}", delta={"printed": f"{gain:+.2f}", "relative": True})
print([(f.check, f.severity, f.arithmetic) for f in check_claims([ClaimSet(id="x", claims=claims)]).findings])
"""
    told = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2", "4")
    }  # fmt: skip
    assert len(told) == 1
    assert "('REL', <Severity.ERROR" in told.pop()
