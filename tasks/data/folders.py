"""Images in one folder per class, `<split>/<class>/*.JPEG`, as ImageNet is kept. A class is told by its name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmark.errors import DataError
from tasks.data.manifest import DatasetInfo

SUFFIXES = {".jpeg", ".jpg", ".png"}
PICKLED = {".pkl", ".pickle", ".npy", ".npz", ".pt", ".pth"}
OTHER_LISTS = {"ambityga/imagenet100": ("Labels.json", "train.X1", "val.X")}
"""Data set of another class list → files and folders only it has."""


def refuse_other_lists(info: DatasetInfo, folder: Path) -> None:
    """Refuse a folder known to hold another class list under a similar name.

    Raises:
        DataError: with the name of that data set.
    """
    marks = [(mark, name) for name, marks in OTHER_LISTS.items() for mark in marks]
    for mark, name in marks:
        if (folder / mark).exists():
            raise DataError(f"{folder}: has {mark}, so it is {name}, another set of classes than {info.name}; not used")


def class_labels(info: DatasetInfo, folder: Path) -> dict[str, int]:
    """Folder name → label, in the manifest's order, whatever order the file system or a sort would give.

    Raises:
        DataError: the folders are not exactly the classes.
    """
    expected = info.wnids or info.classes
    found = {path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")}
    if found != {*expected}:
        missing, extra = sorted({*expected} - found), sorted(found - {*expected})
        raise DataError(
            f"{folder}: expected the {len(expected)} class folders of {info.name}; missing {len(missing)}"
            f"{listed(missing)}, not of this set {len(extra)}{listed(extra)}. Another list of as many classes is "
            "another data set."
        )
    return {name: label for label, name in enumerate(expected)}


def listed(names: list[str]) -> str:
    return f" ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})" if names else ""


def image_files(info: DatasetInfo, folder: Path) -> list[tuple[Path, int]]:
    """Image files and labels, by class folder name and then file name.

    Raises:
        DataError: wrong classes, or a file that is no image.
    """
    labels = class_labels(info, folder)
    return [(path, labels[name]) for name in sorted(labels) for path in images_in(folder / name)]


def images_in(folder: Path) -> Iterator[Path]:
    """Image files of one class, sorted; hidden files are left out.

    Raises:
        DataError: something that is no image file.
    """
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.suffix.lower() in PICKLED:
            raise DataError(f"{path}: may hold pickled objects, which are not read; expected images only")
        if path.suffix.lower() not in SUFFIXES or not path.is_file():
            raise DataError(f"{path}: expected only PNG and JPEG files in a class folder")
        yield path
