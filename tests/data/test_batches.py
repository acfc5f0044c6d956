"""Batches are exactly the rows asked for, in order."""

from __future__ import annotations

import numpy as np
import pytest

from tasks.data import load_images
from tasks.data.batches import Batches
from tasks.data.prepare import prepare


def batches_of(images, rows, size, ahead=None):
    order = np.random.default_rng(0).permutation(rows)
    index = [order[start : start + size] for start in range(0, rows, size)]
    return order, Batches(images, index, size, "cpu", ahead=ahead)


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize(("rows", "size"), [(400, 64), (400, 400), (400, 399), (1, 8)])
def test_batches_are_the_rows_of_the_index(cifar, rows, size, ahead):
    prepare("mini", cifar.tar())
    images = load_images("mini", "train")
    order, batches = batches_of(images, rows, size, ahead)
    seen = [(pixels.clone(), labels.clone()) for pixels, labels in batches]
    assert [len(labels) for _, labels in seen] == [min(size, rows - start) for start in range(0, rows, size)]
    assert np.concatenate([pixels.numpy() for pixels, _ in seen]).tobytes() == images.pixels[order].tobytes()
    assert np.concatenate([labels.numpy() for _, labels in seen]).tolist() == images.labels[order].tolist()


def test_no_batches_of_no_index():
    assert list(Batches(load_images("digits", "test"), [], 4, "cpu")) == []


@pytest.mark.parametrize("row", [-1, 360])
def test_rows_that_are_not_there_are_refused(row):
    images = load_images("digits", "test")
    with pytest.raises(IndexError, match=f"{row} of 360"):
        list(Batches(images, [np.array([row])], 4, "cpu"))


def test_stopping_early_leaves_no_thread_behind():
    import threading

    _, batches = batches_of(load_images("digits", "test"), 360, 8, ahead=True)
    iterator = iter(batches)
    next(iterator)
    iterator.close()
    assert not [thread for thread in threading.enumerate() if "ThreadPoolExecutor" in thread.name]
