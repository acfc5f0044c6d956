"""What printed averages are averages of: stated by role, or the reading of a heading that its other rows bear out.

The averages of one line (under one heading, or in one row) are read alike. Natural readings (all scores beside them,
those of one metric, those to the left ...) are tried first, equally weighted and by the sizes told; then those that
leave numbers out. The reading that gives most of the averages is taken, if it is natural and gives half of them or if
it is no accident (`borne`); the odd ones out are the findings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations

from leaderboard.checks.borne import Hypothesis, Score, gathered
from leaderboard.checks.evidence import Evidence, Number, fold, relate
from leaderboard.checks.measures import describes, family, is_rank, measure
from leaderboard.checks.numbers import Interval, parse, weighted_sum
from leaderboard.checks.relation import Case, Relation, Term
from leaderboard.lexicon import read

Weights = tuple[Fraction, ...] | None
MEANS = frozenset({"avg", "average", "averaged", "mean", "macro"})
SUMMARIES = frozenset({
    "best", "worst", "peak", "max", "maximum", "min", "minimum", "median", "h", "hm", "h-mean", "harmonic mean", "iqm",
    "overall", "total", "optimality gap", "geometric mean", "geo mean", "geo. mean", "geomean",
})  # fmt: skip
"""Labels of numbers that sum the others up in another way, and so are no part of an average."""
PADDED = 10
"""Parts from which zeros at the end of all of them are no digits."""
UNTOLD = "weights that are not stated"
MOST_LEFT_OUT = 2
"""Numbers that a reading may leave out."""


@dataclass(frozen=True)
class Average:
    """A printed average against its parts."""

    whole: Number
    case: Case
    """The relation of the reading that was taken."""
    holds: bool
    """Whether it holds under the number's own rounding policy."""
    weights: Weights
    """Stated weights, or the sizes of the parts; None: unknown."""
    score: Score | None = None
    """What the other averages of its line say to the reading; None: the source itself says which parts these are."""
    title: str = ""
    """How the reading differs from the plain mean of everything beside the average."""

    @property
    def parts(self) -> tuple[Term, ...]:
        """The parts."""
        return self.case.others

    @cached_property
    def is_sure(self) -> bool:
        """Whether the parts are known, by the source's word or because the other averages bear it out."""
        return self.score is None or self.score.is_borne_out()


def mean_relation(size: int, weights: Weights = None) -> Relation:
    """The mean of so many parts, equally weighted or by weights."""
    if weights is None or len(set(weights)) == 1:
        text = f"({' + '.join(f'{{{i}}}' for i in range(size))}) / {size}"
        weights = (Fraction(1),) * size
    else:
        text = " + ".join(f"{float(weight):g} × {{{i}}}" for i, weight in enumerate(weights))
        text = f"({text}) / {float(sum(weights)):g}"
    return Relation("averages that their parts do not give", text, lambda *spans: mean(spans, weights))


def mean(spans: Sequence[Interval], weights: Sequence[Fraction] | None = None) -> Interval:
    """Weighted mean of intervals."""
    shares = [Fraction(1)] * len(spans) if weights is None else list(weights)
    return weighted_sum(list(spans), shares).scale(1 / sum(shares, Fraction(0)))


def averages(evidence: Evidence) -> tuple[Average, ...]:
    """Averages by role, by heading, and means of listed runs."""
    return tuple(_averages(evidence))


def _averages(evidence: Evidence) -> Iterator[Average]:
    roles = [group for group in evidence.groups.values() if "part" in group and "average" in group]
    groups = [(whole, group["part"]) for group in roles for whole in group["average"]]
    for same in gathered(groups, lambda entry: tuple(n.column for n in (entry[0], *entry[1]))):
        yield from _stated(same)
    for line in _lines(evidence):
        yield from line.read()
    for whole in evidence.numbers:
        runs = [parse(text, whole.claim.rounding) for text in whole.claim.values]
        if len(runs) > 1 and None not in runs:
            terms = tuple(Term(f"run {at}", run, whole.cell) for at, run in enumerate(runs, 1) if run)
            case = Case(mean_relation(len(runs)), _term(whole), terms)
            yield Average(whole, case, case.holds(), None)


