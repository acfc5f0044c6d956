"""Sentences of a source to statements about its tables; what compares results and is not understood is listed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from benchmark.errors import DataError
from leaderboard.claims.importers import words
from leaderboard.claims.importers.grid import SourceTable
from leaderboard.claims.importers.prose.names import Names, Table, bare, exact, loose, names_of, own_rows
from leaderboard.claims.importers.prose.phrases import (
    OWN,
    NotReadError,
    Quantity,
    Statement,
    compares,
    read_sentence,
    states,
)
from leaderboard.claims.importers.prose.sentences import (
    LONGEST,
    Sentence,
    caption_sentences,
    html_sentences,
    latex_sentences,
    markdown_sentences,
)
from leaderboard.claims.importers.result import TableSummary, UnreadSentence
from leaderboard.claims.model import Claim, TextClaim

MOST = 2_000
"""Sentences with a comparison that are read of one file."""
QUOTED = 160

_INCLUDES = re.compile(r"^[^%\n]*\\(?:input|include|subfile)\b", re.MULTILINE)
"""Text that stands in another file."""

Prose = tuple[tuple[TextClaim, ...], tuple[UnreadSentence, ...]]


def read_prose(
    source: str,
    format: str,
    path: str,
    claims: Sequence[Claim],
    summaries: Sequence[TableSummary],
    tables: Sequence[SourceTable],
) -> Prose:
    """What the sentences of a LaTeX, markdown or HTML source say about its tables, and those that were not read.

    Args:
        summaries, tables: the same tables, as they were read and as the source has them.
    """
    if format not in ("latex", "markdown", "html") or not claims:
        return (), ()
    captions = {summary.name: table.caption for summary, table in zip(summaries, tables, strict=True)}
    try:
        sentences = list(_sentences(source, format, path, captions, summaries))
    except DataError:
        return (), ()
    names = names_of(claims, summaries, captions)
    own = own_rows(names, " ".join(sentence.text for sentence in sentences))
    resolver = _Resolver(names, own, format == "latex" and _is_partial(source))
    found: dict[TextClaim, None] = {}
    unread: list[UnreadSentence] = []
    for sentence in _comparing(sentences):
        try:
            found.update(dict.fromkeys(list(resolver.claims(sentence, read_sentence(sentence, names)))))
        except NotReadError as reason:
            if states(sentence, names):
                unread.append(UnreadSentence(sentence.line, _quote(sentence.text), str(reason)))
    return tuple(found), tuple(unread)


def _is_partial(source: str) -> bool:
    """Whether further files belong to the text of a LaTeX source."""
    return _INCLUDES.search(source.partition("\\begin{document}")[2]) is not None


def _sentences(
    source: str, format: str, path: str, captions: dict[str, str], summaries: Sequence[TableSummary]
) -> Iterator[Sentence]:
    if format == "markdown":
        yield from markdown_sentences(source)
        return
    yield from latex_sentences(source, path) if format == "latex" else html_sentences(source)
    yield from caption_sentences((table.name, captions[table.name], table.line) for table in summaries)


def _comparing(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Sentences that look like a comparison, each text once."""
    seen: set[tuple[str, str]] = set()
    for sentence in sentences:
        key = (sentence.text, sentence.table)
        if len(sentence.text) <= LONGEST and key not in seen and len(seen) < MOST and compares(sentence):
            seen.add(key)
            yield sentence


def _quote(text: str) -> str:
    shown = text.replace("⟦", "[").replace("⟧", "]")
    return shown if len(shown) <= QUOTED else shown[: QUOTED - 2].rsplit(" ", 1)[0] + " …"


