"""Language modelling: a GPT on a text, scored by perplexity per token on text it has not seen.

Set-up of arXiv 2608.00418 Table 12 and Appendix F. What it leaves open (head width where 12 does not divide 512, weight
tying, weight decay, row separators, the TinyStories test set) are fields; docs/language.md lists the choices.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic import Field, ValidationInfo, field_validator

from benchmark.nn.gpt_shape import GptShape
from benchmark.parameters import Metric
from benchmark.registry import task
from benchmark.task import Array, Examples, Geometry, Task, Workload
from tasks.language_text import GPT2, PADDING, Rows, Text, TokenizerName

if TYPE_CHECKING:
    import torch

    from benchmark.records import CurvePoint
    from tasks.language_text import Ids


@task("language")
class Language(Task):
    """Next-token prediction on windows of a text by a decoder-only Transformer."""

    corpus: str
    """Text data set, for example `alice` (`bench data list` names them)."""
    tokenizer: TokenizerName
    """`characters` of the training text, UTF-8 `bytes`, or `gpt2`, byte-level BPE read from the data folder."""
    training: Rows = Field(default=Rows(split="train"), validate_default=True)
    """Rows that are trained on."""
    validation: Rows = Field(default=Rows(split="validation"), validate_default=True)
    """Rows by which a step may be chosen."""
    test: Rows = Field(default=Rows(split="test"), validate_default=True)
    """Rows that are only scored."""
    row_ends: bool = True
    """Whether the tokenizer's end token follows each row; otherwise rows follow each other as they are."""
    model: GptShape
    """The Transformer."""

    @field_validator("corpus")
    @classmethod
    def _text(cls, name: str) -> str:
        from tasks.data.naming import named

        return named(name, "text").name

    @field_validator("training", "validation", "test")
    @classmethod
    def _there(cls, rows: Rows, found: ValidationInfo) -> Rows:
        from tasks.data import dataset
        from tasks.data.naming import check_rows

        if "corpus" in found.data:  # otherwise it is the corpus that is wrong
            check_rows(dataset(found.data["corpus"]), rows.split, rows.first, rows.count)
        return rows

    # --- facts ---------------------------------------------------------------------------------------------------

    def metrics(self) -> tuple[Metric, ...]:
        """Test perplexity first; `language_text.scores` has the formulas."""
        at_best = "at the point of the curve with the lowest validation perplexity"
        return (
            _perplexity("perplexity", "Perplexity", "test text, after the last step"),
            _perplexity("perplexity_validation", "Perplexity (validation)", "validation text, after the last step"),
            _perplexity("perplexity_best", "Perplexity (best step)", f"test text, {at_best}"),
            _perplexity("perplexity_validation_best", "Perplexity (validation, best step)", f"itself {at_best}"),
            Metric(
                name="loss",
                title="Loss",
                direction="min",
                unit="nats",
                lower=0,
                description="mean −log P of the tokens of the test text, after the last step",
            ),
            Metric(
                name="bits_per_character",
                title="Bits per character",
                direction="min",
                lower=0,
                description="total −log2 P of the test text, row ends included, over its characters",
            ),
        )

    def geometry(self) -> Geometry:
        """One causal token per token."""
        shape = self.model
        return Geometry(
            layers=shape.layers,
            heads=shape.heads,
            tokens=shape.context,
            dim=shape.dim,
            head_dim=shape.head_dim,
            causal=True,
        )

    def missing_data(self) -> str | None:
        """The text and, with `gpt2`, the tokenizer, and how to get them."""
        from tasks.data import is_available

        missing = [str(found) for found in map(is_available, self._data_sets()) if found is not None]
        return "; ".join(missing) or None

    def data_digests(self) -> Mapping[str, str]:
        """Those of the text and, with `gpt2`, the tokenizer, as far as they are in place."""
        from tasks.data import content_digests

        return content_digests(*self._data_sets())

    def training_size(self) -> int:
        """Windows that start at each token of the training text.

        Raises:
            DataError: the text is shorter than a window.
        """
        from benchmark.errors import DataError

        found, needed = len(self._ids(self.training)), self.model.context + 1
        if found < needed:
            raise DataError(f"{self.corpus} {self.training.split}: a window needs {needed} tokens; found {found}")
        return found - self.model.context

    def workload(self) -> Workload | None:
        """None while the text is there. Without it, tokens are taken to be `BYTES_PER_TOKEN` of its files' bytes."""
        from tasks.data import dataset, is_available
        from tasks.language_text import expected_tokens

        missing = [name for name in self._data_sets() if is_available(name) is not None]
        if not missing:
            return None
        context = self.model.context
        training, *scored = (expected_tokens(self.corpus, rows) for rows in (self.training, self.test, self.validation))
        windows = sum(-(-(tokens - 1) // context) for tokens in scored)
        ids = (Array((context,), "int32"), Array((context,), "int32"))
        return Workload(
            training=max(1, training - context),
            curve=windows,
            final=windows,
            trained=ids,
            scored=ids,
            missing={name: dataset(name).bytes for name in missing},
            assumptions=(f"{self.corpus}: the number of tokens is estimated from the size of its files",),
        )

    def _data_sets(self) -> tuple[str, ...]:
        return (self.corpus, GPT2) if self.tokenizer == "gpt2" else (self.corpus,)

    def references(self) -> Mapping[str, Mapping[str, float]]:
        """Uniform, unigram and bigram models of the training text with add-k smoothing; none while data is missing."""
        return _references(self) if self.missing_data() is None else {}

    def vocabulary(self) -> int:
        """Number of token ids."""
        from tasks.data import dataset, is_available
        from tasks.language_text import tokenizer_for

        if self.tokenizer == "gpt2" and is_available(GPT2) is not None:  # a plan needs no files
            return dataset(GPT2).split("vocabulary").rows
        return tokenizer_for(self.corpus, self.tokenizer, self.training).vocabulary

    def _ids(self, rows: Rows) -> Ids:
        from tasks.language_text import token_ids

        return token_ids(
            Text(
                corpus=self.corpus,
                rows=rows,
                tokenizer=self.tokenizer,
                fitted_on=self.training,
                row_ends=self.row_ends,
            )
        )

    # --- tensors -------------------------------------------------------------------------------------------------

    def build_model(self) -> torch.nn.Module:
        """A GPT over the tokenizer's vocabulary."""
        from benchmark.nn.gpt import GPT

        return GPT(self.model, self.vocabulary())

    def training_key(self, seed: int) -> Hashable:
        """All seeds share one training set."""
        return None

    def training_examples(self, seed: int) -> Examples:
        """All windows of `context` tokens and the tokens that follow, int32 (n, context), as views of one tensor."""
        import torch

        self.training_size()
        ids, context = torch.tensor(self._ids(self.training)), self.model.context
        return Examples(inputs=ids[:-1].unfold(0, context, 1), targets=ids[1:].unfold(0, context, 1))

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Mean cross-entropy of the next token, in nats."""
        import torch

        return torch.nn.functional.cross_entropy(outputs.flatten(0, 1), targets.flatten().long())

    def evaluation_examples(self, seed: int, *, final: bool) -> Examples:
        """Windows side by side over the whole test text, then over the whole validation text."""
        import torch

        from tasks.language_text import windows

        parts = [windows(self._ids(rows), self.model.context) for rows in (self.test, self.validation)]
        inputs, targets = (torch.cat([torch.from_numpy(part[i]) for part in parts]) for i in (0, 1))
        return Examples(inputs=inputs, targets=targets)

    def observe(self, outputs: torch.Tensor, targets: torch.Tensor) -> dict[str, torch.Tensor]:
        """−log P of each token in nats, (B, context); 0 where nothing is predicted."""
        import torch

        nats = torch.nn.functional.cross_entropy(
            outputs.flatten(0, 1), targets.flatten().long(), ignore_index=PADDING, reduction="none"
        )
        return {"nats": nats.view(targets.shape)}

    def summarize(self, observed: Mapping[str, torch.Tensor], examples: Examples, *, final: bool) -> dict[str, float]:
        """Test and validation scores, in double precision; the curve has the same as the end."""
        first = -(-(len(self._ids(self.test)) - 1) // self.model.context)
        nats = observed["nats"].double().sum(dim=1)
        return self._scores(float(nats[:first].sum()), float(nats[first:].sum()))

    def summarize_curve(self, curve: Sequence[CurvePoint]) -> dict[str, float]:
        """Validation and test perplexity at the step of the lowest validation perplexity."""
        validation = [point for point in curve if point.name == "perplexity_validation" and math.isfinite(point.value)]
        if not validation:
            return {}
        best = min(validation, key=lambda point: point.value)
        test = {point.step: point.value for point in curve if point.name == "perplexity"}
        return {"perplexity_best": test[best.step], "perplexity_validation_best": best.value}

    def _scores(self, test_nats: float, validation_nats: float) -> dict[str, float]:
        from tasks.language_text import characters, scores

        validation = scores(validation_nats, len(self._ids(self.validation)) - 1, 1)
        return {
            **scores(test_nats, len(self._ids(self.test)) - 1, characters(self.corpus, self.test)),
            "perplexity_validation": validation["perplexity"],
        }


@lru_cache(maxsize=8)
def _references(language: Language) -> dict[str, dict[str, float]]:
    from tasks.language_text import ngram_nats

    texts = [language._ids(rows) for rows in (language.training, language.validation, language.test)]
    found = ngram_nats(texts[0], language.vocabulary(), texts[1], texts[2])
    return {name: language._scores(*nats) for name, nats in found.items()}


def _perplexity(name: str, title: str, text: str) -> Metric:
    return Metric(
        name=name,
        title=title,
        direction="min",
        unit="perplexity",
        lower=1,
        description=f"exp of the mean −log P of a token, {text}",
    )
