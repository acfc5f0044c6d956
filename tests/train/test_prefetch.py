"""Batches gathered ahead are those gathered when asked, whatever is taken at once."""

import threading
import time

import pytest
import torch

from benchmark.train.batches import Batches
from benchmark.train.prefetch import Prefetch

ROWS = torch.arange(40).view(10, 2, 2)


def indices(count=6):
    return iter(torch.randint(0, 10, (count, 3, 4), generator=torch.Generator().manual_seed(0)))


def test_each_step_gives_its_own_rows_and_later_steps_leave_them_alone():
    drawn = indices()
    prefetch = Prefetch([ROWS, ROWS[:, 0, 0]], lambda: next(drawn), "cpu")
    taken = [prefetch.take() for _ in range(5)]
    for index, (inputs, targets) in zip(indices(), taken, strict=False):
        assert torch.equal(inputs, ROWS[index])
        assert torch.equal(targets, ROWS[index, 0, 0])


def test_the_next_step_is_gathered_while_this_one_is_used():
    drawn, asked = indices(), []

    def index():
        asked.append(threading.current_thread().name)
        return next(drawn)

    prefetch = Prefetch([ROWS], index, "cpu")
    prefetch.take()
    deadline = time.monotonic() + 10
    while len(asked) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(asked) == 2
    assert all(name.startswith("prefetch") for name in asked)


def test_a_fault_while_gathering_reaches_the_one_who_takes():
    def index():
        return torch.tensor([[10]])

    with pytest.raises(IndexError):
        Prefetch([ROWS], index, "cpu").take()


@pytest.mark.parametrize("portions", [(10,), (1, 6, 3), (1,) * 10])
def test_a_stack_sees_the_same_batches_gathered_ahead(toy, portions):
    cells = [toy.cell(toy.Default(), seed) for seed in (0, 1)]
    whole = Batches(cells[0].task, cells, "cpu").take(10)
    batches = Batches(cells[0].task, cells, "cpu", ahead=True)
    taken = [batches.take(count) for count in portions]
    for expected, found in zip(whole, zip(*taken, strict=True), strict=True):
        assert torch.equal(expected, torch.cat(found))
