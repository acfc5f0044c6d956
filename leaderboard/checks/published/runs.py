"""How many runs stand behind the numbers, and what may then be said about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from leaderboard.checks.evidence import Evidence, Number, fold
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, say
from leaderboard.checks.measures import direction_of
from leaderboard.checks.numbers import parse, show
from leaderboard.checks.published.differences import baselines
from leaderboard.checks.registry import check
from leaderboard.checks.relation import difference
from leaderboard.claims.model import Claim, TextClaim
from leaderboard.lexicon.phrases import says

LEVEL = 0.95
FEW_ITEMS = 2
"""A gap of fewer evaluated items than this is nothing."""


@dataclass(frozen=True)
class Comparison:
    """Two numbers a source compares: a stated improvement, a printed difference, or bold against the runner-up."""

    better: Number
    other: Number
    says: str

    @property
    def gain(self) -> Fraction:
        """How much better, positive in the metric's direction."""
        gap = self.better.value - self.other.value
        return -gap if direction_of(self.better.claim)[0] == "min" else gap


def comparisons(evidence: Evidence) -> list[Comparison]:
    """Every comparison the source makes, each pair once."""
    found: dict[tuple[int, int], Comparison] = {}
    for text in evidence.set.text_claims:
        for better, other in compared(evidence, text) if not text.read else ():
            found.setdefault((id(better), id(other)), Comparison(better, other, f"“{text.text}”"))
    for better, other, words in (*_printed(evidence), *_bold(evidence)):
        found.setdefault((id(better), id(other)), Comparison(better, other, words))
    return list(found.values())


def compared(evidence: Evidence, text: TextClaim) -> Iterator[tuple[Number, Number]]:
    """Pairs a sentence speaks of: its method against its baseline, or against every other row."""
    tasks = {fold(task) for task in text.tasks}
    for column in evidence.columns.values():
        scope = column[0].scope
        if (tasks and fold(scope.task) not in tasks) or (text.metric and fold(text.metric) != fold(scope.metric)):
            continue
        mine = [n for n in column if n.method == fold(text.method)]
        others = [n for n in column if n.method != fold(text.method)]
        if text.baseline:
            others = [n for n in others if n.method == fold(text.baseline)]
        yield from ((number, other) for number in mine for other in others)


def _printed(evidence: Evidence) -> Iterator[tuple[Number, Number, str]]:
    for number in evidence.numbers:
        for stated in number.claim.differences:
            if stated.task is None:
                yield from ((number, base, f"({stated.printed})") for base in baselines(evidence, number, stated)[:1])


def _bold(evidence: Evidence) -> Iterator[tuple[Number, Number, str]]:
    """A bold cell and the best that is not bold."""
    for column in evidence.columns.values():
        bold = [n for n in column if n.claim.bold]
        plain = [n for n in column if n.claim.bold is False]
        if not bold or not plain:
            continue
        best = min if direction_of(column[0].claim)[0] == "min" else max
        yield bold[0], best(plain, key=lambda n: n.value), "bold"


