"""Averages and their parts: stated by role, suggested by a heading, or over listed runs."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from leaderboard.checks.evidence import Evidence, Number, fold, relate
from leaderboard.checks.finding import Cell, cell
from leaderboard.checks.measures import describes, family, is_rank, measure
from leaderboard.checks.numbers import Interval, Reported, parse, weighted_sum
from leaderboard.claims.model import Rounding

NAMES = frozenset({"avg", "avg.", "average", "mean", "overall average", "macro avg", "macro avg.", "macro average"})
"""Headings taken for an average when no role says so."""
SUMMARY = re.compile(
    r"(best|worst|peak|max(imum)?|min(imum)?|median|std|sd|std\.? dev(iation)?|h|hm|h-?mean|harmonic mean|"
    r"gain|Δ|δ|iqm|optimality gap|geo(metric|\.)? ?mean)\.?"
    r"( (seed|run|epoch))?"
)
"""Headings of columns that sum the others up in another way, and so are no part of an average."""


@dataclass(frozen=True)
class Average:
    """A printed average and its parts."""

    whole: Number
    parts: tuple[Reported, ...]
    names: tuple[str, ...]
    cells: tuple[Cell, ...]
    weights: tuple[Fraction, ...] | None
    """Stated weights, or the sizes of the parts; None: unknown."""
    certain: bool
    """Whether the source says that these are the parts, or only the headings suggest it."""
    loose: bool = False
    """Whether only their range is known to bound the average: which of them it is the mean of is not."""
    fitting: int = 0
    """Other averages of the same row or column that are the mean of the same parts."""

    def spans(self, policy: Rounding | None = None) -> list[Interval]:
        """The parts as intervals."""
        return [part.interval(policy) for part in self.parts]

    @property
    def is_sure(self) -> bool:
        """Whether these are the parts, by the source's word or because the other averages beside it bear it out."""
        return self.certain or self.fitting > 0


@lru_cache(maxsize=1)  # two checks ask, one after the other
def averages(evidence: Evidence) -> tuple[Average, ...]:
    """Averages by role, by heading, and means of listed runs."""
    return tuple(_averages(evidence))


def _averages(evidence: Evidence) -> Iterator[Average]:
    for group in evidence.groups.values():
        for whole in group.get("average", ()):
            if parts := group.get("part"):
                yield of(whole, parts, certain=True)
    for line in _lines(evidence).values():
        yield from _read(line)
    yield from _partial(evidence)
    for whole in evidence.numbers:
        if whole.claim.values:
            yield from _of_runs(whole)


def of(whole: Number, parts: list[Number], certain: bool, loose: bool = False) -> Average:
    """An average over cells."""
    stated = [n.claim.weight or (str(n.claim.items) if n.claim.items else None) for n in parts]
    weights = None if None in stated else tuple(Fraction(str(weight).replace(",", "")) for weight in stated)
    return Average(
        whole,
        tuple(n.reported for n in parts),
        tuple(n.scope.task or n.claim.where.column for n in parts),
        (cell(whole.claim), *(cell(n.claim) for n in parts)),
        weights,
        certain,
        loose,
    )


def mean_fits(average: Average, policy: Rounding | None = None) -> bool:
    """Whether the average can be the mean of its parts, equally weighted or by their weights."""
    spans, whole = average.spans(policy), average.whole.interval(policy)
    options = [[Fraction(1)] * len(spans), *([list(average.weights)] if average.weights else [])]
    return any(mean(spans, weights).meets(whole) for weights in options)


def mean(spans: list[Interval], weights: list[Fraction]) -> Interval:
    """Weighted mean of intervals."""
    return weighted_sum(spans, weights).scale(1 / sum(weights, Fraction(0)))


@dataclass
class Line:
    """The averages of one column, or of one row, each with every reading of what it is the average of."""

    wholes: list[Number]
    readings: list[dict[str, list[Number]]]
    plain: bool
    """Whether the place of the averages leaves no doubt about the parts of one metric."""


def _lines(evidence: Evidence) -> dict[tuple[str, ...], Line]:
    """Averages that a heading names, by table and heading."""
    lines: dict[tuple[str, ...], Line] = {}
    for whole in evidence.numbers:
        if whole.claim.role is not None or is_rank(whole.claim):
            continue
        where = whole.claim.where
        if _row_name(whole) in NAMES:
            for key, readings, plain in _row_readings(evidence, whole):
                _add(lines, (where.table, "row", where.row, *key), whole, readings, plain)
        elif _called_average(whole):
            row = [n for n in evidence.by_row[(where.table, where.row)] if _beside(n, whole)]
            _add(
                lines, (where.table, "column", where.column, fold(whole.scope.metric)), whole, _of_row(row, whole), True
            )
    return lines


