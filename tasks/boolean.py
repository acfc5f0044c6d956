"""Boolean functions whose training inputs leave out part of the cube: "generalisation on the unseen".

Targets, seen domains, sampling and the published Transformer set-up follow aryol/GOTU@8ce173c (examples.py, main.py,
script.sh), the code of Abbe et al., arXiv 2301.13105; depth, heads and optimiser of the `paper` profiles follow arXiv
2608.00418 Table 7.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from benchmark.nn.shape import EncoderShape
from benchmark.parameters import Metric, Parameters
from benchmark.registry import task
from benchmark.task import Examples, Geometry, Task
from tasks.boolean_pattern import BooleanPattern

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from tasks import cube


class Term(Parameters):
    """One term of a polynomial, coefficient × Π x_i."""

    coefficient: float = 1.0
    bits: tuple[int, ...]
    """Bits of the product; none for the constant."""


class Majority(Parameters):
    """The sign of the sum of these bits."""

    majority: tuple[int, ...]
    """An odd number of bits."""


class Cyclic(Parameters):
    """Σ_i x_i x_{i+1} … over all starts, indices modulo the number of bits."""

    cyclic: int = Field(gt=0)
    """Length of each product."""


class SeenDomain(Parameters):
    """The part of the cube that is trained on; exactly one field is given."""

    any_positive: tuple[int, ...] | None = None
    """At least one of these bits is +1."""
    product_positive: tuple[int, ...] | None = None
    """The product of these bits is +1."""
    at_most_negative: int | None = Field(default=None, ge=0)
    """At most this many bits are −1."""

    @model_validator(mode="after")
    def _exactly_one(self) -> SeenDomain:
        if len(self.model_dump(exclude_none=True)) != 1:
            raise ValueError("give exactly one of any_positive, product_positive, at_most_negative")
        if () in (self.any_positive, self.product_positive):
            raise ValueError("name at least one bit")
        return self

    def contains(self, signs: cube.Signs) -> NDArray[np.bool_]:
        """Which inputs (n, bits) are seen → (n,)."""
        from tasks import cube

        if self.any_positive is not None:
            return cube.seen_any_positive(signs, frozenset(self.any_positive))
        if self.product_positive is not None:
            return cube.seen_product_positive(signs, frozenset(self.product_positive))
        return cube.seen_at_most_negative(signs, self.at_most_negative or 0)

    def minimum_degree(self, target: cube.Polynomial, signs: cube.Signs) -> cube.Values:
        """Values of the minimum-degree interpolator of the target at each input."""
        from tasks import cube

        if self.any_positive is not None:
            reduced = cube.minimum_degree_any_positive(target, frozenset(self.any_positive))
            return cube.evaluate(reduced, signs)
        if self.product_positive is not None:
            reduced = cube.minimum_degree_product_positive(target, frozenset(self.product_positive))
            return cube.evaluate(reduced, signs)
        return cube.minimum_degree_at_most_negative(target, self.at_most_negative or 0, signs)


@task("boolean")
class Boolean(Task):
    """Regression of a Boolean function from part of its domain, by a Transformer over the bits."""

    bits: int = Field(gt=0, le=20)
    """Number of input bits, n."""
    target: tuple[Term, ...] | Majority | Cyclic
    """The function that is learned."""
    seen: SeenDomain
    """The inputs it is learned from."""
    samples: int | None = Field(default=None, gt=0)
    """Absent: train on every seen input and evaluate on the whole cube. Otherwise that many points, with replacement,
    each for training (seen) and evaluation (any)."""
    data_seed: int | None = None
    """Seed of the sampled points; the cell's own seed when absent."""
    curve_inputs: int | None = Field(default=None, gt=0)
    """Absent: every point of the curve is measured on all evaluation inputs. Otherwise on a fixed subset of this
    size with the same share of unseen inputs, and the curve's metrics are named `…@size`."""
    model: EncoderShape
    """The Transformer."""
    interaction: BooleanPattern | None = None
    """The interaction pattern that priors may encode."""
    monomials: tuple[tuple[int, ...], ...] = ()
    """Monomials whose Fourier coefficients are reported."""

    @model_validator(mode="after")
    def _check(self) -> Boolean:
        named = [bit for group in self._named_bits() for bit in group]
        if named and not 0 <= min(named) <= max(named) < self.bits:
            raise ValueError(f"bits are numbered 0 to {self.bits - 1}; found {min(named)} to {max(named)}")
        if isinstance(self.target, Majority) and len(self.target.majority) % 2 == 0:
            raise ValueError("a majority needs an odd number of bits")
        if isinstance(self.target, Cyclic) and self.target.cyclic > self.bits:
            raise ValueError(f"cyclic products of {self.target.cyclic} bits need at least {self.target.cyclic} bits")
        if self.model.pooling == "none":
            raise ValueError("pooling must be `cls` or `mean`: the target is one number per input")
        return self

    def _named_bits(self) -> list[tuple[int, ...]]:
        target = self.target
        terms = [term.bits for term in target] if isinstance(target, tuple) else []
        if isinstance(target, Majority):
            terms = [target.majority]
        pattern = (self.interaction.largest_bit(),) if self.interaction and self.interaction.largest_bit() >= 0 else ()
        return [*terms, *self.monomials, pattern, self.seen.any_positive or (), self.seen.product_positive or ()]

    # --- facts ---------------------------------------------------------------------------------------------------

    def polynomial(self) -> cube.Polynomial:
        """The target as an exact Fourier expansion."""
        from tasks import cube

        if isinstance(self.target, Majority):
            return cube.majority(self.target.majority)
        if isinstance(self.target, Cyclic):
            return cube.cyclic(self.target.cyclic, self.bits)
        result: cube.Polynomial = {}
        for term in self.target:
            cube.add(result, frozenset(term.bits), Fraction(term.coefficient))
        return result

    def metrics(self) -> tuple[Metric, ...]:
        """Accuracy first; see `scores` for the definitions."""
        return (
            *(_accuracy(name, title, text) for name, title, text in _ACCURACIES),
            *(_loss(name, title, text) for name, title, text in _LOSSES),
            *(
                Metric(
                    name=fourier_name(monomial),
                    title=f"f̂({{{','.join(map(str, monomial))}}})",
                    direction="none",
                    description="E[output × product of these bits] over all evaluation inputs",
                )
                for monomial in self.monomials
            ),
        )

    def geometry(self) -> Geometry:
        """One token per bit, and CLS."""
        shape = self.model
        return Geometry(
            layers=shape.layers,
            heads=shape.heads,
            tokens=self.bits,
            extra_tokens=int(shape.cls_token),
            dim=shape.dim,
            head_dim=shape.head_dim,
            causal=shape.causal,
        )

    def has_pattern(self) -> bool:
        """Whether an interaction pattern is given."""
        return self.interaction is not None

    def training_size(self) -> int:
        """Seen inputs of the cube, or the number of samples."""
        if self.samples is not None:
            return self.samples
        from tasks import cube

        return int(self.seen.contains(cube.all_inputs(self.bits)).sum())

    def training_key(self, seed: int) -> Hashable:
        """The seed of the samples; None when the whole cube is used."""
        return None if self.samples is None else self._data_seed(seed)

    def references(self) -> Mapping[str, Mapping[str, float]]:
        """Computed on the whole cube: the minimum-degree interpolator, the target with 0 on every unseen input, and
        the mean of the target over the seen inputs."""
        import numpy as np

        from tasks import cube

        signs = cube.all_inputs(self.bits)
        target = cube.evaluate(self.polynomial(), signs)
        seen = self.seen.contains(signs)
        predictions = {
            "minimum_degree": self.seen.minimum_degree(self.polynomial(), signs),
            "zero_on_unseen": np.where(seen, target, 0.0),
            "mean_of_seen": np.full(len(target), target[seen].mean()),
        }
        return {name: self.scores(prediction, target, signs) for name, prediction in predictions.items()}

    def scores(self, prediction: cube.Values, target: cube.Values, signs: cube.Signs) -> dict[str, float]:
        """Every metric of predictions (n,) for inputs (n, bits); accuracies in percent.

        `accuracy` counts an output whose nearest value among those the target takes is the right one, ties as wrong;
        `accuracy_sign` the right sign; `accuracy_within_one` an absolute error below 1. Losses are mean squares.
        """
        import numpy as np

        with np.errstate(over="ignore", invalid="ignore"):  # a diverged cell has infinite outputs; so are its losses
            return self._scores(prediction, target, signs)

    def _scores(self, prediction: cube.Values, target: cube.Values, signs: cube.Signs) -> dict[str, float]:
        import numpy as np

        from tasks import cube

        seen = self.seen.contains(signs)
        error = np.square(prediction - target)
        nearest = _nearest_is_right(prediction, target, _target_values(self))
        sign = np.sign(prediction) == np.sign(target)
        everywhere = np.ones_like(seen)
        result = {
            "accuracy": _percent(nearest, everywhere),
            "accuracy_seen": _percent(nearest, seen),
            "accuracy_unseen": _percent(nearest, ~seen),
            "accuracy_sign": _percent(sign, everywhere),
            "accuracy_sign_unseen": _percent(sign, ~seen),
            "accuracy_within_one": _percent(error < 1, everywhere),
            "loss_all": _mean(error, everywhere),
            "loss_seen": _mean(error, seen),
            "loss_unseen": _mean(error, ~seen),
        }
        for monomial in self.monomials:
            result[fourier_name(monomial)] = cube.fourier(prediction, signs, frozenset(monomial))
        return result

    # --- tensors -------------------------------------------------------------------------------------------------

    def pattern(self, layer: int, head: int) -> torch.Tensor | None:
        """Bool (bits, bits), True = open; closed everywhere on a layer or head the pattern does not cover."""
        if self.interaction is None:
            return None
        import torch

        matrix = torch.zeros(self.bits, self.bits, dtype=torch.bool)
        if self.interaction.covers(layer, head):
            for query, key in self.interaction.open_entries(self.bits, head):
                matrix[query, key] = True
        return matrix

    def build_model(self) -> torch.nn.Module:
        """A Transformer over n tokens with one output."""
        from benchmark.nn.transformer import BitEmbedding, Transformer

        return Transformer(BitEmbedding(self.model.dim), self.model, tokens=self.bits, outputs=1)

    def training_examples(self, seed: int) -> Examples:
        """Every seen input, or the sampled ones; inputs uint8 (n, bits), 1 for +1; targets float32 (n,)."""
        from tasks import cube

        if self.samples is not None:
            return self._examples(self._sampled(seed)[0])
        signs = cube.all_inputs(self.bits)
        return self._examples(signs[self.seen.contains(signs)])

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Mean squared error."""
        return (outputs.squeeze(-1) - targets).square().mean()

    def evaluation_examples(self, seed: int, *, final: bool) -> Examples:
        """The whole cube or the sampled test points; for the curve, the fixed subset if one is asked for."""
        from tasks import cube

        signs = cube.all_inputs(self.bits) if self.samples is None else self._sampled(seed)[1]
        if not final and self.curve_inputs is not None and self.curve_inputs < len(signs):
            signs = self._subset(signs, self.curve_inputs)
        return self._examples(signs)

    def observe(self, outputs: torch.Tensor, targets: torch.Tensor) -> dict[str, torch.Tensor]:
        """The output of each input, (B,)."""
        return {"prediction": outputs.squeeze(-1)}

    def summarize(self, observed: Mapping[str, torch.Tensor], examples: Examples, *, final: bool) -> dict[str, float]:
        """All metrics, in double precision; `…@size` on the subset of the curve."""
        import numpy as np

        signs = np.asarray(2 * examples.inputs.cpu().numpy().astype(np.int8) - 1)
        prediction = observed["prediction"].detach().cpu().double().numpy()
        scores = self.scores(prediction, examples.targets.cpu().double().numpy(), signs)
        whole = self.samples if self.samples is not None else 2**self.bits
        suffix = "" if final or len(examples) == whole else f"@{len(examples)}"
        return {name + suffix: value for name, value in scores.items()}

    def _examples(self, signs: cube.Signs) -> Examples:
        import torch

        from tasks import cube

        targets = torch.from_numpy(cube.evaluate(self.polynomial(), signs)).float()
        return Examples(inputs=torch.from_numpy((signs > 0).astype("uint8")), targets=targets)

    def _data_seed(self, seed: int) -> int:
        return seed if self.data_seed is None else self.data_seed

    def _sampled(self, seed: int) -> tuple[cube.Signs, cube.Signs]:
        """Training and test points. The validation points lie between them in the stream and are drawn as well."""
        import numpy as np

        from tasks import cube

        generator = np.random.RandomState(self._data_seed(seed))
        count = self.samples or 0
        training = self._seen_sample(generator, count)
        self._seen_sample(generator, count)
        return training, cube.sample_inputs(generator, count, self.bits)

    def _seen_sample(self, generator: np.random.RandomState, count: int) -> cube.Signs:
        """`count` seen points: uniform points with the unseen ones dropped, topped up by halves of `count`."""
        import numpy as np

        from tasks import cube

        points = cube.sample_inputs(generator, count, self.bits)
        points = points[self.seen.contains(points)]
        while len(points) < count:
            more = cube.sample_inputs(generator, max(1, count // 2), self.bits)
            points = np.concatenate((points, more[self.seen.contains(more)]))
        return points[:count]

    def _subset(self, signs: cube.Signs, size: int) -> cube.Signs:
        """A fixed random subset with the same share of unseen inputs as all of them."""
        import numpy as np

        order = np.random.RandomState(0).permutation(len(signs))
        seen = self.seen.contains(signs[order])
        unseen_size = round(size * float((~seen).mean()))
        chosen = np.concatenate((order[~seen][:unseen_size], order[seen][: size - unseen_size]))
        return np.asarray(signs[np.sort(chosen)])


SOLVED = 99.5
"""Percent right from which a seed has found the target: between the plateaus, at most 92.83 %, and 100 %."""

_ACCURACIES = (
    ("accuracy", "Accuracy", "nearest value of the target is the right one, all inputs"),
    ("accuracy_seen", "Accuracy (seen)", "the same, seen inputs"),
    ("accuracy_unseen", "Accuracy (unseen)", "the same, unseen inputs"),
    ("accuracy_sign", "Sign accuracy", "output and target have the same sign, all inputs"),
    ("accuracy_sign_unseen", "Sign accuracy (unseen)", "the same, unseen inputs"),
    ("accuracy_within_one", "|error| < 1", "absolute error below 1, all inputs"),
)
_LOSSES = (
    ("loss_all", "Loss", "mean squared error, all inputs"),
    ("loss_seen", "Loss (seen)", "mean squared error, seen inputs"),
    ("loss_unseen", "Loss (unseen)", "mean squared error, unseen inputs"),
)


def fourier_name(monomial: tuple[int, ...]) -> str:
    """Name of the metric that holds this coefficient, for example `fourier_{0,1}`."""
    return f"fourier_{{{','.join(map(str, monomial))}}}"


def _accuracy(name: str, title: str, text: str) -> Metric:
    return Metric(
        name=name,
        title=title,
        direction="max",
        unit="percent",
        lower=0,
        upper=100,
        description=text,
        solved=SOLVED if name == "accuracy" else None,
    )


def _loss(name: str, title: str, text: str) -> Metric:
    return Metric(name=name, title=title, direction="min", lower=0, description=text, scale="log")


@lru_cache(maxsize=64)
def _target_values(boolean: Boolean) -> tuple[float, ...]:
    """Every value the target takes on the cube."""
    import numpy as np

    from tasks import cube

    return tuple(np.unique(cube.evaluate(boolean.polynomial(), cube.all_inputs(boolean.bits))).tolist())


def _nearest_is_right(
    prediction: cube.Values, target: cube.Values, target_values: tuple[float, ...]
) -> NDArray[np.bool_]:
    import numpy as np

    distance = np.abs(prediction - target)
    nearest_other = np.full(len(target), np.inf)
    for value in target_values:
        other = np.where(target == value, np.inf, np.abs(prediction - value))
        np.minimum(nearest_other, other, out=nearest_other)
    return np.asarray(distance < nearest_other)


def _percent(right: NDArray[np.bool_], where: NDArray[np.bool_]) -> float:
    return 100.0 * _mean(right, where)


def _mean(values: NDArray[np.generic], where: NDArray[np.bool_]) -> float:
    """Mean over the chosen inputs, NaN when there are none."""
    return float(values[where].mean(dtype="float64")) if where.any() else float("nan")
