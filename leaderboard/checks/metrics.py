"""What is known of common metrics: which way is better, and between which bounds they lie."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from leaderboard.claims.model import Claim, Direction


@dataclass(frozen=True, slots=True)
class Known:
    """A family of metrics. Bounds are for fractions; percentages are 100 times as far."""

    pattern: re.Pattern[str]
    direction: Direction
    lower: int | None = None
    upper: int | None = None
    proportion: bool = False
    """Whether it may be printed as a fraction or as a percentage."""
    counts: bool = False
    """Whether one run's value is a whole number of items over N."""


def _known(
    pattern: str, direction: Direction, lower: int | None = None, upper: int | None = None, **more: bool
) -> Known:
    """A family whose names match all of `pattern`."""
    return Known(re.compile(rf"(?<![a-z0-9])(?:{pattern})(?![a-z0-9])"), direction, lower, upper, **more)


FAMILIES = (
    _known(r"perplexity|ppl", "min", 1),
    _known(r"bits per (?:char\w*|byte)|bpc|bpb", "min", 0),
    _known(r"mcc|matthews\w*|kappa|correlation|pearson\w*|spearman\w*|kendall\w*", "max", -1, 1, proportion=True),
    _known(r"word error rate|wer|cer", "min", 0),
    _known(r"(?:top-?[15]|classification)?[ _-]*err(?:or)?(?: rate)?", "min", 0, 1, proportion=True, counts=True),
    _known(r"mean (?:class|per-class) accuracy|balanced accuracy|macro[ -]\w+", "max", 0, 1, proportion=True),
    _known(
        r"(?:\w+ )*acc(?:uracy)?|top-?[15]|exact match|(?:(?:ans|sup|joint)\w*[- ])?em|hits@\d+|pass@\d+|"
        r"success rate|win rate", "max", 0, 1, proportion=True, counts=True,
    ),
    _known(
        r"(?:(?:ans|sup|joint)\w*[- ])?f[- ]?[\d.]*|f-?score|f-?measure|precision|recall|p@\d+|r@\d+|m@\d+|mrr\S*|"
        r"ndcg\S*|map\S*|ap\S*|m?iou|dice|auc\w*|auroc|sensitivity|specificity|jaccard", "max", 0, 1, proportion=True,
    ),
    _known(r"bleu\S*|rouge\S*|meteor|chrf\S*|bertscore", "max", 0, 1, proportion=True),
    _known(r"r2|r\^2|r²", "max", None, 1),
    _known(r"psnr|ssim|reward|return|throughput", "max"),
    _known(r"(?:\w+ )*loss|rmse|mse|mae|nll|mce|fid|kl|cross[- ]entropy|latency|runtime|params|flops", "min", 0),
)  # fmt: skip


@lru_cache(maxsize=4096)
def family(metric: str | None) -> Known | None:
    """The family a metric's name belongs to."""
    name = (metric or "").strip().casefold().replace("_", " ").removeprefix("% ")
    return next((known for known in FAMILIES if known.pattern.fullmatch(name)), None)


def direction_of(claim: Claim) -> tuple[Direction, bool]:
    """Which way is better, and whether the source says so (False: guessed from the metric's name)."""
    if claim.direction != "unknown":
        return claim.direction, True
    known = family(claim.scope.metric)
    return (known.direction if known else "unknown"), False


def bounds(claim: Claim) -> tuple[int | None, int | None]:
    """Least and greatest possible value in the claim's unit, from its unit and its metric."""
    known = family(claim.scope.metric)
    if known is None:
        return (0, None) if claim.unit == "perplexity" else (None, None)
    factor = 100 if claim.unit == "percent" and known.proportion else 1
    if known.proportion and claim.unit not in {"percent", "fraction"}:
        return None, None
    scaled = [None if bound is None else bound * factor for bound in (known.lower, known.upper)]
    return scaled[0], scaled[1]
