"""What a label of a table says, once read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["metric", "cost", "count", "setting", "budget", "identifier", "split", "role", "axis", "value", "name"]
"""What a label is: something measured, something spent, a number of things, a condition, something that only tells
rows apart, a part of the data, what a number is to others, the heading of names, nothing at all, or a name."""
Way = Literal["max", "min", "unknown"]


@dataclass(frozen=True, slots=True)
class Meaning:
    """A label taken apart and looked up: `CIFAR-10 Acc. (%) ↑` is the metric `accuracy` of the data set `CIFAR-10`."""

    text: str
    """The label without arrows, its unit and footnote marks."""
    kind: Kind = "name"
    name: str = ""
    """Canonical name of the metric, cost, setting or role: `accuracy`, `recall@5`, `AP50`; empty for a name."""
    unit: str = ""
    """What stands in brackets behind it, `%`, `ms`."""
    power: int = 0
    """Power of ten that its numbers are told in: −2 for `MSE (×10⁻²)`: a printed 4.41 is 0.0441."""
    count: int | None = None
    """A whole number in brackets behind it, `Retrieval (15)`: how many things it is over."""
    arrow: Way = "unknown"
    """Which way is better by an arrow of the label."""
    better: Way = "unknown"
    """Which way is better by the metric's name; never for one with words that make another quantity of it."""
    lower: float | None = None
    """Least possible value, for a share as a fraction; None where nothing is known."""
    upper: float | None = None
    """Greatest possible value, likewise."""
    role: str = ""
    """`average`, `delta`, `spread`, `bound`, `runs`, `own`, `baseline`, `reference`."""
    flags: frozenset[str] = frozenset()
    """What the lexicon's file says beside: `share`, `whole`, `high`, `plain`, `averaged`, `one`, `decimals` ..."""
    entry: str = ""
    """The metric's name without a place or a part: `recall@k` for `recall@5`, `AP` for `AP50`."""
    at: str = ""
    """The number behind a metric's name: `5` of `R@5`, `50` of `AP50`."""
    part: str = ""
    """Which of the metrics of that name: `box` or `S` of AP."""
    split: str = ""
    aggregation: str = ""
    """`best`, `mean`, `final` before a metric's name."""
    printed: str = ""
    """The metric's own words as the label writes them."""
    rest: str = ""
    """Words beside the metric's name that are no part of it: those of a data set, and those not known."""
    is_exact: bool = True
    """Whether every such word was understood, so that the metric's bounds are those of the number."""
    changed: bool = False
    """Whether words such as `relative` make another quantity of the metric, without its bounds."""
    axis: str = ""
    """What the label says of names that stand below it: `method`, `model`, `task`, `metric`, `split`."""
    of: str = ""
    """What a spread belongs to, `acc` of `acc_std`."""
    is_dataset: bool = False
    """Whether some word is the name of a known data set."""
    is_method: bool = False
    """Whether it is written as methods are: a known word, a citation, `+ something`."""
    is_own: bool = False
    """Whether some word, `ours` or `baseline`, can only be said of a method."""
    is_component: bool = False
    """Whether it is something added or taken away, `+ mask loss`, `w/o KL loss`, whatever it is called."""

    @property
    def is_metric(self) -> bool:
        """Whether it measures what a model achieves or costs."""
        return self.kind in ("metric", "cost", "count")

    @property
    def called(self) -> str:
        """What a claim calls the metric: its canonical name where the lexicon unifies its words, else as printed."""
        if self.is_cost or (self.rest and not self.is_of_dataset):
            return " ".join(self.text.split())
        one = "one" in self.flags and (not self.at or ("parts" in self.flags and self.at in ("50", "75")))
        return self.name if one else self.printed or self.text

    @property
    def is_of_dataset(self) -> bool:
        """Whether the words beside the metric's name are those of a data set."""
        return bool(self.rest) and self.is_dataset and self.is_exact

    @property
    def is_cost(self) -> bool:
        """Whether it is what a method costs or is given, and not what it achieves."""
        return self.kind in ("cost", "count")

    @property
    def is_plain(self) -> bool:
        """Whether the word has other meanings, so that running text must say that it is what was measured."""
        return self.is_cost or "plain" in self.flags

    @property
    def describes(self) -> bool:
        """Whether it says under which condition a row was measured, or only tells rows apart."""
        return self.kind in ("setting", "budget", "identifier")

    @property
    def is_share(self) -> bool:
        """Whether it is a share, printed as percent or as a fraction."""
        return "share" in self.flags

    @property
    def direction(self) -> Way:
        """Which way is better: the arrow's word, then the name's."""
        return self.arrow if self.arrow != "unknown" else self.better
