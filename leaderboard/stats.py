"""Statistics of few seeds: what three, five or ten runs allow one to say, and no more.

Everything is t-based by default, because with three to five seeds no exact rank or sign-flip test can reach
p < 0.05, and a percentile bootstrap over five seeds covers 84 % where it promises 95 %. scipy gives the
distributions and is imported on first use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

Scale = Literal["raw", "logit", "log"]
"""Scale on which a test is made; tables always show raw units."""

Method = Literal["paired t", "Welch t", "identical", "constant difference", "none"]

PERCENT = (0.0, 100.0)
"""Bounds of a share in percent."""

OnScaleResult = tuple[tuple[list[float], list[float]], Scale, str]
OnScale = Callable[[Sequence[float], Sequence[float]], OnScaleResult]
"""Two arms → the arms on a scale, the scale used, and why it is not the one asked for."""

MIN_SEEDS = 3
"""Fewest seeds from which a verdict is given: with two, a 95 % interval is ± 12.7 standard errors."""

RESOLUTION = 2.0**-23
"""Relative spacing of single precision, in which cells are trained: smaller differences are not differences."""

HUMPS_APART = 8.0
"""Two humps are told when the gap between them is this many times the wider hump: of five normal seeds fewer than 1 %
look so (`tests/performance/inference.py`)."""

EXACT_SEEDS = range(6, 13)
"""Seeds with which a sign-flip test stands beside the t-test: below, it cannot reach 0.05 (2 / 2**5 = 0.0625); above,
the two hardly differ."""


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation (ddof = 1) of n seeds; `std` is None below two seeds."""

    n: int
    mean: float | None
    std: float | None

    @property
    def standard_error(self) -> float | None:
        return None if self.std is None else self.std / math.sqrt(self.n)


@dataclass(frozen=True)
class Interval:
    """A two-sided confidence interval."""

    low: float
    high: float
    level: float = 0.95

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Comparison:
    """First minus second, in raw units; `p` is None where no test is defined, and `note` then says why."""

    n: int
    """Seeds the test stands on: the shared ones when paired, the smaller arm otherwise."""
    method: Method
    difference: float | None
    std: float | None = None
    """Standard deviation of the differences by seed (paired only)."""
    interval: Interval | None = None
    p: float | None = None
    exact_p: float | None = None
    """Sign-flip permutation p as a cross-check of the paired t, with six to twelve seeds."""
    rho: float | None = None
    """Correlation of the two arms over the shared seeds: what pairing gains."""
    effect: float | None = None
    """Cohen's d_z of the differences when paired, Hedges' g otherwise."""
    scale: Scale = "raw"
    note: str = ""


def summarize(values: Sequence[float]) -> Summary:
    """Mean and standard deviation of finite values (the caller has set non-finite ones apart)."""
    if not all(map(math.isfinite, values)):
        raise ValueError("only finite values can be summarised; count the others and show them in place")
    n = len(values)
    if n == 0:
        return Summary(0, None, None)
    mean = math.fsum(values) / n
    if n == 1:
        return Summary(1, mean, None)
    return Summary(n, mean, math.sqrt(math.fsum([(value - mean) ** 2 for value in values]) / (n - 1)))


def t_interval(values: Sequence[float], level: float = 0.95) -> Interval | None:
    """Interval of the mean, mean ± t(n-1) · s / √n; None below two values."""
    return _interval(summarize(values), level)


def _interval(summary: Summary, level: float) -> Interval | None:
    if summary.mean is None or summary.standard_error is None:
        return None
    half = t_quantile(level, summary.n - 1) * summary.standard_error
    return Interval(summary.mean - half, summary.mean + half, level)


def compare(
    first: Mapping[int, float],
    second: Mapping[int, float],
    *,
    level: float = 0.95,
    scale: Scale = "raw",
    bounds: tuple[float, float] = PERCENT,
) -> Comparison:
    """Compare two arms given as seed → finite value: paired over the shared seeds, else by Welch's t-test.

    Pairing needs at least `MIN_SEEDS` shared seeds. Two seeds or fewer give the difference and no test. The p-values
    are of the values on `scale` (logits of shares between `bounds`), everything else is in raw units.
    """
    on = partial(_on_scale, scale=scale, bounds=bounds)
    shared = sorted(first.keys() & second.keys())
    if len(shared) >= MIN_SEEDS:
        result = _compare_paired([first[s] for s in shared], [second[s] for s in shared], level, on)
        dropped = len(first.keys() ^ second.keys())
        return _with_note(result, f"{seeds(dropped)} of only one arm left out") if dropped else result
    if min(len(first), len(second)) >= MIN_SEEDS:
        return _compare_welch(list(first.values()), list(second.values()), level, on)
    return _no_test(first, second, shared)