@dataclass
class _Resolver:
    """Finds the rows and tables that statements speak of."""

    names: Names
    own: dict[str, str]
    partial: bool = False
    """Whether further files belong to the source."""

    def claims(self, sentence: Sentence, said: Statement) -> Iterator[TextClaim]:
        """Statements about named rows of named tables.

        Raises:
            NotReadError: the tables, the rows or the columns are not the only ones it could mean.
        """
        if sentence.cites and said.method != OWN and not (said.labels or self._is_own(said.method)):
            raise NotReadError("it may tell what others have found")
        tables = self._with_names(self._referred(sentence, said), said)
        if not said.labels:
            self._of_one_float(tables)
        method = self._row(said.method, tables)
        bases = tuple(self._row(base, tables) for base in said.bases)
        if method in bases:
            raise NotReadError("it compares a row with itself")
        if said.transitive and any(_joined(method, base, tables) for base in bases):
            raise NotReadError("it may mean a row that joins both")
        metrics = self._metrics(said, tables)
        for base, quantity, tasks, metric in _pairs(said, bases, metrics):
            better, other = (base, method) if said.worse and base else (method, base)
            yield TextClaim(
                text=_quote(sentence.text),
                where=", ".join(table.name for table in tables),
                kind=said.kind if quantity is None else "improves",
                method=better or method,
                baseline=other,
                metric=metric,
                tasks=tasks,
                by=quantity.printed if quantity else "",
                by_unit=quantity.unit if quantity else "",
                read=True,
                tables=tuple(table.name for table in tables),
                line=sentence.line or None,
                splits=said.splits,
                every_metric=said.every_metric,
            )

    def _is_own(self, name: str) -> bool:
        return any(name in (exact(label), bare(label)) for label in self.own.values())

    def _referred(self, sentence: Sentence, said: Statement) -> list[Table]:
        """Tables the sentence refers to; those its paragraph does; all of them."""
        known = list(self.names.tables.values())
        if sentence.table:
            return [table for table in known if table.name == sentence.table]
        if said.labels:
            found = [self._labelled(label, known) for label in said.labels]
            if not all(found) or not found:
                raise NotReadError(f"it refers to {_shown(said.labels)}, which is no table that was read here")
            return list({table.name: table for tables in found for table in tables}.values())
        last = sentence.before.rpartition("⟦")[2].partition("⟧")[0] if "⟦" in sentence.before else ""
        if self.partial and not last:
            raise NotReadError("it names no table, and the source has further files")
        if not last or last.startswith(("sec", "app", "eq", "alg", "subsec", "ch", "def", "thm")):
            return known
        labelled = self._labelled(last, known)
        if not labelled:
            raise NotReadError(f"its paragraph refers to {last}, which is no table that was read here")
        return labelled

    @staticmethod
    def _labelled(label: str, known: list[Table]) -> list[Table]:
        """Tables of one or several labels (`a,b`), or of a number; `|a` behind it is one part."""
        name, _, part = label.partition("|")
        wanted = {piece.strip() for piece in name.split(",")}
        floats = {table.float for table in known if table.label in wanted or table.float in wanted}
        found = [table for table in known if table.label in wanted or table.float in wanted]
        if len(floats) == 1 and not name.startswith("Table ") and all(table.label == name for table in found):
            found = [table for table in known if table.float in floats]
        return [table for table in found if table.name.endswith(f"({part})")] or found if part else found

    def _with_names(self, tables: list[Table], said: Statement) -> list[Table]:
        """Those that have all the rows and columns it names."""
        if said.caption_words:
            named = [self.names.captions.get(loose(word), set()) for word in said.caption_words]
            tables = [table for table in tables if all(table.name in found for found in named)]
        rows = (said.method, *said.bases)
        tables = [table for table in tables if all(self._rows(name, table) for name in rows)]
        tables = [table for table in tables if set(said.tasks) <= table.tasks]
        if not tables:
            raise NotReadError("no table that it can mean has its rows and columns")
        return tables

    @staticmethod
    def _of_one_float(tables: list[Table]) -> None:
        if len({table.float for table in tables}) > 1:
            raise NotReadError(f"it may mean {' or '.join(dict.fromkeys(table.float for table in tables))}")

    def _rows(self, name: str, table: Table) -> list[str]:
        if name == OWN:
            return [self.own[table.name]] if table.name in self.own else []
        return table.rows_called(name)

    def _row(self, name: str, tables: list[Table]) -> str:
        found = {label for table in tables for label in self._rows(name, table)}
        if len(found) != 1:
            raise NotReadError(f"{' and '.join(sorted(found))}: more than one row has that name")
        return found.pop()

    def _metrics(self, said: Statement, tables: list[Table]) -> tuple[str | None, ...]:
        """Metrics as the tables call them; where a table has one only, any word for it will do."""
        here = {metric for table in tables for metric in table.metrics}
        named = dict.fromkeys([*said.metrics, *(q.metric for q in said.quantities if q.metric)])
        found = []
        for metric in named:
            same = [one for one in here if _same_metric(one, metric)]
            if len(same) != 1 and len(here) > 1:
                raise NotReadError(f"the tables have no column, or several, for {metric}")
            if len(same) == 1:
                found.append(same[0])
            elif here and not same:
                raise NotReadError(f"the tables have no column for {metric}")
        return tuple(found)


