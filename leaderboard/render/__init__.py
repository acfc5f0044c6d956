"""Renderers: a `Leaderboard` in, text out. Rounding happens here and nowhere else."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Literal, get_args

from benchmark.errors import UsageError

if TYPE_CHECKING:
    from leaderboard.tables import Leaderboard

Format = Literal["terminal", "markdown", "latex", "csv", "json", "html"]
FORMATS: tuple[str, ...] = get_args(Format)


def render(leaderboard: Leaderboard, format: str = "terminal", *, show_values: bool = False) -> str:
    """The leaderboard as text that ends in a newline; `show_values` adds every seed's value.

    Raises UsageError for an unknown format.
    """
    if format not in FORMATS:
        raise UsageError(f"unknown format '{format}'; there are: {', '.join(FORMATS)}")
    module = import_module(f"leaderboard.render.{format}")
    text: str = module.render(leaderboard, show_values=show_values)
    return text
