"""Line charts with a band, as inline SVG: a mean and its standard deviation over seeds, nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#332288", "#882255", "#44aa99")
"""Okabe and Ito's colours without yellow and black, then three of Tol's; told apart by most colour-blind readers."""

DASHES = ("", "6 3", "2 3")
"""A second sign, for series beyond the colours."""

WIDTH, HEIGHT = 640.0, 320.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 170.0, 30.0, 44.0


@dataclass(frozen=True)
class Series:
    """One line: x → mean and standard deviation; a mean that is None breaks the line."""

    name: str
    points: tuple[tuple[float, float | None, float | None], ...]


@dataclass(frozen=True)
class Axis:
    """Data range → pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def place(self, value: float) -> float:
        """Pixel of a value, kept inside the plot."""
        share = (self._scaled(value) - self._scaled(self.low)) / (self._scaled(self.high) - self._scaled(self.low))
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def _scaled(self, value: float) -> float:
        return math.log10(max(value, self.low)) if self.log else value

    def ticks(self) -> list[float]:
        """About five round numbers, powers of ten on a log axis."""
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            return [10.0**power for power in range(first, last + 1, max(1, (last - first) // 5))]
        step = nice_step((self.high - self.low) / 5)
        lowest = math.ceil(self.low / step - 1e-9)
        return [index * step for index in range(lowest, math.floor(self.high / step + 1e-9) + 1)]


def nice_step(rough: float) -> float:
    """The next of 1, 2, 5 × a power of ten at or above."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= rough * (1 - 1e-9))


def line_chart(series: Sequence[Series], title: str, x_title: str, y_title: str) -> str:
    """An SVG figure; a log axis where all values are positive and span more than a factor of 100.

    Empty text when no series has a value.
    """
    shown = [each for each in series if any(mean is not None for _, mean, _ in each.points)]
    if not shown:
        return ""
    x, y = _axes(shown)
    parts = [*_frame(x, y, title, x_title, y_title)]
    for index, each in enumerate(shown):
        color, dash = COLORS[index % len(COLORS)], DASHES[index // len(COLORS) % len(DASHES)]
        parts += _series(each, x, y, color, dash)
        parts.append(_key(index, each.name, color, dash))
    label = escape(f"{title}: {y_title} over {x_title}", quote=True)
    box = f"0 0 {WIDTH:g} {max(HEIGHT, TOP + 18 * len(shown) + 10):g}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{WIDTH:g}" role="img" aria-label="{label}" '
        'font-family="system-ui, sans-serif" font-size="12" fill="currentColor">\n' + "\n".join(parts) + "\n</svg>"
    )


def _axes(series: Sequence[Series]) -> tuple[Axis, Axis]:
    points = [(x, mean, std or 0.0) for each in series for x, mean, std in each.points if mean is not None]
    xs, means = [p[0] for p in points], [p[1] for p in points]
    log = min(means) > 0 and max(means) > 100 * min(means)
    lows = means if log else [mean - std for _, mean, std in points]
    low, high = min(lows), max(mean + std for _, mean, std in points)
    pad = 0.0 if log else 0.04 * (high - low) or 0.5 * abs(high) or 0.5
    right = max(xs) if max(xs) > min(xs) else min(xs) + 1
    x = Axis(min(xs), right, LEFT, WIDTH - RIGHT)
    return x, Axis(low - pad, high + pad if not log or high > low else high * 10, HEIGHT - BOTTOM, TOP, log)


def _frame(x: Axis, y: Axis, title: str, x_title: str, y_title: str) -> Iterable[str]:
    yield f'<text x="{LEFT:g}" y="18" font-size="14" font-weight="600">{escape(title)}</text>'
    for tick in y.ticks():
        at = y.place(tick)
        yield f'<path d="M{x.start:.1f} {at:.1f}H{x.end:.1f}" stroke="currentColor" opacity=".15"/>'
        yield f'<text x="{LEFT - 6:g}" y="{at + 4:.1f}" text-anchor="end">{_number(tick)}</text>'
    for tick in x.ticks():
        yield f'<text x="{x.place(tick):.1f}" y="{HEIGHT - BOTTOM + 16:g}" text-anchor="middle">{_number(tick)}</text>'
    yield f'<line x1="{x.start:.1f}" x2="{x.end:.1f}" y1="{y.start:.1f}" y2="{y.start:.1f}" stroke="currentColor"/>'
    middle = (x.start + x.end) / 2
    yield f'<text x="{middle:.1f}" y="{HEIGHT - 8:g}" text-anchor="middle">{escape(x_title)}</text>'
    yield (
        f'<text transform="translate(14 {(y.start + y.end) / 2:.1f}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_title)}</text>"
    )


def _series(series: Series, x: Axis, y: Axis, color: str, dash: str) -> Iterable[str]:
    style = f' stroke-dasharray="{dash}"' if dash else ""
    for run in _runs(series):
        placed = [(f"{x.place(a):.1f}", mean, std) for a, mean, std in run]
        band = [point for point in placed if point[2]]
        if len(band) > 1:
            upper = [f"{a},{y.place(mean + std):.1f}" for a, mean, std in band]
            lower = [f"{a},{y.place(mean - std):.1f}" for a, mean, std in reversed(band)]
            yield f'<polygon points="{" ".join(upper + lower)}" fill="{color}" opacity=".18"/>'
        line = " ".join(f"{a},{y.place(mean):.1f}" for a, mean, _ in placed)
        yield f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="1.6"{style}/>'
        if len(run) == 1:
            a, mean, _ = run[0]
            yield f'<circle cx="{x.place(a):.1f}" cy="{y.place(mean):.1f}" r="2.5" fill="{color}"/>'


def _runs(series: Series) -> list[list[tuple[float, float, float]]]:
    """Stretches without a gap."""
    runs: list[list[tuple[float, float, float]]] = [[]]
    for x, mean, std in series.points:
        if mean is None:
            runs.append([])
        else:
            runs[-1].append((x, mean, std or 0.0))
    return [run for run in runs if run]


def _key(index: int, name: str, color: str, dash: str) -> str:
    at, left = TOP + 12 + 18 * index, WIDTH - RIGHT + 12
    style = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path d="M{left:g} {at - 4:g}h22" stroke="{color}" stroke-width="2"{style}/>'
        f'<text x="{left + 28:g}" y="{at:g}">{escape(name)}</text>'
    )


def _number(value: float) -> str:
    return f"{value:.6g}" if abs(value) < 1e5 else f"{value:.3g}"
