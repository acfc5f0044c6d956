"""Metrics that a caption speaks of: which one it says was measured, and which way is better."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from leaderboard.claims.model import Direction
from leaderboard.lexicon import Meaning, default, read
from leaderboard.lexicon.phrases import words

_TOKEN = re.compile(r"[()\[\]{},;/|&%]|:(?!\d)|[↑⬆⇑▲↓⬇⇓▼]+|[^\s()\[\]{},;/|&%:↑⬆⇑▲↓⬇⇓▼]+(?::\d[^\s()\[\]{},;/|&%:]*)*")
_STOPS = frozenset("()[]{},;:/|&") | {"."}
_UP, _DOWN = "↑⬆⇑▲", "↓⬇⇓▼"


@dataclass(frozen=True, slots=True)
class Mention:
    """A metric named in running text."""

    found: Meaning
    direction: Direction = "unknown"
    is_subject: bool = False
    """Whether the words around it say that it is what the table measures."""


def metrics_in(caption: str) -> list[Mention]:
    """Metrics that a caption speaks of, in order: `test loss / accuracy` → loss, accuracy, both on test."""
    tokens = _tokens(caption)
    found: list[Mention] = []
    at = last_end = 0
    while at < len(tokens):
        length, metric = _metric_at(tokens, at)
        mention = _mention(tokens, at, at + length, metric) if metric is not None else None
        if mention is not None:
            if found and tokens[last_end:at] == ["("] and tokens[at + length : at + length + 1] == [")"]:
                mention = replace(mention, found=_like(mention.found, found[-1].found),
                                  is_subject=found[-1].is_subject or mention.is_subject)  # fmt: skip
                found.pop()
            elif found and _is_joined(tokens[last_end:at]) and not mention.found.split:
                mention = replace(
                    mention,
                    found=_like(mention.found, found[-1].found),
                    is_subject=mention.is_subject or found[-1].is_subject,
                )
            found.append(mention)
            last_end = at + length
        at += length
    return _distinct(found)


def metric_named(caption: str) -> Mention | None:
    """The one metric that a caption says was measured; None when it names none or several."""
    said = metrics_in(caption)
    subjects = [mention for mention in said if mention.is_subject]
    chosen = subjects or [mention for mention in said if not mention.found.is_plain]
    return chosen[0] if len(chosen) == 1 else None


_CLAUSE = re.compile(r"[():;,]|\.(?:\s|$)|[↑⬆⇑▲↓⬇⇓▼%]")


def slashed_in(caption: str, count: int) -> tuple[Meaning, ...] | None:
    """`image-level AUROC / pixel-level AUROC`: the metrics of the numbers of a cell, in order; None when none is said.

    A piece without a metric of its own has that of the last one, `image / pixel AUROC`.
    """
    found = [
        named
        for clause in _CLAUSE.split(caption[:2000])
        if len(pieces := [piece.split() for piece in re.split(r"[/|]", clause)]) == count
        and (named := _named_pieces(pieces)) is not None
    ]
    return found[0] if len(found) == 1 else None


def _named_pieces(pieces: list[list[str]]) -> tuple[Meaning, ...] | None:
    """The metric that each piece names: the first may end with it, the last begin with it."""
    first, *others = pieces
    last = next((others[-1][:size] for size in (1, 2, 3) if _compound(others[-1][:size]) is not None), None)
    metric = _compound(last) if last else None
    if last is None or metric is None or not first or any(not 0 < len(piece) < 4 for piece in others[:-1]):
        return None
    shared = last[-1] if len(last) > 1 else ""
    texts = [first[-len(last) :] if _compound(first[-len(last) :]) else first[-1:], *others[:-1], last]
    found = [_compound(text) or (_compound([*text, shared]) if shared else None) for text in texts]
    names = [" ".join(text) for text in texts]
    if None in found or len(set(names)) < len(names) or any(map(default().is_dataset, names)):
        return None
    return tuple(
        _named(one, " ".join(text)) if "-" in text[0] and not one.split else one
        for one, text in zip(found, texts, strict=True)
        if one is not None
    )


def _compound(piece: list[str]) -> Meaning | None:
    """A metric, also behind a prefix, `I-AUROC`."""
    text = " ".join(piece)
    known = read(text)
    if known.is_metric or len(piece) != 1:
        return known if known.is_metric and known.kind != "count" else None
    metric = default().metric(text.partition("-")[2])
    return _named(metric, text) if metric is not None and not metric.is_plain else None


def _named(metric: Meaning, name: str) -> Meaning:
    """The metric under the name that the source gives it."""
    return replace(metric, printed=name, rest="", flags=metric.flags - {"one"})


def _like(metric: Meaning, other: Meaning) -> Meaning:
    """The metric on the split, and aggregated, as another one is said to be."""
    return replace(metric, split=other.split, aggregation=other.aggregation)


def directions_in(caption: str) -> dict[str, Direction]:
    """Metric, lower case → which way is better, for those that carry an arrow or `lower is better` in brackets."""
    return {
        mention.found.called.lower(): mention.direction
        for mention in metrics_in(caption)
        if mention.direction != "unknown"
    }


def _tokens(caption: str) -> list[str]:
    """Words, marks, arrows, and `.` where a sentence ends."""
    pieces = _TOKEN.findall(caption[:2000])
    tokens: list[str] = []
    for piece, after in zip(pieces, [*pieces[1:], "A"], strict=False):
        bare = piece.rstrip(".")
        ends = (
            bare != piece
            and bare.lower() not in words("abbreviation")
            and (after[:1].isupper() or not after[:1].isalnum())
        )
        tokens += [bare, "."] if ends and bare else [piece]
    return tokens


def _metric_at(tokens: list[str], at: int) -> tuple[int, Meaning | None]:
    """The longest metric name of up to four words that starts here, and its length in words."""
    for length in (4, 3, 2, 1):
        phrase = tokens[at : at + length]
        if len(phrase) < length or any(token in _STOPS or token == "%" for token in phrase):
            continue
        metric = default().metric(" ".join(phrase).rstrip("."))
        if metric is not None and metric.kind != "count" and _is_written_out(phrase, metric):
            return length, metric
    return 1, None


def _is_written_out(phrase: list[str], metric: Meaning) -> bool:
    """Short words such as `rec`, `per` or `map` are metrics only in capitals, with a digit, or with a dot."""
    if len(phrase) > 1 or len(phrase[0]) > 4:
        return True
    word = phrase[0]
    return (
        sum(letter.isupper() for letter in word) > 1
        or not word.isalpha()
        or word.lower() in ("loss", "dice", "acc", "time", "cost", "bleu", "bpc", "bpb", "bpd", "ppl", "auc", "wer")
    )


def _mention(tokens: list[str], start: int, end: int, metric: Meaning) -> Mention | None:
    """The mention at tokens `start` to `end`; None when the words around it make it something else."""
    before = tokens[start - 1].lower() if start else "."
    direction, behind = _attached(tokens, end)
    after = tokens[behind].lower() if behind < len(tokens) else "."
    if after in words("otherwise") or (before in words("notof") and behind == end):
        return None
    if after == "/" and _metric_at(tokens, behind + 1)[1] is None:
        return None
    leads = _leads(tokens, start) and not (metric.is_plain and tokens[start - 1 : start] == ["("] and after == ")")
    told = behind > end or after in words("follows") or after in _STOPS
    qualifiers = [
        word for word in tokens[max(0, start - 2) : start] if read(word).split or word.lower() in {"best", "final"}
    ]
    split = next((read(word).split for word in qualifiers if read(word).split), "")
    aggregation = next((word.lower() for word in qualifiers if not read(word).split), "")
    found = replace(metric, split=split, aggregation=aggregation)
    return Mention(found, direction, told and (leads or (behind > end and not metric.is_plain)))


def _leads(tokens: list[str], start: int) -> bool:
    """Whether only words such as `mean`, `test` or a data set stand between a clause's start and here."""
    at = start - 1
    while at >= 0 and tokens[at] not in _STOPS:
        word = tokens[at].lower()
        if not (word in words("adorns") or read(word).split or default().is_dataset(word) or word[0].isdigit()):
            return False
        at -= 1
    return True


