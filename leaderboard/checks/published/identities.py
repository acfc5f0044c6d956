"""Metrics of one run that are tied to each other by definition: orders, complements, F-scores, perplexities."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from statistics import median_low

from leaderboard.checks.borne import Hypothesis, gathered
from leaderboard.checks.evidence import Evidence, Number, fold
from leaderboard.checks.finding import Explanation, Finding, Severity, Tally, Verdict, say
from leaderboard.checks.measures import group_of, power, tidy
from leaderboard.checks.numbers import exactly, show
from leaderboard.checks.registry import check
from leaderboard.checks.relation import Case, Relation, Term
from leaderboard.checks.relations import IDENTITIES, PERPLEXITY, Identity, f_limits, f_measure, order
from leaderboard.claims.model import Rounding
from leaderboard.lexicon import read
from leaderboard.lexicon.phrases import says

# --- applying a relation to numbers -----------------------------------------------------------------------------------


def whole_of(numbers: Sequence[Number]) -> Fraction:
    """What one is printed as: 100 where one of them is a percentage or above one."""
    fraction = any(n.claim.unit == "fraction" for n in numbers)
    percent = any(n.claim.unit == "percent" or (not fraction and n.value > 1) for n in numbers)
    return Fraction(100 if percent else 1)


def terms(numbers: Sequence[Number], names: Sequence[str] = ()) -> list[Term]:
    """Operands in the scale of the first: percentages beside fractions are converted."""
    units = [n.claim.unit for n in numbers]
    factors = {("percent", "fraction"): Fraction(100), ("fraction", "percent"): Fraction(1, 100)}
    told = names or [n.scope.metric or n.claim.role or n.scope.task or n.column or "" for n in numbers]
    return [
        Term(name, n.reported, n.cell, factors.get((units[0], unit), Fraction(1)) * (power(n.claim) if at else 1))
        for at, (n, name, unit) in enumerate(zip(numbers, told, units, strict=True))
    ]


def case(relation: Relation, numbers: Sequence[Number], names: Sequence[str] = ()) -> Case:
    """A relation applied to numbers, the target first."""
    target, *others = terms(numbers, names)
    return Case(relation, target, tuple(others))


def layout(numbers: Sequence[Number]) -> tuple[str, ...]:
    """Table and headings: numbers of other rows with the same ones are read alike."""
    return (numbers[0].table, *(n.column for n in numbers))


def usual(evidence: Evidence, number: Number) -> Fraction | None:
    """The median of the other numbers under the same heading: what a slip was most likely meant to be near to."""
    others = [n.value for n in evidence.under(number) if n is not number]
    return median_low(others) if others else None


# --- orders and complements -------------------------------------------------------------------------------------------


def _related(evidence: Evidence, id: str) -> Iterator[tuple[Identity, tuple[Number, ...]]]:
    """Every identity of a check with numbers that it ties together."""
    for identity in IDENTITIES:
        if identity.check == id:
            for numbers in evidence.related(*identity.roles, *identity.beside):
                yield identity, numbers[: len(identity.roles)]
    if id == "ORDER":
        yield from _at_k(evidence)


def held(evidence: Evidence, id: str, tally: Tally) -> Iterator[Finding]:
    """Every identity of a check, held against the numbers of every row that prints its metrics."""
    for identity, numbers in _related(evidence, id):
        relation = identity.on(whole_of(numbers), all(n.claim.n == 1 for n in numbers), power(numbers[0].claim))
        tested = case(relation, numbers)

        def near(term: Term, of: Case = tested, numbers: tuple[Number, ...] = numbers) -> Fraction | None:
            return usual(evidence, numbers[of.terms.index(term)])

        yield from tested.tell(tally, _swapped(relation, numbers), near=near)


def _swapped(relation: Relation, numbers: tuple[Number, ...]) -> Iterator[Explanation]:
    if len(numbers) == 2 and case(relation, numbers[::-1]).holds():
        yield Explanation("the two cells are swapped", fits=True)


@check("COMPL")
def complement(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Accuracy and error that do not add up."""
    yield from held(evidence, "COMPL", tally)