@check("SINGLE")
def single(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Comparisons of single runs."""
    single_runs = [n for n in evidence.numbers if n.claim.n == 1]
    if not single_runs:
        tally.skip("n not stated") if any(n.claim.n is None for n in evidence.numbers) else tally.ok()
        return
    pairs = [pair for pair in comparisons(evidence) if pair.better.claim.n == 1 and pair.other.claim.n == 1]
    tables = Counter(n.table for n in single_runs)
    whose = f"{len(single_runs)} of {len(evidence.numbers)} numbers ({', '.join(tables)})"
    if not pairs:
        tally.skip("single runs, nothing compared", len(single_runs))
        return
    pairs.sort(key=lambda pair: abs(pair.gain) / max(abs(pair.other.value), pair.other.reported.ulp))
    said = sorted({pair.says for pair in pairs})
    told = "; ".join(map(_gap, pairs[:3])) + "; the spread of one run is 0/0, so none of these gaps has an error bar"
    yield say(
        f"{whose} come from one run each; {len(pairs)} comparisons are made of them ({', '.join(said[:4])})",
        *(n for pair in pairs[:3] for n in (pair.better, pair.other)), arithmetic=told, pattern="single runs",
        could=[Explanation("several runs, told elsewhere", "the source states n = 1")],
        note="Three or more seeds per number, and mean ± std with n, would make the comparisons testable.",
    )  # fmt: skip


def _gap(pair: Comparison) -> str:
    """The gap, relative to the value, and in items where N is known."""
    a, b = pair.better.reported, pair.other.reported
    text = f"{_rows(pair, '−')}: {difference(a, b)}"
    items = pair.better.claim.items
    if items and pair.better.claim.unit == "percent":
        text += f" = {show(abs(a.value - b.value) * items / 100, 1)} of {items} items"
    return text


def _rows(pair: Comparison, sign: str, printed: bool = False) -> str:
    """The two rows, and what they are compared on where the source says it."""
    a, b = pair.better, pair.other
    names = [n.scope.method or n.row or n.column or "a row" for n in (a, b)]
    shown = [f"{name} {n.text}" if printed else name for name, n in zip(names, (a, b), strict=True)]
    on = a.scope.task or a.scope.metric or a.column
    return f" {sign} ".join(shown) + (f" on {on}" if on else "")


@check("NOISE")
def noise(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A gap that its spread does not support."""
    unsupported: dict[str, list[tuple[Comparison, str]]] = {}
    for pair in comparisons(evidence):
        gap = Fraction(abs(pair.gain))
        same = unsupported.setdefault(pair.better.table, [])
        interval = welch(pair.better, pair.other)
        if interval is not None:
            low, high = interval
            if low <= 0 <= high:
                same.append((pair, f"{_gap(pair)}, 95 % interval [{low:.3g}, {high:.3g}] holds 0"))
            else:
                tally.ok()
        elif _items(pair) is None:
            tally.skip("no spread and no number of items")
        elif gap * (_items(pair) or 0) < FEW_ITEMS * 100:
            same.append((pair, _gap(pair)))
        else:
            tally.skip("one run: only the number of items speaks")
    yield from (_unsupported(table, pairs) for table, pairs in unsupported.items() if pairs)


def _items(pair: Comparison) -> int | None:
    percent = pair.better.claim.unit == "percent"
    return pair.better.claim.items if percent else None


def welch(a: Number, b: Number) -> tuple[float, float] | None:
    """95 % interval of the difference a − b from mean, spread and n; None where one of them is not usable."""
    parts = []
    for number in (a, b):
        spread, n = number.claim.spread, number.claim.n
        printed = parse(spread.printed) if spread else None
        if spread is None or printed is None or spread.kind not in {"sd", "se"} or not n or n < 2:
            return None
        error = float(printed.value) if spread.kind == "se" else float(printed.value) / n**0.5
        parts.append((error**2, n))
    (va, na), (vb, nb) = parts
    gap = float(a.value - b.value)
    if va + vb == 0:
        return gap, gap
    from scipy.stats import t

    freedom = (va + vb) ** 2 / (va**2 / (na - 1) + vb**2 / (nb - 1))
    half = float(t.ppf(0.5 + LEVEL / 2, freedom)) * (va + vb) ** 0.5
    return gap - half, gap + half


def _unsupported(table: str, pairs: list[tuple[Comparison, str]]) -> Finding:
    """The gaps of one table that are within noise."""
    rows = [f"{pair.says}: {_rows(pair, 'against', printed=True)}" for pair, _ in pairs]
    more = f" and {len(rows) - MANY} more" if len(rows) > MANY else ""
    many = f"{len(rows)} gaps of {table} are within noise: {'; '.join(rows[:MANY])}{more}"
    return say(
        f"{rows[0]} is within noise" if len(rows) == 1 else many,
        *(n for pair, _ in pairs[:MANY] for n in (pair.better, pair.other)),
        arithmetic="; ".join(text for _, text in pairs[:MANY]), pattern="gaps within noise", count=len(pairs),
        could=[Explanation("paired by seed, the difference may be sharper", "needs the single runs", True)],
        basis="".join(text for _, text in pairs[MANY:]),
    )  # fmt: skip


MANY = 6
"""Gaps within noise that a finding names one by one."""


@check("CONSIST")
def consistent(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """“consistently better” that is not."""
    for text in evidence.set.text_claims:
        if text.kind != "consistent" or text.read:  # an importer's reading of a sentence is listed, not judged
            continue
        pairs = [Comparison(a, b, text.text) for a, b in compared(evidence, text)]
        if not pairs:
            tally.skip("no numbers for the sentence")
            continue
        kinds = Counter(_outcome(pair) for pair in pairs)
        if kinds["better"] == len(pairs):
            tally.ok()
            continue
        yield _not_consistent(text, pairs, kinds)


def _outcome(pair: Comparison) -> str:
    if direction_of(pair.better.claim)[0] == "unknown":
        return "undecided"
    if pair.gain < 0:
        return "worse"
    if pair.gain == 0:
        return "equal"
    interval = welch(pair.better, pair.other)
    return "undecided" if interval is None or interval[0] <= 0 <= interval[1] else "better"


def _not_consistent(text: TextClaim, pairs: Sequence[Comparison], kinds: Counter[str]) -> Finding:
    against = text.baseline or "every other row"
    worse = [pair for pair in pairs if _outcome(pair) in {"worse", "equal"}] or list(pairs)
    higher = sum(pair.gain > 0 for pair in pairs)
    counts = ", ".join(f"{kinds[name]} {name}" for name in ("better", "undecided", "equal", "worse") if kinds[name])
    told = f"{higher} of {len(pairs)} are better"
    return say(
        f"“{text.text}”: {text.method} against {against} over {len(pairs)} columns: {counts}",
        *(n for pair in worse[:3] for n in (pair.better, pair.other)), pattern="consistency",
        arithmetic=f"printed better in {higher} of {len(pairs)}; " + "; ".join(_gap(pair) for pair in worse[:3]),
        could=[Explanation("meant as the sign of the printed numbers only", told, higher == len(pairs))],
        note="Undecided: no spread and n ≥ 2 on both sides, or an interval that holds 0.",
    )  # fmt: skip


UNEXPLAINED = "± is not explained (sd, se or interval)"
WITHOUT_N = "± without n"
WITHOUT_SPREAD = "n > 1 without a spread"


@check("MISS-SD")
def missing_spread(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Numbers without spread, or a ± that is not explained."""
    gaps: dict[tuple[str, str], list[Number]] = {}
    bare: dict[str, list[Number]] = {}
    for number in evidence.numbers:
        claim = number.claim
        if (kind := _gap_of(claim)) and not _is_told(evidence, number, kind):
            gaps.setdefault((claim.where.table, kind), []).append(number)
        elif claim.spread is None and claim.n is None and (claim.bold or claim.differences):
            bare.setdefault(claim.where.table, []).append(number)
        else:
            tally.in_range()
    yield from (_unexplained(evidence, kind, numbers) for (_, kind), numbers in gaps.items())
    if bare:
        yield _bare(evidence, bare)


def _is_told(evidence: Evidence, number: Number, kind: str) -> bool:
    """Whether the caption says what the ± is taken over, though in no number of runs."""
    text = evidence.set.captions.get(number.table, "")
    resampled = kind == WITHOUT_N and says("resampled", text)
    return resampled or (kind in (WITHOUT_N, UNEXPLAINED) and says("bootstrap", text))


def _gap_of(claim: Claim) -> str:
    """What is missing beside a spread or a number of runs."""
    if claim.spread is None:
        extreme = claim.interval is not None or claim.scope.aggregation in ("best", "worst", "min", "max")
        return WITHOUT_SPREAD if claim.n is not None and claim.n > 1 and not extreme else ""
    if claim.spread.kind == "unknown":
        return UNEXPLAINED
    return WITHOUT_N if claim.n is None else ""


def _unexplained(evidence: Evidence, kind: str, numbers: list[Number]) -> Finding:
    first = numbers[0]
    drawn = says(
        "resampled", evidence.set.captions.get(first.table, "")
    )  # of samples, splits ...: nobody speaks of runs
    return say(
        f"{first.table}: {kind} ({len(numbers)} of {len(evidence.like(first, 'table'))} numbers)", *numbers[:3],
        arithmetic=_readings(first, kind), pattern=kind, count=len(numbers),
        severity=Severity.INFO if drawn else Severity.WARNING,
        could=[Explanation("told in the caption or the text", "enter it as n and spread.kind", True)],
    )  # fmt: skip


def _readings(number: Number, kind: str) -> str:
    """What the gap leaves open, for one number of the table."""
    claim, printed = number.claim, number.text
    if kind == WITHOUT_SPREAD or claim.spread is None:
        return f"{printed} stands for {claim.n} runs, whose sd √(Σ (x − x̄)² / {(claim.n or 2) - 1}) is not printed"
    spread = parse(claim.spread.printed)
    if spread is None or spread.value <= 0:
        return f"{printed} ± {claim.spread.printed}"
    if kind == WITHOUT_N:
        errors = ", ".join(f"{float(spread.value) / runs**0.5:.2g} at n = {runs}" for runs in (3, 5, 10))
        return f"{printed} ± {spread.text}: the standard error of the mean would be {errors}" if (
            claim.spread.kind == "sd") else f"{printed} ± {spread.text}: its sd is √n times as large"  # fmt: skip
    runs = claim.n or 5
    narrow, wide = float(spread.value) / runs**0.5, float(spread.value) * runs**0.5
    given = "" if claim.n else ", at n = 5 for example"
    either = f"an sd makes a standard error of {narrow:.2g}, a standard error an sd of {wide:.2g}"
    return f"{printed} ± {spread.text}{given}: {either}"


def _bare(evidence: Evidence, bare: dict[str, list[Number]]) -> Finding:
    """Tables that compare numbers and state neither spread nor number of runs; one for a source."""
    tables, total, count = list(bare), len(evidence.by("table")), sum(map(len, bare.values()))
    shown = ", ".join(tables[:4]) + (f" and {len(tables) - 4} more" if len(tables) > 4 else "")
    some = f"neither spread nor number of runs stated in {len(tables)} of {total} tables"
    whose = "no table states spread or number of runs" if len(tables) == total else some
    return say(
        f"{whose}: {shown}", *[numbers[0] for numbers in bare.values()][:3], count=count, severity=Severity.INFO,
        arithmetic=f"{count} numbers are bold or have a printed difference; none of these gaps can be tested",
        could=[Explanation("told in the caption or the text", "enter it as n and spread", True)],
        pattern="compared, with neither n nor spread",
    )  # fmt: skip