def _joined(method: str, base: str, tables: list[Table]) -> bool:
    """Whether some row is called by both names, as `SimCLR + PairMix`, or adds the method to what stands above it."""
    names = {bare(method).casefold(), bare(base).casefold()}
    rows = [label.casefold() for table in tables for label in table.methods]
    return any(all(name in row for name in names) and row not in names for row in rows) or any(
        row.startswith(("+", "w/", "with ")) for row in rows
    )


SAME = [
    {loose(name) for name in names.split(", ")}
    for names in (
        "accuracy, top-1, top-1 accuracy, classification accuracy, acc@1",
        "error, error rate, top-1 error, classification error",
        "WER, word error rate, error rate",
        "CER, character error rate, error rate",
        "AP, mAP, average precision, mean average precision",
        "IoU, mIoU, Jaccard, mean IoU",
        "Dice, DSC, Dice score, Dice coefficient, dice similarity coefficient",
        "AUC, AUROC, ROC-AUC",
        "success rate, success",
        "F1, F1-score, F-score",
    )
]
"""Names of one metric in running text and in headings."""


def _same_metric(a: str, b: str) -> bool:
    if loose(a) == loose(b):
        return True
    names = {loose(known.name if (known := words.metric_of(name)) else name) for name in (a, b)}
    return len(names) == 1 or any(names <= group for group in SAME)


def _shown(labels: Sequence[str]) -> str:
    return ", ".join(label.replace("|", "") for label in labels)


Pair = tuple[str | None, Quantity | None, tuple[str, ...], str | None]


def _pairs(said: Statement, bases: tuple[str, ...], metrics: tuple[str | None, ...]) -> Iterator[Pair]:
    """Baseline, quantity, tasks and metric that belong together.

    Raises:
        NotReadError: it states several differences and it is open which belongs to what.
    """
    amounts = said.quantities
    only = metrics[0] if len(metrics) == 1 else None
    if len(metrics) > 1 and len(amounts) != len(metrics):
        raise NotReadError("it names several metrics")
    if not amounts:
        yield from ((base, None, said.tasks, only) for base in bases or (None,))
    elif len(amounts) == 1:
        if len(bases) > 1 or len(said.tasks) > 1:
            raise NotReadError("it states one difference for several columns or rows")
        yield bases[0] if bases else None, amounts[0], said.tasks, only
        if said.always:
            yield bases[0] if bases else None, None, said.tasks, only
    elif len(bases) <= 1 and len(said.tasks) == len(amounts):
        yield from ((bases[0] if bases else None, q, (t,), only) for q, t in zip(amounts, said.tasks, strict=True))
    elif len(bases) <= 1 and not said.tasks and len(metrics) == len(amounts):
        yield from ((bases[0] if bases else None, q, (), m) for q, m in zip(amounts, metrics, strict=True))
    elif len(bases) == len(amounts) and len(said.tasks) <= 1:
        yield from ((base, q, said.tasks, only) for base, q in zip(bases, amounts, strict=True))
    else:
        raise NotReadError("it states several differences and it is open which belongs to what")