def _stated(entries: Sequence[tuple[Number, list[Number]]]) -> Iterator[Average]:
    """Averages of one layout with stated parts: by equal weights, by size, or by one weight for two parts."""
    rows = [(p[0].interval(), p[1].interval(), w.interval()) for w, p in entries if len(p) == 2]
    common = common_weight(rows) if len(rows) == len(entries) else None
    for whole, parts in entries:
        weights = weights_of(parts)
        tried = Case(mean_relation(len(parts)), _term(whole), tuple(map(_term, parts)))
        title = ""
        if weights and not tried.holds() and (weighted := _weighed(tried, weights)).holds():
            tried = weighted
        elif common is not None and weights is None:
            tried, title = _weighed(tried, (common[0], 1 - common[0])), UNTOLD
        yield Average(whole, tried, tried.holds(), weights, title=title)


def _weighed(case: Case, weights: tuple[Fraction, ...]) -> Case:
    return replace(case, relation=mean_relation(len(case.others), weights))


def _term(number: Number) -> Term:
    return Term(number.scope.task or number.column, number.reported, number.cell)


def weights_of(parts: Sequence[Number]) -> Weights:
    """Stated weights, or sizes, or the counts of the headings (`Retrieval (15)`); None where one is missing."""
    stated = [n.claim.weight or (str(n.claim.items) if n.claim.items else None) for n in parts]
    if None not in stated:
        return tuple(Fraction(str(weight).replace(",", "")) for weight in stated)
    counts = [read((n.column or n.row).rpartition(" / ")[2]).count for n in parts]
    return tuple(Fraction(count) for count in counts if count) if all(counts) else None


# --- one line of averages and its readings ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """Which of the numbers beside an average are its parts, and how they are weighed."""

    keys: frozenset[str]
    by_size: bool = False
    nested: bool = False
    share: Fraction | None = None
    """Weight of the first of two parts."""
    natural: bool = True
    title: str = ""


Entry = tuple[Number, Case, list[Number]]
"""An average, its relation under a reading, and its parts."""


