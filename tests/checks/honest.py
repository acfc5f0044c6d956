"""Whole random tables, honestly rounded, through every check: `python tests/checks/honest.py 100000` counts errors.

Every table has averages (plain, by the sizes in its headings, or over some columns), differences in brackets by one of
four rules, precision, recall and F of one confusion matrix, an accuracy with its error, and the best in bold. A quarter
are *unrelated*: their averages and differences are of numbers that are not printed, so that no reading may be found
borne out. Nothing in them is a fault.
"""

from __future__ import annotations

import random
import sys
from collections import Counter

from leaderboard.checks.finding import Finding, Severity
from leaderboard.checks.runner import check_claims
from leaderboard.claims.model import Claim, ClaimSet


def table(chance: random.Random) -> ClaimSet:
    """One table without a fault."""
    digits, rows, parts = chance.choice((1, 1, 2)), chance.randrange(3, 9), chance.randrange(2, 7)
    unrelated, rule = chance.random() < 0.25, chance.choice(("first", "previous", "best", "percent"))
    sizes = [chance.randrange(1, 20) for _ in range(parts)] if chance.random() < 0.3 else []
    left = chance.randrange(parts) if parts > 3 and rows > 3 and chance.random() < 0.2 and not sizes else None
    truth = [[min(chance.uniform(35, 90) + chance.gauss(0, 4), 99) for _ in range(parts)] for _ in range(rows)]
    claims, best = [], [max(range(rows), key=lambda r: round(truth[r][c], digits)) for c in range(parts)]
    for r, values in enumerate(truth):
        scope = {"method": f"method {r}", "metric": "accuracy"}

        def claim(value: float, column: str, r: int = r, **fields: object) -> Claim:
            where = {"table": "Table 1", "row": str(r), "column": column}
            return Claim.model_validate({"printed": f"{value:.{digits}f}", "unit": "percent", "where": where, **fields})

        for c, value in enumerate(values):
            name = f"set {c} ({sizes[c]})" if sizes else f"set {c}"
            marked = round(value, digits) == round(truth[best[c]][c], digits)
            printed = gain(chance, [line[c] for line in truth], r, rule, digits, unrelated)
            claims.append(claim(value, name, scope={**scope, "task": name}, bold=marked, **printed))
        shown = [v for c, v in enumerate(values) if c != left]
        mean = sum(w * v for w, v in zip(sizes, values, strict=True)) / sum(sizes) if sizes else sum(shown) / len(shown)
        mean = chance.uniform(min(values), max(values)) if unrelated else mean
        claims.append(claim(mean, "Avg.", scope={**scope, "task": "Avg."}))
        p, q = chance.uniform(40, 95), chance.uniform(40, 95)
        for metric, value in (("precision", p), ("recall", q), ("F1", 2 * p * q / (p + q))):
            claims.append(claim(value, metric, scope={"method": f"method {r}", "metric": metric, "task": "span"}))
        for metric, value in (("top-1", p), ("top-1 error", 100 - p)):
            claims.append(claim(value, metric, scope={"method": f"method {r}", "metric": metric, "task": "images"}))
    return ClaimSet(id="honest", claims=tuple(claims), captions={"Table 1": "Results (%)."})


def gain(
    chance: random.Random, values: list[float], row: int, rule: str, digits: int, unrelated: bool
) -> dict[str, object]:
    """The difference in brackets of one cell, from the numbers before they were rounded."""
    if row == 0:
        return {}
    base = {"first": values[0], "previous": values[row - 1], "percent": values[0]}.get(rule)
    if base is None:
        base = max(value for at, value in enumerate(values) if at != row)
    base = chance.uniform(35, 90) if unrelated else base
    size = 100 * (values[row] - base) / base if rule == "percent" else values[row] - base
    return {"delta": {"printed": f"{size:+.{digits}f}", "relative": rule == "percent"}}


def errors(count: int, seed: int = 0) -> list[Finding]:
    """What is called an error in so many tables."""
    chance = random.Random(seed)
    reports = (check_claims([table(chance)]) for _ in range(count))
    return [finding for report in reports for finding in report.findings if finding.severity is Severity.ERROR]


if __name__ == "__main__":
    found = errors(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
    sys.stdout.write(f"{len(found)} errors {dict(Counter(f.check for f in found))}\n")
    sys.stdout.writelines(f"{finding.check}: {finding.message} | {finding.arithmetic}\n" for finding in found[:10])
