"""Addition and multiplication of d-digit numbers, all digits of the result in one forward pass of an encoder.

The set-up is that of arXiv 2608.00418 §5.2 and Table 8: all 10^6 ordered pairs of 000 to 999, a fraction of them
trained on and the rest tested. What it leaves unsaid (where the digits are read, their order, whether a pair may be
tested whose mirror image was trained on) is a field.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from benchmark.identity import stream
from benchmark.nn.shape import EncoderShape
from benchmark.parameters import Metric
from benchmark.registry import task
from benchmark.task import Examples, Geometry, Task
from tasks.arithmetic_pattern import ArithmeticPattern

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from tasks.arithmetic_pairs import Numbers


@task("arithmetic")
class Arithmetic(Task):
    """Classification of every digit of a + b or a · b from the digits of a and b."""

    operation: Literal["addition", "multiplication"]
    """What is computed; results are padded with zeros to d + 1 digits, or 2d."""
    digits: int = Field(default=3, ge=1, le=3)
    """Digits of each operand, d."""
    train_fraction: float = Field(gt=0, le=0.9)
    """Share of all 10^(2d) ordered pairs that is trained on; the rest is the test set."""
    split_seed: int | None = Field(default=None, ge=0)
    """Seed of the split; the cell's own seed when absent."""
    commutative_safe: bool = False
    """Whether (a, b) and (b, a) are always on the same side of the split. Otherwise a test pair may be a training pair
    with the operands exchanged."""
    test_sample: int | None = Field(default=None, gt=0)
    """Absent: the end is measured on the whole test set and all training pairs. Otherwise on that many random ones of
    each, at most all of them, and the names of the metrics end in `@size`."""
    curve_sample: int | None = Field(default=None, gt=0)
    """The same for the points of the curve; as at the end when absent."""
    outputs: Literal["per_position_head", "pooled_multi_head"] = "per_position_head"
    """`per_position_head` (needs pooling `none`): each digit is read from one token, all through one output layer.
    `pooled_multi_head` (needs pooling `mean` or `cls`): each digit has an output layer of its own, on the pool."""
    output_positions: tuple[int, ...] | None = None
    """The tokens that `per_position_head` reads, in the order of the output digits. When absent the last ones: all six
    of a 6-digit product; a_0 b_2 b_1 b_0 of a 4-digit sum, so that in `msd` order digit k is read from b_k."""
    digit_order: Literal["msd", "lsd"] = "msd"
    """Whether the most or the least significant digit of the result comes first. The order of the operands' digits
    makes no difference to an encoder with learned positions."""
    model: EncoderShape
    """The Transformer."""
    interaction: ArithmeticPattern | None = None
    """The interaction pattern that priors may encode."""

    @model_validator(mode="after")
    def _check(self) -> Arithmetic:
        per_position = self.outputs == "per_position_head"
        if per_position != (self.model.pooling == "none"):
            wanted = "pooling `none`" if per_position else "pooling `mean` or `cls`"
            raise ValueError(f"outputs `{self.outputs}` need {wanted}; found `{self.model.pooling}`")
        if self.output_positions is not None:
            self._check_positions(self.output_positions)
        if not 0 < self.training_size() < self.pairs:
            raise ValueError(f"a train fraction of {self.train_fraction:g} leaves no training pair of {self.pairs}")
        return self

    def _check_positions(self, positions: tuple[int, ...]) -> None:
        if self.outputs != "per_position_head":
            raise ValueError("`output_positions` are for outputs `per_position_head`")
        last = 2 * self.digits - 1
        if len(positions) != self.result_digits or not all(0 <= place <= last for place in positions):
            raise ValueError(
                f"`output_positions` name one token, 0 to {last}, for each of the {self.result_digits} output digits; "
                f"found {list(positions)}"
            )

    # --- facts ---------------------------------------------------------------------------------------------------

    @property
    def pairs(self) -> int:
        """Number of ordered pairs, trained on or not."""
        return int(10 ** (2 * self.digits))

    @property
    def result_digits(self) -> int:
        """Digits of the result, K."""
        return self.digits + 1 if self.operation == "addition" else 2 * self.digits

    def significances(self) -> list[int]:
        """k of each output digit (it counts 10^k), in their order."""
        upwards = range(self.result_digits)
        return list(upwards if self.digit_order == "lsd" else reversed(upwards))

    def metrics(self) -> tuple[Metric, ...]:
        """Sequence accuracy on the test set first."""
        found = [
            _accuracy("sequence_accuracy", "Seq acc", "all digits of the result right, test pairs"),
            _accuracy("digit_accuracy", "Digit acc", "right digits among all digits of the results, test pairs"),
            _loss("loss", "Loss", "cross-entropy, mean over digits and test pairs"),
            _accuracy("train_sequence_accuracy", "Seq acc (train)", "all digits right, training pairs"),
            _loss("train_loss", "Loss (train)", "cross-entropy, mean over digits and training pairs"),
        ]
        found += [
            _accuracy(f"digit_{k}_accuracy", f"Digit 10^{k}", f"right digit at 10^{k}, test pairs")
            for k in range(self.result_digits)
        ]
        found += [
            _accuracy(
                f"carries_{count}_sequence_accuracy",
                f"Seq acc ({count} carries)",
                f"all digits right, test pairs in which {count} columns carry",
            )
            for count in self._carry_counts()
        ]
        return tuple(metric.model_copy(update={"name": self._name(metric.name, final=True)}) for metric in found)

    def geometry(self) -> Geometry:
        """One token per digit of the operands."""
        shape = self.model
        return Geometry(
            layers=shape.layers,
            heads=shape.heads,
            tokens=2 * self.digits,
            extra_tokens=int(shape.cls_token),
            dim=shape.dim,
            head_dim=shape.head_dim,
            causal=shape.causal,
        )

    def has_pattern(self) -> bool:
        """Whether an interaction pattern is given."""
        return self.interaction is not None

    def training_size(self) -> int:
        """round(fraction · 10^(2d))."""
        return round(self.train_fraction * self.pairs)

    def training_key(self, seed: int) -> Hashable:
        """The seed of the split."""
        return self._split_seed(seed)

    def references(self) -> Mapping[str, Mapping[str, float]]:
        """Computed over all pairs: `chance` always answers the most frequent digit of each place (its loss is that of
        the digit frequencies); `own_column`, in addition, the most frequent digit given a_k and b_k alone, so without
        the carry. What they score on the training pairs is taken to be the same."""
        rows = {"chance": self._reference("nothing")}
        if self.operation == "addition":
            rows["own_column"] = self._reference("own_column")
        return rows

    def _reference(self, sees: Literal["nothing", "own_column"]) -> dict[str, float]:
        import numpy as np

        from tasks import arithmetic_pairs as pairs

        known = pairs.predictor(self.operation, self.digits, sees)
        correct = known.correct if self.digit_order == "msd" else known.correct[:, ::-1]
        inputs = pairs.tokens(np.arange(self.pairs, dtype=np.int64), self.digits)
        scores = self.scores(correct, inputs)
        train = {"train_sequence_accuracy": scores["sequence_accuracy"], "train_loss": known.loss}
        return self._named({**scores, "loss": known.loss, **train}, final=True)

    def scores(self, correct: NDArray[np.bool_], inputs: NDArray[np.uint8]) -> dict[str, float]:
        """Accuracies in percent from the right digits (n, K) of pairs (n, 2d); NaN where there is no such pair."""
        import numpy as np

        from tasks import arithmetic_pairs as pairs

        right = np.asarray(correct.all(axis=1))
        result = {"sequence_accuracy": _percent(right), "digit_accuracy": _percent(correct)}
        for column, k in enumerate(self.significances()):
            result[f"digit_{k}_accuracy"] = _percent(correct[:, column])
        if self._carry_counts():
            carries = pairs.carries(np.asarray(inputs))
            for count in self._carry_counts():
                result[f"carries_{count}_sequence_accuracy"] = _percent(right[carries == count])
        return result

    def _carry_counts(self) -> range:
        return range(self.digits + 1 if self.operation == "addition" else 0)

    def _sizes(self, *, final: bool) -> tuple[int, int]:
        """Training and test pairs that are scored."""
        limit = self.test_sample if final or self.curve_sample is None else self.curve_sample
        trained, tested = self.training_size(), self._test_size()
        return (trained, tested) if limit is None else (min(limit, trained), min(limit, tested))

    def _test_size(self) -> int:
        return self.pairs - self.training_size()

    def _name(self, metric: str, *, final: bool) -> str:
        """The metric's name, with `@n` where only n of the pairs it speaks of are scored."""
        trained, tested = self._sizes(final=final)
        scored, there = (trained, self.training_size()) if metric.startswith("train_") else (tested, self._test_size())
        return metric if scored == there else f"{metric}@{scored}"

    def _named(self, values: Mapping[str, float], *, final: bool) -> dict[str, float]:
        return {self._name(metric, final=final): value for metric, value in values.items()}

    # --- tensors -------------------------------------------------------------------------------------------------

    def pattern(self, layer: int, head: int) -> torch.Tensor | None:
        """Bool (2d, 2d), True = open; the same in every layer."""
        if self.interaction is None:
            return None
        import torch

        matrix = torch.zeros(2 * self.digits, 2 * self.digits, dtype=torch.bool)
        for query, key in self.interaction.open_entries(self.digits, head, self.model.heads):
            matrix[query, key] = True
        return matrix

    def build_model(self) -> torch.nn.Module:
        """A Transformer over 2d digits that gives (B, K, 10)."""
        from tasks.arithmetic_model import DigitTransformer

        tokens, outputs, read = 2 * self.digits, self.result_digits, None
        if self.outputs == "per_position_head":
            read = self.output_positions or tuple(range(tokens - outputs, tokens))
        return DigitTransformer(self.model, tokens=tokens, outputs=outputs, read=read)

    def training_examples(self, seed: int) -> Examples:
        """Inputs uint8 (n, 2d), the digits of a and b; targets uint8 (n, K)."""
        return self._examples(self._split(seed)[0])

    def evaluation_examples(self, seed: int, *, final: bool) -> Examples:
        """Training pairs first, then test pairs, as many of each as are scored."""
        import numpy as np

        training, test = self._split(seed)
        trained, tested = self._sizes(final=final)
        return self._examples(np.concatenate((training[:trained], test[:tested])))

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Cross-entropy, mean over digits and examples."""
        import torch

        return torch.nn.functional.cross_entropy(outputs.flatten(0, 1), targets.flatten().long())

    def observe(self, outputs: torch.Tensor, targets: torch.Tensor) -> dict[str, torch.Tensor]:
        """`correct`, bool (B, K): the logit of the right digit exceeds all others, so a tie or NaN is wrong;
        `loss`, (B,): mean over the digits."""
        import torch

        from tasks.arithmetic_model import one_hot

        right = one_hot(targets)
        wanted = outputs.masked_fill(~right, -torch.inf).amax(dim=-1)
        other = outputs.masked_fill(right, -torch.inf).amax(dim=-1)
        surprise = torch.logsumexp(outputs, dim=-1) - wanted
        return {"correct": wanted > other, "loss": surprise.mean(dim=-1)}

    def summarize(self, observed: Mapping[str, torch.Tensor], examples: Examples, *, final: bool) -> dict[str, float]:
        """All metrics, in double precision."""
        correct, inputs = observed["correct"].cpu().numpy(), examples.inputs.cpu().numpy()
        losses = observed["loss"].detach().cpu().double()
        trained, _ = self._sizes(final=final)
        result = self.scores(correct[trained:], inputs[trained:])
        result["loss"] = float(losses[trained:].mean())
        result["train_sequence_accuracy"] = self.scores(correct[:trained], inputs[:trained])["sequence_accuracy"]
        result["train_loss"] = float(losses[:trained].mean())
        return self._named(result, final=final)

    def _split_seed(self, seed: int) -> int:
        return seed if self.split_seed is None else self.split_seed

    def _split(self, seed: int) -> tuple[Numbers, Numbers]:
        start = stream(self._split_seed(seed), "split")
        return _cached_split(self.digits, self.training_size(), start, self.commutative_safe)

    def _examples(self, chosen: Numbers) -> Examples:
        import torch

        from tasks import arithmetic_pairs as pairs

        values = pairs.results(self.operation, *pairs.operands(chosen, self.digits))
        targets = pairs.digits_of(values, self.result_digits)
        if self.digit_order == "lsd":
            targets = targets[:, ::-1].copy()
        return Examples(torch.from_numpy(pairs.tokens(chosen, self.digits)), torch.from_numpy(targets))


@lru_cache(maxsize=4)
def _cached_split(digits: int, training: int, seed: int, commutative_safe: bool) -> tuple[Numbers, Numbers]:
    """The split of one cell is asked for three times: training, curve, end."""
    from tasks import arithmetic_pairs as pairs

    return pairs.split(digits, training, seed, commutative_safe=commutative_safe)


def _accuracy(name: str, title: str, text: str) -> Metric:
    return Metric(name=name, title=title, direction="max", unit="percent", lower=0, upper=100, description=text)


def _loss(name: str, title: str, text: str) -> Metric:
    return Metric(name=name, title=title, direction="min", unit="nats", lower=0, description=text)


def _percent(right: NDArray[np.bool_]) -> float:
    return 100.0 * float(right.mean(dtype="float64")) if right.size else float("nan")
