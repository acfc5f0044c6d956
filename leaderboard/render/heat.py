"""Heat maps as inline SVG: every layer and head side by side, one row for each quantity and step."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape

from leaderboard.prior import HeatMap, HeatRow

SIDE, GAP, LEFT, TOP, BAR = 84.0, 8.0, 112.0, 46.0, 60.0
"""Pixels: a map's side, between maps, before them, above them, and after them for the scale."""
WHITE, BLUE, RED = (255, 255, 255), (0, 80, 150), (190, 60, 0)


def heat_maps(title: str, rows: Sequence[HeatRow]) -> str:
    """One figure; rows of one name share a scale: from 0 to the largest value, or about 0 where values are negative."""
    heads = [(one.layer, one.head) for one in rows[0].maps]
    width, height = LEFT + len(heads) * (SIDE + GAP) + BAR, TOP + len(rows) * (SIDE + GAP)
    limits = {name: _limits([row for row in rows if row.name == name]) for name in {row.name for row in rows}}
    parts = [f'<text x="0" y="16" font-size="14" font-weight="600">{escape(title)}</text>']
    parts += [
        f'<text x="{LEFT + i * (SIDE + GAP):g}" y="{TOP - 8:g}">layer {layer}, head {head}</text>'
        for i, (layer, head) in enumerate(heads)
    ]
    for number, row in enumerate(rows):
        low, high = limits[row.name]
        top = TOP + number * (SIDE + GAP)
        parts.append(f'<text x="0" y="{top + 14:g}">{escape(row.name)}</text>')
        parts.append(f'<text x="0" y="{top + 30:g}">step {row.step:,}</text>')
        parts += [_picture(one, LEFT + i * (SIDE + GAP), top, low, high) for i, one in enumerate(row.maps)]
        right = LEFT + len(heads) * (SIDE + GAP)
        parts += [f'<text x="{right:g}" y="{top + y:g}">{v:.3g}</text>' for y, v in ((12, high), (SIDE, low))]
    label = escape(f"{title}: heat maps of {', '.join(limits)} by layer and head", quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img" '
        f'aria-label="{label}" font-family="system-ui, sans-serif" font-size="11" fill="currentColor">\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def _limits(rows: Sequence[HeatRow]) -> tuple[float, float]:
    values = [value for row in rows for one in row.maps for line in one.rows for value in line]
    largest = max(map(abs, values), default=0.0) or 1.0
    return (-largest if min(values, default=0.0) < 0 else 0.0), largest


def _picture(one: HeatMap, x: float, y: float, low: float, high: float) -> str:
    """A PNG of a pixel an entry, enlarged without smoothing."""
    from PIL import Image

    pixels = bytes(part for line in one.rows for value in line for part in color(value, low, high))
    image = Image.frombytes("RGB", (len(one.rows[0]), len(one.rows)), pixels)
    image.save(buffer := io.BytesIO(), "PNG")
    data = base64.b64encode(buffer.getvalue()).decode()
    return (
        f'<image x="{x:g}" y="{y:g}" width="{SIDE:g}" height="{SIDE:g}" style="image-rendering:pixelated" '
        f'href="data:image/png;base64,{data}"/><path d="M{x:g} {y:g}h{SIDE:g}v{SIDE:g}h{-SIDE:g}z" fill="none" '
        'stroke="currentColor" opacity=".3"/>'
    )


def color(value: float, low: float, high: float) -> tuple[int, int, int]:
    """White at 0, blue at the upper end, red at the lower one where there is one."""
    share = min(1.0, max(0.0, value / (low if value < 0 else high))) if value and (value > 0 or low) else 0.0
    end = RED if value < 0 else BLUE
    red, green, blue = (round(a + share * (b - a)) for a, b in zip(WHITE, end, strict=True))
    return red, green, blue