def _add(
    lines: dict[tuple[str, ...], Line], key: tuple[str, ...], whole: Number, readings: dict[str, list[Number]],
    plain: bool,
) -> None:  # fmt: skip
    if any(len(parts) > 1 for parts in readings.values()):
        line = lines.setdefault(key, Line([], [], plain))
        line.wholes.append(whole)
        line.readings.append(readings)


def _read(line: Line) -> Iterator[Average]:
    """The averages of a line under the reading that most of them bear out."""
    if any("pairs" in readings for readings in line.readings):
        for whole, readings in zip(line.wholes, line.readings, strict=True):
            parts = readings.get("pairs") or next(iter(readings.values()))
            if len(parts) > 1:
                yield of(whole, parts, certain=False, loose="pairs" in readings)
        return
    names = dict.fromkeys(name for readings in line.readings for name in readings)
    best: list[Average] = []
    fitting, chosen = -1, ""
    for name in names:
        entries = [
            of(whole, readings[name], certain=False)
            for whole, readings in zip(line.wholes, line.readings, strict=True)
            if len(readings.get(name, ())) > 1
        ]
        count = sum(map(mean_fits, entries))
        if count > fitting and entries:
            best, fitting, chosen = entries, count, name
    borne_out = 2 * fitting >= len(best)
    alone = len(best) == 1 and line.plain and chosen == "same metric"
    loose = not borne_out and not alone
    yield from (replace(entry, loose=loose, fitting=fitting - mean_fits(entry) if borne_out else 0) for entry in best)


def _called_average(number: Number) -> bool:
    return fold(number.scope.task) in NAMES or (number.scope.task is None and fold(number.claim.where.column) in NAMES)


def _beside(number: Number, whole: Number) -> bool:
    """Another column of the same row that may be a part."""
    a, b = number.scope, whole.scope
    return number is not whole and a.method == b.method and _may_be_part(number) and not relate(a, b).differ


def _may_be_part(number: Number) -> bool:
    """Whether a number is a measurement of its own: no summary of others, no rank, no difference."""
    name = fold(number.scope.task) or fold(number.claim.where.column)
    summary = _called_average(number) or SUMMARY.fullmatch(name) or number.claim.role in {"average", "delta"}
    return not summary and not is_rank(number.claim)


def _of_row(row: list[Number], whole: Number) -> dict[str, list[Number]]:
    """What an average may be the average of: all of its own metric, all scores, or those of the commonest metric."""
    same = [n for n in row if fold(n.scope.metric) == fold(whole.scope.metric)]
    if whole.scope.metric:
        return {"same metric": same}
    same = [n for n in same if not _is_no_score(n)]
    if pairs := _pairs(row):
        return {"pairs": [n for n in row if n in pairs or not n.scope.metric]}
    readings = {"same metric": same} if len(same) > 1 else {}
    scores = [n for n in row if not _is_no_score(n)]
    common = Counter(fold(n.scope.metric) for n in scores if n.scope.metric).most_common(1)
    readings["all scores"] = scores
    if common:
        readings[common[0][0]] = [n for n in scores if fold(n.scope.metric) == common[0][0]]
    return readings


def _is_no_score(number: Number) -> bool:
    """Costs, perplexities and other quantities that no average of percentages holds, and hyper-parameters."""
    known = family(measure(number.claim))
    return describes(number.claim) or (known is not None and known.direction == "min" and not known.is_share)


def _row_readings(evidence: Evidence, whole: Number) -> Iterator[tuple[tuple[str, ...], dict[str, list[Number]], bool]]:
    """An average row over the rows above it, or all rows of the column; below it where none is above."""
    where = whole.claim.where
    group, slash, _ = where.row.rpartition(" / ")
    whole_column = [n for n in evidence.by_table[where.table] if n.claim.where.column == where.column]
    column = [n for n in whole_column if n.claim.where.row.startswith(group + slash)]
    if group and _groups(whole_column, averages=False) != _groups(whole_column, averages=True):
        return  # one below the last group may be over all of them
    labels = [n.claim.where.row for n in whole_column if n.claim.where.row]
    rows = [n for n in whole_column if _row_name(n) not in NAMES]
    if not where.column or len(set(labels)) < len(rows):
        return
    at = next(position for position, n in enumerate(column) if n is whole)
    breaks = [position for position, n in enumerate(column) if _row_name(n) in NAMES]
    before = max((position for position in breaks if position < at), default=-1)
    block = column[before + 1 : at] or [n for n in column[at + 1 :] if _row_name(n) not in NAMES]
    readings = {
        "same metric": [n for n in block if _is_row_part(n, whole)],
        "all rows": [n for n in rows if _is_row_part(n, whole)],
    }
    yield (str(breaks.index(at)),), readings, len(breaks) == 1 and whole.scope.task is not None