def sign_flip_p(differences: Sequence[float]) -> float:
    """Two-sided permutation p of mean ≠ 0 over sign flips: all 2**n up to n = 16, else 100 000 seeded draws."""
    d = np.asarray(differences, dtype=np.float64)
    observed = abs(d.sum()) * (1 - 1e-12)  # a tie with the observed sum counts as at least as extreme
    if len(d) <= 16:
        codes = np.arange(2 ** len(d))[:, None] >> np.arange(len(d)) & 1
        return float(np.mean(np.abs((1 - 2 * codes) @ d) >= observed))
    draws = np.random.default_rng(0).integers(0, 2, size=(100_000, len(d)))
    return float((1 + np.sum(np.abs((1 - 2 * draws) @ d) >= observed)) / (1 + len(draws)))


def holm(p_values: Sequence[float], family: int | None = None) -> list[float]:
    """Holm's step-down adjusted p-values in the order given; `family` ≥ len(p) counts tests that had no p.

    Holm, Scandinavian Journal of Statistics 6 (1979) 65-70.
    """
    m = max(family or 0, len(p_values))
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (m - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """False-discovery-rate adjusted p-values in the order given.

    Benjamini and Hochberg, Journal of the Royal Statistical Society B 57 (1995) 289-300.
    """
    m = len(p_values)
    adjusted, running = [0.0] * m, 1.0
    for rank, index in enumerate(sorted(range(m), key=lambda i: p_values[i], reverse=True)):
        running = min(running, p_values[index] * m / (m - rank))
        adjusted[index] = running
    return adjusted


def share_interval(k: int, n: int, level: float = 0.95) -> Interval:
    """Exact interval of a share from k of n (Clopper & Pearson, Biometrika 26 (1934) 404), between 0 and 1."""
    from scipy import special

    tail = (1 - level) / 2
    low = 0.0 if k == 0 else float(special.betaincinv(k, n - k + 1, tail))
    high = 1.0 if k == n else float(special.betaincinv(k + 1, n - k, 1 - tail))
    return Interval(low, high, level)


def paired_share_p(first: Mapping[int, bool], second: Mapping[int, bool]) -> float | None:
    """Exact two-sided p that one arm succeeds on as many seeds as the other (McNemar 1947, by the binomial of the seeds
    on which they differ); None without a shared seed."""
    shared = first.keys() & second.keys()
    wins, losses = (sum(a[s] and not b[s] for s in shared) for a, b in ((first, second), (second, first)))
    if not shared:
        return None
    n, few = wins + losses, min(wins, losses)
    return min(1.0, 2.0 * sum(math.comb(n, k) for k in range(few + 1)) / float(2**n))


def two_humps(values: Sequence[float]) -> tuple[list[float], list[float]] | None:
    """The lower and the upper part of values that fall into two groups, `HUMPS_APART`; None when they do not.

    Mean and standard deviation describe no run of such a sample. At least five values, two of them in each part.
    """
    found = sorted(values)
    splits = [(found[k] - found[k - 1], k) for k in range(2, len(found) - 1) if len(found) > 4]
    gap, k = max(splits, default=(0.0, 0))
    width = max(found[k - 1] - found[0], found[-1] - found[k]) if k else 0.0
    if not k or gap <= max(HUMPS_APART * width, 1e3 * RESOLUTION * max(map(abs, found))):
        return None
    return found[:k], found[k:]


def power(difference: float, std: float, n: int, alpha: float = 0.05) -> float:
    """Power of a two-sided paired t-test of n differences with that true mean and standard deviation."""
    from scipy import special

    if n < 2:
        return 0.0
    if std == 0:
        return 1.0 if difference else alpha
    shift = difference / std * math.sqrt(n)
    critical = t_quantile(1 - alpha, n - 1)
    far = float(special.nctdtr(n - 1, shift, -critical))  # scipy gives NaN for some tails below 1e-15
    return float(1 - special.nctdtr(n - 1, shift, critical)) + (0.0 if math.isnan(far) else far)


def minimum_detectable_difference(std: float, n: int, alpha: float = 0.05, target: float = 0.8) -> float | None:
    """Smallest true mean difference that a paired t-test of n seeds finds with probability `target`."""
    from scipy import optimize

    if n < 2:
        return None
    if std == 0:
        return 0.0
    high = 1.0
    while power(high, 1.0, n, alpha) < target:
        high *= 2
    return std * float(optimize.brentq(lambda d: power(d, 1.0, n, alpha) - target, 0.0, high))


def equivalence_p(comparison: Comparison, margin: float) -> float | None:
    """TOST p that |true difference| < margin (Schuirmann 1987), both in raw units."""
    if margin <= 0:
        raise ValueError(f"an equivalence margin is positive, found {margin}")
    difference, n = comparison.difference, comparison.n
    if difference is None:
        return None
    if comparison.method in ("identical", "constant difference"):
        return 0.0 if abs(difference) < margin else 1.0
    if comparison.method != "paired t" or comparison.std is None:
        return None
    error = comparison.std / math.sqrt(n)
    return max(_upper_tail((margin + difference) / error, n - 1), _upper_tail((margin - difference) / error, n - 1))


def seeds(n: int) -> str:
    """A number of seeds in words."""
    return "no seed" if n == 0 else "1 seed" if n == 1 else f"{n} seeds"


# --- the pieces ------------------------------------------------------------------------------------------------


def t_quantile(level: float, degrees: float) -> float:
    """Student's t that encloses `level` of the distribution between −t and t."""
    from scipy import special

    return float(special.stdtrit(degrees, 0.5 + level / 2))


def _upper_tail(t: float, degrees: float) -> float:
    from scipy import special

    return float(special.stdtr(degrees, -t))


def _with_note(comparison: Comparison, note: str) -> Comparison:
    return replace(comparison, note="; ".join(part for part in (comparison.note, note) if part))


def _no_test(first: Mapping[int, float], second: Mapping[int, float], shared: Sequence[int]) -> Comparison:
    """Fewer than three seeds in an arm: the difference where there is one, and no verdict."""
    n = len(shared) or min(len(first), len(second))
    a, b = (first, second) if not shared else ({s: first[s] for s in shared}, {s: second[s] for s in shared})
    means = summarize(list(a.values())).mean, summarize(list(b.values())).mean
    difference = None if means[0] is None or means[1] is None else means[0] - means[1]
    return Comparison(n, "none", difference, note=f"{seeds(n)}: no test below {MIN_SEEDS}")


def _compare_paired(a: Sequence[float], b: Sequence[float], level: float, on: OnScale) -> Comparison:
    resolution = RESOLUTION * max(map(abs, (*a, *b)))
    raw = [x - y if abs(x - y) > resolution else 0.0 for x, y in zip(a, b, strict=True)]
    summary = summarize(raw)
    assert summary.mean is not None
    rho = _correlation(a, b)
    if max(raw) - min(raw) <= resolution:
        return _constant(summary.n, summary.mean, rho, level, resolution)
    tested, used, note = on(a, b)
    differences = raw if used == "raw" else [x - y for x, y in zip(*tested, strict=True)]
    on_scale = summary if used == "raw" else summarize(differences)
    assert on_scale.mean is not None
    assert on_scale.standard_error is not None
    p = _two_sided(on_scale.mean / on_scale.standard_error, summary.n - 1) if on_scale.standard_error else None
    exact = sign_flip_p(differences) if summary.n in EXACT_SEEDS else None
    effect = summary.mean / summary.std if summary.std else None
    return Comparison(
        summary.n, "paired t", summary.mean, summary.std, _interval(summary, level), p, exact, rho, effect, used, note
    )


def _constant(n: int, difference: float, rho: float | None, level: float, resolution: float) -> Comparison:
    """Every seed shows the same difference: none at all, or one that no t-test can judge."""
    if abs(difference) <= resolution:
        return Comparison(n, "identical", 0.0, 0.0, Interval(0.0, 0.0, level), 1.0, rho=rho, effect=0.0)
    note = f"no seed variance: t-test undefined (the same difference on all {n} seeds)"
    return Comparison(n, "constant difference", difference, 0.0, None, None, rho=rho, note=note)


def _compare_welch(a: Sequence[float], b: Sequence[float], level: float, on: OnScale) -> Comparison:
    """Welch's unequal-variance t-test; the interval is in raw units."""
    first, second = summarize(a), summarize(b)
    assert first.mean is not None
    assert second.mean is not None
    n, difference = min(first.n, second.n), first.mean - second.mean
    reason = "seeds not shared: unpaired"
    resolution = RESOLUTION * max(map(abs, (*a, *b)))
    if max(max(a) - min(a), max(b) - min(b)) <= resolution:
        return _with_note(_constant(n, difference, None, level, resolution), reason)
    (ta, tb), used, note = on(a, b)
    p = _two_sided(*_welch(summarize(ta), summarize(tb)))
    _, degrees = _welch(first, second)
    half = _welch_error(first, second) * t_quantile(level, degrees)
    result = Comparison(
        n, "Welch t", difference, None, Interval(difference - half, difference + half, level), p,
        effect=_hedges_g(first, second), scale=used, note=reason,
    )  # fmt: skip
    return _with_note(result, note) if note else result


def _welch_error(a: Summary, b: Summary) -> float:
    assert a.std is not None
    assert b.std is not None
    return math.sqrt(a.std**2 / a.n + b.std**2 / b.n)


def _welch(a: Summary, b: Summary) -> tuple[float, float]:
    """t and the Welch-Satterthwaite degrees of freedom."""
    assert a.mean is not None
    assert b.mean is not None
    assert a.std is not None
    assert b.std is not None
    va, vb = a.std**2 / a.n, b.std**2 / b.n
    degrees = (va + vb) ** 2 / (va**2 / (a.n - 1) + vb**2 / (b.n - 1))
    return (a.mean - b.mean) / math.sqrt(va + vb), degrees


def _hedges_g(a: Summary, b: Summary) -> float | None:
    """Standardised mean difference with Hedges' small-sample factor 1 - 3 / (4 (n_a + n_b - 2) - 1)."""
    assert a.mean is not None
    assert b.mean is not None
    assert a.std is not None
    assert b.std is not None
    degrees = a.n + b.n - 2
    pooled = math.sqrt(((a.n - 1) * a.std**2 + (b.n - 1) * b.std**2) / degrees)
    return (a.mean - b.mean) / pooled * (1 - 3 / (4 * degrees - 1)) if pooled else None


def _two_sided(t: float, degrees: float) -> float:
    return 2 * _upper_tail(abs(t), degrees)


def _correlation(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Pearson's rho; None when an arm does not vary."""
    x, y = (arm - arm.mean() for arm in (np.array(a), np.array(b)))
    norm = math.sqrt(float(x @ x) * float(y @ y))
    flat = RESOLUTION * max(map(abs, (*a, *b)))
    if norm == 0 or x.max() - x.min() <= flat or y.max() - y.min() <= flat:
        return None
    return max(-1.0, min(1.0, float(x @ y) / norm))


def _on_scale(a: Sequence[float], b: Sequence[float], *, scale: Scale, bounds: tuple[float, float]) -> OnScaleResult:
    """Both arms on the asked scale; raw, with a note, where a value lies beyond what the scale can show.

    A share that lies on its bound has no logit. It is taken to lie half as far from the bound as the nearest share that
    does not, as half a count is added to an empty cell; for both arms alike, so that exchanging them changes signs.
    """
    low, high = {"raw": (-math.inf, math.inf), "log": (0.0, math.inf), "logit": bounds}[scale]
    if scale == "raw":
        return (list(a), list(b)), "raw", ""
    inside = [min(value - low, high - value) for value in (*a, *b) if low < value < high]
    if not all(low <= value <= high for value in (*a, *b)) or not inside or (scale == "log" and min(*a, *b) <= 0):
        return (list(a), list(b)), "raw", f"{scale} scale asked for, raw used: a value lies on or beyond its bound"
    if scale == "log":
        return ([math.log(v) for v in a], [math.log(v) for v in b]), "log", ""
    edge = min(inside) / 2
    moved = [[min(max(value, low + edge), high - edge) for value in arm] for arm in (a, b)]
    first, second = ([math.log((v - low) / (high - v)) for v in arm] for arm in moved)
    return (first, second), "logit", ""
