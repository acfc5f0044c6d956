"""The leaderboard for other packages: from a store and an experiment to tables and text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.errors import UsageError
from leaderboard.axes import along
from leaderboard.digest import Stamp, moved, read_stamps
from leaderboard.reading import load_grid
from leaderboard.render import render
from leaderboard.tables import Leaderboard, PublishedLookup, Selection, build

if TYPE_CHECKING:
    from benchmark.plan import Selection as Part
    from benchmark.spec.load import LoadedExperiment
    from benchmark.store import Store
    from leaderboard.aggregate import Grid

ALL_METRICS = Selection(metrics=("*",))


def tables_of(grid: Grid, selection: Selection | None, published: PublishedLookup | None = None) -> Leaderboard:
    """The tables of a grid, along an axis where the selection names one. Raises UsageError for what is not there."""
    board = build(grid, selection, published)
    return along(board, selection.axis) if selection and selection.axis else board


def make_leaderboard(
    store: Store,
    experiment: LoadedExperiment | None = None,
    *,
    profile: str | None = None,
    plugins: Sequence[Path] = (),
    selection: Selection | None = None,
    part: Part | None = None,
) -> Leaderboard:
    """The tables of an experiment or a part of it, of the last run without one. Raises StoreError, UsageError."""
    grid = load_grid(store, experiment, profile, plugins, part)
    return tables_of(grid, selection, published_numbers(grid))


def render_leaderboard(
    store: Store,
    experiment: LoadedExperiment | None = None,
    format: str = "terminal",
    *,
    profile: str | None = None,
    selection: Selection | None = None,
    show_values: bool = False,
    part: Part | None = None,
) -> str:
    """The leaderboard as text in one of `leaderboard.render.FORMATS`, ending in a newline."""
    board = make_leaderboard(store, experiment, profile=profile, selection=selection, part=part)
    return render(board, format, show_values=show_values)


def published_numbers(grid: Grid) -> PublishedLookup | None:
    """The claims the experiment names; none where it is not known."""
    if not grid.claims:
        return None
    from leaderboard import claims
    from leaderboard.published import lookup

    return lookup([claims.load(name) for name in grid.claims], grid.profile)


def check_file(
    path: Path,
    store: Store,
    experiment: LoadedExperiment | None = None,
    profile: str | None = None,
    plugins: Sequence[Path] = (),
) -> list[str]:
    """In what the tables in a file have parted from the store, one sentence each; empty when they have not.

    Raises UsageError when the file has no table of ours, or one of another experiment or profile.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    from benchmark.plan import Selection as Part

    stamps = read_stamps(text)
    written = stamps[0][0]
    part = None if written.part is None else Part.from_json(written.part)
    grid = load_grid(store, experiment, profile or written.profile, plugins, part)
    return [sentence for stamp, untouched in stamps for sentence in _check(stamp, untouched, grid, path)]


def _check(stamp: Stamp, untouched: bool, grid: Grid, path: Path) -> list[str]:
    if (stamp.experiment, stamp.profile) != (grid.experiment, grid.profile):
        raise UsageError(
            f"{path} holds {stamp.experiment} at profile {stamp.profile}, the store was read for {grid.experiment} at "
            f"profile {grid.profile}; name the spec and --profile the table was made from"
        )
    if stamp.selection is None:
        return moved(stamp, untouched, build(grid, ALL_METRICS))
    return moved(stamp, untouched, tables_of(grid, Selection.from_json(stamp.selection)))