def _attached(tokens: list[str], at: int) -> tuple[Direction, int]:
    """The direction that an arrow or a bracket behind a metric gives, and the token behind them."""
    direction: Direction = "unknown"
    start = at
    while at < len(tokens):
        token, end = tokens[at], at + 1
        if token in "([":
            closing = next((i for i in range(at, min(at + 9, len(tokens))) if tokens[i] in ")]"), None)
            if closing is None or not _is_unit(tokens[at + 1 : closing]):
                break
            end = closing + 1
        elif token != "%" and token[0] not in _UP + _DOWN:
            break
        said = _direction_of(tokens[at:end])
        legend = end < len(tokens) and tokens[end].lower() in (":", "=", "means", "indicates", "denotes")
        if said != "unknown" and legend:
            return "unknown", start
        direction, at = said if said != "unknown" else direction, end
    return direction, at


def _is_unit(inside: list[str]) -> bool:
    """Whether a bracket behind a metric holds its unit, direction, or aggregation, and not its abbreviation."""
    text = " ".join(inside)
    return default().is_unit(text) or any(
        token[0] in _UP + _DOWN + "%±" or token.lower() in ("better", "mean", "mm", "std", "average")
        for token in inside
    )


def _direction_of(tokens: list[str]) -> Direction:
    text = " ".join(tokens).lower()
    up = any(arrow in text for arrow in _UP) or re.search(r"(higher|larger) (is |the )?better", text) is not None
    down = any(arrow in text for arrow in _DOWN) or re.search(r"(lower|smaller) (is |the )?better", text) is not None
    return "unknown" if up == down else "max" if up else "min"


def _is_joined(between: list[str]) -> bool:
    return all(token in ("and", "&", "%", "or", "(", ")", "/", "|", ",") for token in between)


def _distinct(found: list[Mention]) -> list[Mention]:
    """One mention per metric, the first, with what the others add."""
    first: dict[str, Mention] = {}
    for mention in found:
        known = first.setdefault(mention.found.called, mention)
        direction = known.direction if known.direction != "unknown" else mention.direction
        first[mention.found.called] = replace(known, direction=direction,
                                            is_subject=known.is_subject or mention.is_subject)  # fmt: skip
    return list(first.values())
