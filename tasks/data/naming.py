"""Names of data sets, splits and rows as specs write them, held against the manifests.

Nothing is read: a spec is checked in the same way where its data is not. What is wrong is a ValueError, which a spec's
reader puts at its line and column.
"""

from __future__ import annotations

from typing import Literal

from benchmark.wording import suggestion
from tasks.data.manifest import DatasetInfo, dataset, names

KINDS = {"images": "an image data set", "text": "a text data set", "tokenizer": "a tokenizer"}


def named(name: str, kind: Literal["images", "text"]) -> DatasetInfo:
    """The manifest of the data set of that name.

    Raises:
        ValueError: there is none, or it holds something else.
    """
    every = [dataset(known) for known in names()]
    fitting = [info.name for info in every if info.kind == kind]
    if name in fitting:
        return dataset(name)
    other = next((f", {KINDS[info.kind]}" for info in every if info.name == name), suggestion(name, fitting))
    raise ValueError(f"expected {KINDS[kind]} ({', '.join(fitting)}); found '{name}'{other}")


def check_split(info: DatasetInfo, split: str) -> None:
    """Refuse a split that the data set does not have.

    Raises:
        ValueError: with those it has.
    """
    if split not in info.splits:
        has = ", ".join(info.splits)
        raise ValueError(f"{info.name} has no split '{split}'; it has {has}{suggestion(split, info.splits)}")


def check_rows(info: DatasetInfo, split: str, first: int, count: int | None) -> None:
    """Refuse rows `first` to `first + count` (all that follow without `count`) where the split ends before.

    Raises:
        ValueError: with the number of rows it has; or there is no such split.
    """
    check_split(info, split)
    rows, needed = info.splits[split].rows, first + (1 if count is None else count)
    if needed > rows:
        raise ValueError(f"{info.name} {split} has {rows:,} rows; expected at least {needed:,}")