PARTIAL = re.compile(
    r"(?!.*\b(rank|gain|time|len))(\S.{0,20}[ -](avg|average|mean)|(avg|average|mean)\.? \S.{0,20}?)\.?"
)
"""`OOD avg.`: the average of some of the columns beside it."""
COUNTS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
CLEAR = 3
"""Other rows that must bear out which columns a partial average is over, where the caption tells no number."""


def _partial(evidence: Evidence) -> Iterator[Average]:
    """Averages of some neighbouring columns: those whose mean all other rows, or all but this one, print."""
    columns: dict[tuple[str, str, str], list[Number]] = defaultdict(list)
    for number in evidence.numbers:
        where = number.claim.where
        if number.claim.role is None and PARTIAL.fullmatch(fold(where.column)) and not is_rank(number.claim):
            columns[(where.table, where.column, fold(number.scope.metric))].append(number)
    for (table, heading, _), wholes in columns.items():
        rows = [_parts_beside(evidence, whole) for whole in wholes]
        size = len(rows[0])
        if size < 2 or any(
            [n.claim.where.column for n in row] != [n.claim.where.column for n in rows[0]] for row in rows
        ):
            continue
        told = _count_told(evidence.set.captions.get(table, ""), heading)
        lengths = range(2, size + 1) if told is None else (told,)
        runs = [(first, first + length) for length in lengths for first in range(size - length + 1)]
        tried = [[of(w, row[a:b], certain=False) for w, row in zip(wholes, rows, strict=True)] for a, b in runs]
        best = max(tried, key=lambda entries: sum(map(mean_fits, entries)), default=[])
        fitting = sum(map(mean_fits, best))
        if fitting >= max(len(best) - 1, CLEAR if told is None else 2):
            yield from best  # found by its fit, so never sure


def _parts_beside(evidence: Evidence, whole: Number) -> list[Number]:
    """Numbers of the same row and metric that are no averages."""
    row = evidence.by_row[(whole.claim.where.table, whole.claim.where.row)]
    beside = (n for n in row if _beside(n, whole) and fold(n.scope.metric) == fold(whole.scope.metric))
    return [n for n in beside if not PARTIAL.fullmatch(fold(n.claim.where.column))]


def _count_told(caption: str, heading: str) -> int | None:
    """`OOD avg. is the mean of the three shifted sets` → 3."""
    text, name = " ".join(caption.casefold().split()), fold(heading).rstrip(".")
    counts = "|".join([*COUNTS, r"\d+"])
    said = re.search(rf"{re.escape(name)}\W[^,;]{{0,40}}?\b(?:over|of|across|on) (?:all |the )*({counts})\b", text)
    return None if said is None else COUNTS.get(said[1]) or int(said[1])


def _groups(column: list[Number], averages: bool) -> set[str]:
    """The groups of rows with an average of their own, or all groups."""
    rows = [n.claim.where.row for n in column if (_row_name(n) in NAMES) == averages]
    return {row.rpartition(" / ")[0] for row in rows} - {""}


def _row_name(number: Number) -> str:
    """The lowest label of a row: `Avg` of `ETTh1 / Avg`."""
    return fold(number.claim.where.row.rpartition(" / ")[2])


def _is_row_part(number: Number, whole: Number) -> bool:
    """Another row of the same column that may be a part."""
    a, b = number.scope, whole.scope
    named = SUMMARY.fullmatch(fold(number.claim.where.row)) is not None
    alike = fold(a.metric) == fold(b.metric) or not b.metric
    score = not _is_no_score(number) or (b.metric and number.claim.unit != "perplexity" and not describes(number.claim))
    return bool(alike and score) and not named and _may_be_part(number) and not relate(a, b).differ


def _pairs(row: list[Number]) -> list[Number]:
    """Numbers of cells such as `91.0/87.7`: one cell with several metrics beside cells with none."""
    cells: dict[str, list[Number]] = defaultdict(list)
    for number in row:
        if number.scope.task and number.scope.metric:
            cells[number.claim.where.column].append(number)
    return [number for numbers in cells.values() if len(numbers) > 1 for number in numbers]


def _of_runs(whole: Number) -> Iterator[Average]:
    runs = [parse(text, whole.claim.rounding) for text in whole.claim.values]
    parts = tuple(run for run in runs if run is not None)
    if len(parts) == len(runs) > 1:
        names = tuple(f"run {position}" for position in range(1, len(parts) + 1))
        yield Average(whole, parts, names, (cell(whole.claim),), None, True)
