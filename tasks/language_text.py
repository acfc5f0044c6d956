"""Text as a language model meets it: token ids, windows, and exact n-gram models to compare with. No torch here."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from benchmark.parameters import Parameters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tasks.data.tokenizers import Tokenizer

    Ids = NDArray[np.int32]

TokenizerName = Literal["characters", "bytes", "gpt2"]

GPT2 = "gpt2-tokenizer"
"""Name of the data set that holds GPT-2's tokenizer files."""

PADDING = -1
"""Target that is not predicted."""

BYTES_PER_TOKEN = 2.5
"""Bytes of a corpus's compressed files per GPT-2 token, for plans made before the files are there: WikiText-2's 6.36 MB
of training text are about 2.4 million tokens."""

SMOOTHING = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
"""Values of k tried for add-k smoothing."""


class Rows(Parameters):
    """Rows (stories, paragraphs, lines) of a split of a text data set."""

    split: str
    """Split of the data set, for example `train`."""
    first: int = Field(default=0, ge=0)
    """Rows before this one are left out."""
    count: int | None = Field(default=None, gt=0)
    """Number of rows; all that follow when absent."""


class Text(Parameters):
    """Rows with what makes tokens of them."""

    corpus: str
    rows: Rows
    tokenizer: TokenizerName
    fitted_on: Rows
    """Rows whose characters the character tokenizer knows."""
    row_ends: bool


@lru_cache(maxsize=8)
def tokenizer_for(corpus: str, name: TokenizerName, fitted_on: Rows) -> Tokenizer:
    """The tokenizer of that name.

    Raises:
        DataError: its files, or the text it is fitted on, are not there.
    """
    from tasks.data import load_text, load_tokenizer
    from tasks.data.tokenizers import ByteTokenizer, CharacterTokenizer

    if name == "gpt2":
        return load_tokenizer(GPT2)
    if name == "bytes":
        return ByteTokenizer()
    return CharacterTokenizer.fit(load_text(corpus, fitted_on.split, first=fitted_on.first, count=fitted_on.count))


@lru_cache(maxsize=16)
def token_ids(text: Text) -> Ids:
    """All tokens as one run, the rows one after another, each with the end token where the text has row ends.

    Raises:
        DataError: the text is not there, or has fewer than two tokens.
    """
    import numpy as np

    from benchmark.errors import DataError
    from tasks.data import load_tokens

    tokenizer, rows = tokenizer_for(text.corpus, text.tokenizer, text.fitted_on), text.rows
    tokens = load_tokens(text.corpus, rows.split, tokenizer, first=rows.first, count=rows.count)
    kept = np.ones(len(tokens.ids), dtype=bool)
    if not text.row_ends:
        kept[tokens.starts[1:] - 1] = False
    ids = np.asarray(tokens.ids)[kept]
    if len(ids) < 2:
        raise DataError(f"{text.corpus} {rows.split}: expected at least two tokens, found {len(ids)}")
    ids.flags.writeable = False
    return ids


def expected_tokens(corpus: str, rows: Rows) -> int:
    """Tokens in these rows, estimated from the manifest alone.

    Raises:
        DataError: the manifest does not say how large the files of the split are.
    """
    from benchmark.errors import DataError
    from tasks.data import dataset

    info = dataset(corpus)
    sizes = [file.size for file in info.layouts[0].files if file.split == rows.split]
    if not sizes or None in sizes:
        raise DataError(f"{corpus} {rows.split}: the manifest gives no size of the files, so no tokens are estimated")
    total = info.split(rows.split).rows
    share = min(rows.count or total, max(0, total - rows.first)) / total
    return max(2, round(sum(size or 0 for size in sizes) * share / BYTES_PER_TOKEN))


@lru_cache(maxsize=16)
def characters(corpus: str, rows: Rows) -> int:
    """Number of characters in these rows, row ends not counted."""
    from tasks.data import load_text

    return sum(map(len, load_text(corpus, rows.split, first=rows.first, count=rows.count)))


def windows(ids: Ids, context: int) -> tuple[Ids, Ids]:
    """Inputs and targets (n, context) that predict each token but the first exactly once, each window on its own.

    The last window is filled up with inputs 0 and targets `PADDING`.
    """
    import numpy as np

    predicted = len(ids) - 1
    count = -(-predicted // context)
    inputs = np.zeros(count * context, np.int32)
    targets = np.full(count * context, PADDING, np.int32)
    inputs[:predicted], targets[:predicted] = ids[:-1], ids[1:]
    return inputs.reshape(count, context), targets.reshape(count, context)


def scores(nats: float, predicted: int, text_length: int) -> dict[str, float]:
    """Perplexity, loss and bits per character from the total loss in nats of the predicted tokens."""
    loss = nats / predicted
    return {
        "perplexity": math.exp(loss) if loss < 700 else math.inf,
        "loss": loss,
        "bits_per_character": nats / math.log(2) / text_length,
    }


# --- n-gram models ---------------------------------------------------------------------------------------------------


class NGram:
    """Unigram or bigram model with add-k smoothing: P(b | a) = (n(a, b) + k) / (n(a) + k V).

    The counts are those of the training tokens but the first, as the targets of a language model are.
    """

    def __init__(self, ids: Ids, vocabulary: int, *, order: Literal[1, 2]) -> None:
        import numpy as np

        self._vocabulary, self._order = vocabulary, order
        self._codes, self._counts = np.unique(self._code(ids), return_counts=True)
        contexts = ids[:-1] if order == 2 else np.zeros(len(ids) - 1, np.int32)
        self._totals = np.bincount(contexts, minlength=vocabulary)

    def nats(self, ids: Ids, k: float) -> float:
        """Total −log P in nats of every token of a text but its first."""
        import numpy as np

        codes = self._code(ids)
        place = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        seen = np.where(self._codes[place] == codes, self._counts[place], 0)
        total = self._totals[ids[:-1]] if self._order == 2 else self._totals[0]
        return float(-np.log((seen + k) / (total + k * self._vocabulary)).sum())

    def _code(self, ids: Ids) -> Any:
        """One int64 for each token but the first, or for each pair of neighbours."""
        following = ids[1:].astype("int64")
        return following + ids[:-1].astype("int64") * self._vocabulary if self._order == 2 else following


def ngram_nats(training: Ids, vocabulary: int, validation: Ids, test: Ids) -> dict[str, tuple[float, float]]:
    """Total nats of (test, validation) under uniform, unigram and bigram models, k chosen on the validation text."""
    found = {"uniform": ((len(test) - 1) * math.log(vocabulary), (len(validation) - 1) * math.log(vocabulary))}
    for name, order in (("unigram", 1), ("bigram", 2)):
        model = NGram(training, vocabulary, order=order)  # type: ignore[arg-type]
        k = min(SMOOTHING, key=lambda k: model.nats(validation, k))
        found[name] = (model.nats(test, k), model.nats(validation, k))
    return found