@check("ORDER")
def orders(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Two metrics in an impossible order."""
    yield from held(evidence, "ORDER", tally)
    yield from _ties(evidence, tally)


AT_K = re.compile(r"(.*?\b)?(pass|mr|r|recall|hits?|hr|hit rate|success|acc|accuracy|mrr)( ?@ ?|_at_| at )(\d+)")
"""Metrics that cannot fall when k grows; precision and NDCG can."""
THRESHOLDS = frozenset({25, 30, 40, 50, 60, 70, 75, 80, 90, 95})
"""Where both are among these, k may be an overlap in percent, which finds less when it grows."""


def _at_k(evidence: Evidence) -> Iterator[tuple[Identity, tuple[Number, ...]]]:
    """Neighbouring k of one metric and group, with the order they must be in."""
    index: dict[tuple[str, str], dict[int, list[Number]]] = defaultdict(lambda: defaultdict(list))
    for number in evidence.numbers:
        match = AT_K.fullmatch(fold(number.claim.role or number.scope.metric))
        if match and (group := group_of(number.claim)):
            index[group, f"{match[1] or ''}{match[2]}@"][int(match[4])].append(number)
    for (_, name), by_k in index.items():
        why = "more attempts solve no fewer" if name == "pass@" else "what is among the first j is among the first k"
        for j, k in pairwise(sorted(by_k)):
            overlaps = {j, k} <= THRESHOLDS and not name.startswith("pass")
            if not overlaps and not (name.startswith("acc") and {j, k} == {1, 5}):  # told as top-1 and top-5
                rule = order(f"{name}{j}", f"{name}{k}", why)
                yield from ((rule, pair) for pair in evidence.aligned([by_k[j], by_k[k]]))


def _ties(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """Rows with equal scores must share their rank or win rate."""
    pairs = list(evidence.related("score", tidy("win rate")))
    for rows in gathered(pairs, lambda pair: (pair[0].table, pair[0].value)):
        rates = [rate for _, rate in rows]
        low, high = (pick(rates, key=lambda n: n.value) for pick in (min, max))
        if len(rows) < 2 or low.interval().meets(high.interval()):
            tally.ok()
            continue
        value, digits = show(rows[0][0].value), max(low.reported.decimals, 0)
        fair = show(sum((r.value for r in rates), Fraction(0)) / len(rates), digits)
        yield say(
            f"{len(rows)} rows tie at {value} but win rates go from {low.text} to {high.text}", low, high,
            arithmetic=f"half a win each gives every one of them the mean, {fair}",
            could=[Explanation("the scores differ beyond the printed digits", f"they print as {value}", True)],
            pattern="ties broken by order", nearest=(fair,),
        )  # fmt: skip


# --- F-scores ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Triple:
    """An F-score, or another harmonic mean, with its two parts."""

    score: Number
    parts: tuple[Number, Number]
    beta: Fraction = Fraction(1)
    is_f: bool = True

    @property
    def numbers(self) -> tuple[Number, ...]:
        """All three, the score first."""
        return (self.score, *self.parts)

    @property
    def case(self) -> Case:
        """The score against the harmonic mean of its parts."""
        names = ("H", *(n.scope.task or n.scope.metric or n.column for n in self.parts))
        return case(f_measure(self.beta), self.numbers, (f"F{show(self.beta)}", "P", "R") if self.is_f else names)

    @property
    def above_bound(self) -> Case | None:
        """The tighter limit that the score breaks under every rounding; None where it keeps both."""
        whole = self.case
        broken = [
            tested
            for limit, part in zip(f_limits(self.beta), whole.others, strict=True)
            if not (tested := Case(limit, whole.target, (part,))).holds()
        ]
        return min(broken, key=lambda tested: tested.middle, default=None)

    def is_below(self, most: Fraction = Fraction(1)) -> bool:
        """Whether the score is less than the harmonic mean, by no more than this share of it."""
        least, high = self.case.implied().lo, self.case.target.span().hi
        return (1 - most) * least <= high < least


F_ROLE = re.compile(r"f(\d*\.?\d+)?")


def triples(evidence: Evidence) -> Iterator[Triple]:
    """Rows that print precision, recall and an F-score."""
    for group in evidence.groups.values():
        for role in group if "precision" in group and "recall" in group else ():
            if match := F_ROLE.fullmatch(role):
                beta = Fraction(match[1] or 1)
                for p, r, f in evidence.aligned([group["precision"], group["recall"], group[role]]):
                    yield Triple(f, (p, r), beta)


@check("F-BOUND")
def f_bound(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """An F-score above what precision and recall allow."""
    for triple in triples(evidence):
        if (tested := triple.above_bound) is None:
            tally.ok()
        else:
            yield tested.finding([_reordered(triple.case)], of=triple.case)


def _reordered(tested: Case) -> Explanation:
    """Whether the three fit when one of the other columns is the F-score."""
    f, p, r = tested.terms
    for a, b, c in ((p, f, r), (r, f, p)):
        if Case(tested.relation, c, (a, b)).holds():
            told = f"F of {a.reported.text} and {b.reported.text} is {c.reported.text}"
            return Explanation("columns in another order", told, True)
    return Explanation("columns in another order", "no order of the three fits")


HEADINGS = {
    "h": frozenset({"h", "hm", "h-mean", "hmean", "h mean", "h.m.", "harmonic", "harmonic mean", "hos", "h-score"}),
    "seen": frozenset({"base", "seen", "s", "known", "old", "os*"}),
    "unseen": frozenset({"new", "novel", "unseen", "u", "unknown", "unk"}),
}
"""Headings of a harmonic mean and of its two parts."""
COUNTED = re.compile(r" ?\b(acc(uracy)?|classes|class|categories|top-?1|domains?|set)\b\.?")


def harmonic_means(evidence: Evidence) -> Iterator[Triple]:
    """Harmonic means of the scores on base and new, or seen and unseen, classes, beside each other or below."""
    groups: dict[tuple[str, ...], dict[str, list[Number]]] = defaultdict(lambda: defaultdict(list))
    for number in evidence.numbers:
        where = number.claim.where
        *above, leaf = where.column.split(" / ")
        lines = ((leaf, ("row", where.table, where.row, *above)), (where.row, ("column", where.table, where.column)))
        for name, key in lines:
            label = COUNTED.sub("", read(name).text.casefold()).strip(" :")
            if kind := next((kind for kind, names in HEADINGS.items() if label in names), ""):
                groups[key][kind].append(number)
    for group in groups.values():
        if len(group) == 3 and all(len(numbers) == 1 for numbers in group.values()):
            yield Triple(group["h"][0], (group["seen"][0], group["unseen"][0]), is_f=False)


@check("F-HARM")
def f_harmonic(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """An F-score or H that is not the harmonic mean of its two parts."""
    found = [t for t in triples(evidence) if t.above_bound is None]
    for same in gathered([*found, *harmonic_means(evidence)], lambda triple: layout(triple.numbers)):
        hits, chance = [t.case.holds() for t in same], sum(t.case.chance for t in same) / len(same)
        reading = Hypothesis("harmonic", hits, chance)
        averaged = len(same) > 1 and all(triple.is_below(A_LITTLE) for triple in same)
        for triple, hit in zip(same, hits, strict=True):
            sure, verdict = reading.others(hit).is_borne_out(), triple.case.judge()
            if verdict[0] is Verdict.PASS:
                tally.ok()
            elif triple.is_below() and not sure and (averaged or is_averaged(evidence, triple)):
                tally.skip("an average over classes or data sets, which may lie below")
            else:
                yield _not_harmonic(triple, not triple.is_f or says_micro(evidence, triple.score), sure, verdict)


A_LITTLE = Fraction(1, 10)
"""How far averages of harmonic means lie below the harmonic mean of the averages, as a share, at the most."""


def says_micro(evidence: Evidence, number: Number) -> bool:
    """Whether the source says that the score is of one confusion matrix, and not also that it is an average."""
    scope, where = number.scope, number.claim.where
    near = " ".join(fold(text) for text in (scope.metric, scope.aggregation, scope.subset, where.column, where.row))
    caption = fold(evidence.set.captions.get(where.table, ""))
    return any(says("one-matrix", text) and "macro" not in text for text in (near, caption))


def is_averaged(evidence: Evidence, triple: Triple) -> bool:
    """Whether the caption says that scores are averaged over classes, or recall is the accuracy in every row."""
    table = triple.score.table
    if says("averaged", fold(evidence.set.captions.get(table))):
        return True
    pairs = [(a, r) for a, r in evidence.related("accuracy", "recall") if r.table == table]
    return len(pairs) > 1 and all(a.value == r.value for a, r in pairs)


def _not_harmonic(triple: Triple, stated: bool, sure: bool, verdict: tuple[Verdict, Rounding]) -> Finding:
    tested = triple.case
    f, p, r = (term.span() for term in tested.terms)
    above, macro = f.lo > tested.implied().hi, "a macro average or a mean over items, runs or data sets"
    betas = [beta for beta in (Fraction(1), Fraction(1, 2), Fraction(2)) if triple.is_f and beta != triple.beta]
    told = [
        Explanation(f"F{show(b)} instead of F{show(triple.beta)}", "", f_measure(b).implied(p, r).meets(f))
        for b in betas
    ]
    told += [
        Explanation("the arithmetic mean of the two", "", (p + r).scale(Fraction(1, 2)).meets(f)),
        _reordered(tested),
    ]
    if sure:
        told.append(Explanation(macro, "the other rows are exactly harmonic"))
    elif above:
        where = "only where the three leave out different classes: otherwise it is never above that of the means"
        told.append(Explanation(macro, "" if stated else where, not stated))
    else:
        told.append(Explanation(macro, "may lie below", True))
    if f.hi * 10 < min(p.lo, r.lo):
        told.append(Explanation("a wrong heading", "F is less than a tenth of both: hardly an F-score of these", True))
    severity = Severity.ERROR if sure or (stated and above) else Severity.WARNING
    pattern = tested.relation.pattern if triple.is_f else "H that is no harmonic mean"
    return tested.finding(told, verdict, severity=severity, pattern=pattern)


# --- perplexity -------------------------------------------------------------------------------------------------------

LARGEST = 700
"""Losses beyond this have no perplexity anyone prints."""
PLAUSIBLE = exactly("1.005")
"""P / e^L up to which unstated runs explain an excess: losses that differ by an sd of 0.1 nats (e^(s² / 2))."""


@check("PPL")
def perplexity(evidence: Evidence, tally: Tally) -> Iterator[Finding]:
    """A perplexity that is not the exponential of its loss."""
    for ppl, loss in evidence.related("perplexity", "loss"):
        if not 0 <= loss.value < LARGEST:
            tally.skip("no loss of a language model")
            continue
        runs = {loss.claim.n, ppl.claim.n} - {None}
        tested = case(replace(PERPLEXITY, sign="=" if runs <= {1} else "≥"), (ppl, loss))
        low, high = tested.implied().hi, (tested.implied() * PLAUSIBLE).hi
        if not runs and not tested.holds() and low < ppl.interval().lo <= high:
            tally.skip("a little too high for one run, and the number of runs is not stated")
        else:
            yield from tested.tell(tally, _other_losses(tested, known=bool(runs)))


def _other_losses(tested: Case, known: bool) -> Iterator[Explanation]:
    """The loss read another way."""
    (loss,), printed, implied = tested.others, tested.target.span(), tested.implied()
    for title, base in (("in bits", "0.693147180559945"), ("a logarithm to base ten", "2.302585092994046")):
        nats = loss.span() * exactly(base)
        fits = nats.hi <= LARGEST and nats.exp().meets(printed)
        yield Explanation(f"the loss is {title}", f"about {float(nats.exp().lo):.5g}" if fits else "", fits)
    if not known and printed.lo > implied.hi:
        apart = math.sqrt(2 * math.log(printed.lo / implied.hi))
        told = f"the losses of the runs would need an sd of at least about {apart:.2g} nats"
        yield Explanation("means over runs that are not stated (Jensen)", told, True)
    yield Explanation("normalised per word on one side, per token on the other", "", True)