@dataclass
class Line:
    """The averages of one column, or of one row, each with the numbers that may be its parts by their heading."""

    wholes: list[Number]
    beside: list[dict[str, Number]]
    natural: dict[str, frozenset[str]]
    """Name of a natural reading → headings of the parts."""
    plain: bool
    """Whether the heading leaves no doubt that it is the average of what stands beside it."""
    considered: int = 0
    """Readings looked at beyond the natural ones."""

    def read(self) -> Iterator[Average]:
        """The averages under the reading that most of them bear out."""
        best: Hypothesis[tuple[Reading, list[Entry]]] | None = None
        tried, self.considered = 0, 0
        for reading in self._readings():
            entries = [entry for at in range(len(self.wholes)) if (entry := self._entry(at, reading)) is not None]
            tried += bool(entries)
            plain = not (reading.by_size or reading.nested or reading.share)
            hits = [_plain_fits(w, parts) if plain else case.holds() for w, case, parts in entries]
            if entries and (best is None or sum(hits) > best.agreeing):
                best = Hypothesis((reading, entries), hits, 0)
            if sum(hits) == len(self.wholes):
                break
        if best is not None:
            sample = best.reading[1][:4]
            chance = sum(case.chance for _, case, _ in sample) / len(sample)
            yield from self._taken(replace(best, chance=chance, hypotheses=tried + self.considered))

    def _taken(self, best: Hypothesis[tuple[Reading, list[Entry]]]) -> Iterator[Average]:
        reading, entries = best.reading
        guess = self.plain and reading.natural and (2 * best.agreeing >= len(entries) or len(entries) == 1)
        for (whole, case, parts), hit in zip(entries, best.hits, strict=True) if guess or best.is_likely else ():
            yield Average(whole, case, hit, weights_of(parts), best.others(hit), reading.title)

    def _readings(self) -> Iterator[Reading]:
        names = dict.fromkeys(self.natural.values())
        for keys in names:
            yield Reading(keys)
        for keys in names:
            yield Reading(keys, by_size=True, title="weighted by size")
            yield Reading(keys, nested=True, title="a mean of means over parts that share a prefix")
        if len(self.wholes) < 3:
            return
        for keys in names:
            if len(keys) == 2 and (share := self._share(keys)) is not None:
                yield Reading(keys, share=share, natural=False, title=UNTOLD)
        everything = max(names, key=len, default=frozenset())
        yield from self._left_out(everything)

    def _left_out(self, keys: frozenset[str]) -> Iterator[Reading]:
        """Readings without one or two of the numbers, or of some neighbours, that give the first average or two."""
        ordered = [key for key in dict.fromkeys(key for row in self.beside for key in row) if key in keys]
        sizes = range(1, MOST_LEFT_OUT + 1)
        ways = [frozenset(keys - set(left)) for size in sizes for left in combinations(ordered, size)]
        ways += [frozenset(ordered[a:b]) for a in range(len(ordered)) for b in range(a + 2, len(ordered) + 1)]
        self.considered += len(ways)
        samples = list(zip(self.wholes, self.beside, strict=True))[:4]
        for way in dict.fromkeys(ways):
            fitting = sum(_plain_fits(whole, [n for k, n in row.items() if k in way]) for whole, row in samples)
            if len(way) > 1 and fitting > 1:
                title = f"without {', '.join(k for k in ordered if k not in way)}"
                yield Reading(way, natural=False, title=title)

    def _share(self, keys: frozenset[str]) -> Fraction | None:
        """One weight of the first of two parts that most averages have in common."""
        rows = [(w, [n for k, n in row.items() if k in keys]) for w, row in zip(self.wholes, self.beside, strict=True)]
        found = common_weight([(p[0].interval(), p[1].interval(), w.interval()) for w, p in rows if len(p) == 2])
        return found[0] if found is not None else None

    def _entry(self, at: int, reading: Reading) -> Entry | None:
        whole, parts = self.wholes[at], [n for key, n in self.beside[at].items() if key in reading.keys]
        if len(parts) < 2:
            return None
        weights = weights_of(parts) if reading.by_size else None
        if reading.nested:
            weights = nested_weights([_term(n).name for n in parts])
        if reading.share is not None:
            weights = (reading.share, 1 - reading.share) if len(parts) == 2 else None
        if weights is None and (reading.by_size or reading.nested or reading.share is not None):
            return None
        terms = tuple(self._part(_term(n)) for n in parts)
        return whole, Case(mean_relation(len(parts), weights), _term(whole), terms), parts

    @cached_property
    def _is_padded(self) -> bool:
        """Whether all parts end in a zero that was never measured: `53.00` beside `46.30`, ten at least."""
        printed = [n.reported for row in self.beside for n in row.values()]
        return len(printed) > PADDED and all(r.decimals > 1 and r.mantissa % 10 == 0 for r in printed)

    def _part(self, term: Term) -> Term:
        shorter = replace(term.reported, mantissa=term.reported.mantissa // 10, decimals=term.reported.decimals - 1)
        return replace(term, reported=shorter) if self._is_padded else term


def _plain_fits(whole: Number, parts: Sequence[Number]) -> bool:
    """Whether the average can be the plain mean; in whole numbers."""
    if len(parts) < 2:
        return False
    decimals = max(n.reported.decimals for n in (whole, *parts))
    low, high = whole.reported.at(decimals)
    spans = [n.reported.at(decimals) for n in parts]
    return sum(s[0] for s in spans) <= len(parts) * high and len(parts) * low <= sum(s[1] for s in spans)


def nested_weights(names: Sequence[str]) -> Weights:
    """Weights of a mean over the means of parts whose names share their first word; None where none or all do."""
    first = [fold(name).replace("-", " ").split(" ")[0] for name in names]
    sizes = Counter(first)
    return tuple(Fraction(1, sizes[word]) for word in first) if 1 < len(sizes) < len(names) else None


# --- which numbers may be parts ---------------------------------------------------------------------------------------


def kind_of(label: str) -> str:
    """`average` for the label of an average of everything, `partial` for one of some of it; else empty."""
    found = read(label.rpartition(" / ")[2])
    words = found.text.casefold().replace("±", " ").replace(".", " ").split()
    if found.role == "average" or (words and words[0] in MEANS and set(words[1:]) <= {"std", "sd"}):
        return "average"
    named = bool(words) and (words[0] in MEANS or words[-1] in MEANS)
    return "partial" if named and found.kind == "name" and len(words) < 7 else ""


def _lines(evidence: Evidence) -> Iterator[Line]:
    """Lines of averages that a heading names."""
    wholes = [n for n in evidence.numbers if n.claim.role is None and not is_rank(n.claim)]
    under = [n for n in wholes if kind_of(n.scope.task or n.column)]
    for column in gathered(under, lambda n: (n.table, n.column, n.metric, n.split)):
        yield from _of_columns(evidence, column)
    rows = [n for n in wholes if kind_of(n.row) == "average"]
    for row in gathered(rows, lambda n: (n.table, n.row, n.metric)):
        yield from _of_rows(evidence, row)


def _may_be_part(number: Number) -> bool:
    """Whether a number is a measurement of its own: no summary of others, no rank, no difference, no cost."""
    claim, label = number.claim, (number.scope.task or number.column).rpartition(" / ")[2]
    found = read(label)
    summary = kind_of(label) or found.role in ("average", "spread", "bound", "runs") or fold(label) in SUMMARIES
    return not (summary or claim.role in {"average", "delta"} or is_rank(claim) or _is_no_score(number))


def _is_no_score(number: Number) -> bool:
    """Costs, perplexities and other quantities that no average of percentages holds, and hyper-parameters."""
    label = read(number.column.rpartition(" / ")[2])
    named = label.kind == "identifier" and number.reported.decimals < 1  # ORG is a class, where it has scores
    if named or label.kind in ("cost", "count", "budget") or describes(number.claim):
        return True
    known = family(measure(number.claim))
    # a word with other meanings, such as PER, may be the name of a class
    return known is not None and known.better == "min" and not known.flags & {"share", "maybe", "plain"}


def _of_columns(evidence: Evidence, wholes: list[Number]) -> Iterator[Line]:
    """A column of averages over other columns of the same rows."""
    first = wholes[0]
    label = first.scope.task or first.column
    beside: list[dict[str, Number]] = []
    for whole in wholes:
        row = [n for n in evidence.row_of(whole) if n is not whole and n.scope.method == whole.scope.method]
        alike = (n for n in row if not relate(n.scope, whole.scope).differ)
        own = bool(whole.scope.metric) and (whole.claim.unit == "perplexity" or _is_no_score(whole))
        beside.append({f"{n.column} {n.metric}": n for n in alike if own or _may_be_part(n)})
    order = list(dict.fromkeys(key for row in beside for key in row))
    metrics = {key: n.metric for row in beside for key, n in row.items()}
    same = [key for key in order if metrics[key] == first.metric]
    natural = {"same metric": same} if same else {}
    if not first.scope.metric:
        natural["all scores"] = order
        if common := Counter(metric for metric in metrics.values() if metric).most_common(1):
            natural["commonest metric"] = [key for key in order if metrics[key] == common[0][0]]
    natural |= _sides(evidence, wholes, beside, next(iter(natural.values()), []))
    kept = {name: frozenset(keys) for name, keys in natural.items() if len(keys) > 1}
    if kept:
        yield Line(wholes, beside, kept, kind_of(label) == "average")


def _sides(
    evidence: Evidence, wholes: list[Number], beside: list[dict[str, Number]], keys: Sequence[str]
) -> dict[str, list[str]]:
    """The parts between the average and its neighbour averages, to the left and to the right."""
    columns = list(dict.fromkeys(n.column for n in evidence.row_of(wholes[0])))
    at = columns.index(wholes[0].column)
    others = [i for i, column in enumerate(columns) if kind_of(column) and i != at]
    left = max((i for i in others if i < at), default=-1)
    right = min((i for i in others if i > at), default=len(columns))
    place = {key: columns.index(n.column) for key, n in beside[0].items() if n.column in columns}
    found = {
        "left": [key for key in keys if left < place.get(key, -1) < at],
        "right": [key for key in keys if at < place.get(key, -1) < right],
    }
    return {name: side for name, side in found.items() if len(side) < len(keys)}


def _of_rows(evidence: Evidence, wholes: list[Number]) -> Iterator[Line]:
    """An average row over the rows above it, or all rows of the column; below it where none is above."""
    beside: list[dict[str, Number]] = []
    natural: dict[str, dict[str, None]] = {"block": {}, "all rows": {}}
    kept: list[Number] = []
    lone = True
    for whole in wholes:
        column = evidence.like(whole, "table", "column")
        parts = [n for n in column if _is_row_part(n, whole)]
        labels = Counter(n.row for n in parts)
        if not whole.column or not parts or max(labels.values()) > 1:
            continue
        block = _block(column, whole)
        if block is None:
            continue
        kept.append(whole)
        beside.append({n.row: n for n in parts})
        natural["block"] |= dict.fromkeys(n.row for n in parts if n in block)
        natural["all rows"] |= dict.fromkeys(labels)
        lone &= sum(kind_of(n.row) == "average" for n in column) == 1 and whole.scope.task is not None
    named = {name: frozenset(keys) for name, keys in natural.items() if len(keys) > 1}
    if kept and named:
        yield Line(kept, beside, named, lone or len(kept) > 1)


def _block(column: list[Number], whole: Number) -> list[Number] | None:
    """The rows between the last average and this one; below it where none is above; None where groups leave doubt."""
    group, slash, _ = whole.row.rpartition(" / ")
    if group:
        groups = {n.row.rpartition(" / ")[0] for n in column} - {""}
        having = {n.row.rpartition(" / ")[0] for n in column if kind_of(n.row)} - {""}
        if groups != having:
            return None  # one below the last group may be over all of them
        column = [n for n in column if n.row.startswith(group + slash)]
    at = next(place for place, n in enumerate(column) if n is whole)
    breaks = [place for place, n in enumerate(column) if kind_of(n.row) == "average"]
    before = max((place for place in breaks if place < at), default=-1)
    return column[before + 1 : at] or [n for n in column[at + 1 :] if not kind_of(n.row)]


def _is_row_part(number: Number, whole: Number) -> bool:
    """Another row of the same column that may be a part."""
    a, b = number.scope, whole.scope
    label = number.row.rpartition(" / ")[2]
    alike = fold(a.metric) == fold(b.metric) or not b.metric
    score = not _is_no_score(number) or (b.metric and number.claim.unit != "perplexity" and not describes(number.claim))
    summary = kind_of(label) or fold(label) in SUMMARIES or number.claim.role in {"average", "delta"}
    column = kind_of(number.scope.task or number.column)
    return bool(alike and score and not summary and not column) and not relate(a, b).differ


# --- one weight for the averages of two parts -------------------------------------------------------------------------

FEWEST = 5
"""Averages of one table below which any weight would fit by chance."""

Row = tuple[Interval, Interval, Interval]
"""First part, second part and their printed average."""


def common_weight(rows: Sequence[Row]) -> tuple[Fraction, int] | None:
    """A weight w of the first part for which w a + (1 − w) b prints as the average, and how many rows it explains.

    None where the rows are too few, no weight explains nine in ten of them, or equal weights explain half.
    """
    spans = [span for a, b, whole in rows if (span := share_of(a, b, whole)) is not None]
    plain = sum(Fraction(1, 2) in span for span in spans)
    if len(rows) < FEWEST or 2 * plain >= len(rows) or not spans:
        return None
    ends = sorted([(span.lo, 0) for span in spans] + [(span.hi, 1) for span in spans])
    low, high, count, depth = Fraction(0), Fraction(1), 0, 0
    for position, (place, closes) in enumerate(ends):
        depth += -1 if closes else 1
        if depth > count:
            low, high, count = place, ends[position + 1][0], depth
    return ((low + high) / 2, count) if 10 * count >= 9 * len(rows) else None


def share_of(a: Interval, b: Interval, whole: Interval) -> Interval | None:
    """All w in [0, 1] with w a + (1 − w) b in `whole` for some values of the parts; None when there are none."""
    up = _reaching(b.hi, a.hi - b.hi, whole.lo)
    down = _reaching(-b.lo, b.lo - a.lo, -whole.hi)
    if up is None or down is None or not up.meets(down):
        return None
    return Interval(max(up.lo, down.lo), min(up.hi, down.hi))


def _reaching(start: Fraction, slope: Fraction, goal: Fraction) -> Interval | None:
    """All w in [0, 1] with start + slope w ≥ goal."""
    if max(start, start + slope) < goal:
        return None
    if min(start, start + slope) >= goal:
        return Interval(Fraction(0), Fraction(1))
    edge = (goal - start) / slope
    return Interval(edge, Fraction(1)) if slope > 0 else Interval(Fraction(0), edge)
