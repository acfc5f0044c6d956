"""Rules about a cell's numbers: its own, whatever the company, the process and the mode."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

from benchmark.cell import Cell
from benchmark.conformance.context import Context, Numbers
from benchmark.conformance.rules import NotChecked, Note, rule, told
from benchmark.train.mode import Mode
from benchmark.wording import reason_of

TOLERANCE = 1e-3
"""Relative, of the training loss over six steps in another mode. A stack or a compiled program sums in another order,
about 1e-7 per operation in float32; Adam divides by a gradient's own size, so rounding in a small one enters the
weights at the size of the learning rate. Numbers of another cell differ far more."""
SECONDS = 120.0


@rule
def trains(context: Context) -> Iterator[str]:
    """Seed 0, alone, at the task's full learning rate."""
    outcome = context.first
    if outcome.status == "failed":
        yield f"the cell fails: {outcome.error}"
    elif outcome.status == "diverged":
        yield "the training loss is not finite within six steps"
    elif context.other == outcome and context.subject.kind == "initializer":
        yield Note("its numbers are those of the untouched model: with these parameters nothing is tried here")


@rule
def twice(context: Context) -> Iterator[str]:
    """In this process, to the last bit."""
    yield from apart(context.trained, context.train([context.cell()])[0], "first", "trained again")


@rule
def after_another(context: Context) -> Iterator[str]:
    """After another cell and as the first one, to the last bit."""
    yield from apart(context.trained, context.cleared, "after another cell", "as the first of the process")


@rule
def other_process(context: Context) -> Iterator[str]:
    """In a training process of its own, as the first cell, to the last bit."""
    import torch

    from benchmark.execution.process import DeathError, TimeLimitError, TrainingProcess

    _, threads = context.trained, torch.get_num_threads()
    process = TrainingProcess(context.subject.place(threads))
    try:
        reply = process.ask(context.subject.question("numbers", threads), seconds=SECONDS)
    except (DeathError, TimeLimitError) as error:
        yield f"it comes to no end there: {str(error).splitlines()[0]}"
        return
    process.close()
    if not reply.answer:
        raise NotChecked(f"another process cannot load it: {reason_of(reply.raised or reply.refused)}")
    yield from apart(context.cleared, Numbers.from_json(reply.answer["numbers"]), "in this process", "in another")


@rule
def other_seed(context: Context) -> Iterator[str]:
    """Seeds 0 and 1."""
    here = losses(context.trained)
    if here and losses(context.second) == here:
        yield "seeds 0 and 1 have the same training losses to the last bit"


@rule
def stack(context: Context) -> Iterator[str]:
    """Seeds 1 and 0 and, for an initialiser, the untouched model, in one stack."""
    here = context.trained
    companions = [context.cell(1), context.cell()]
    if context.subject.kind == "initializer":
        companions.append(context.cell(untouched=True))
    yield from in_mode(context, Mode(compiled=False, stack_size=len(companions)), companions, here, "in a stack")


@rule
def compiled(context: Context) -> Iterator[str]:
    """Seed 0 compiled by inductor."""
    from benchmark.train.program import can_compile

    here = context.trained
    if reason := can_compile("cpu"):
        raise NotChecked(reason)
    yield from in_mode(context, Mode(compiled=True, stack_size=1), [context.cell()], here, "compiled")


def in_mode(context: Context, mode: Mode, cells: list[Cell], here: Numbers, where: str) -> Iterator[str]:
    """The cell of seed 0 among `cells`, and every other one, against themselves alone."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # vmap tells what is slow
            found = context.train(cells, mode)
    except Exception as error:
        yield f"it cannot be trained {where}: {told(error)}"
        return
    for cell, numbers in zip(cells, found, strict=True):
        if cell.initializer is context.subject.pair.initializer:
            alone = here if cell.seed == 0 else context.second
            if sentences := list(apart(alone, numbers, "alone", where, TOLERANCE)):
                yield f"seed {cell.seed}: {sentences[0]}"
                return


def losses(numbers: Numbers) -> dict[int | str, float]:
    """Training loss by step."""
    return {step: value for (name, step), value in numbers.values.items() if name == "training_loss"}


def differing(one: Numbers, other: Numbers, tolerance: float = 0.0) -> list[tuple[str, int | str]]:
    """Where two trainings differ by more than the tolerance; with one, only training losses are looked at."""
    places = [key for key in {**one.values, **other.values} if not tolerance or key[0] == "training_loss"]
    return [key for key in places if not close(one.values.get(key), other.values.get(key), tolerance)]


def close(one: float | None, other: float | None, tolerance: float) -> bool:
    """Equal, both NaN, or within the tolerance relative to the larger (and to 1e-3 of nothing)."""
    if one is None or other is None:
        return False
    if one == other or (math.isnan(one) and math.isnan(other)):
        return True
    return tolerance > 0 and abs(one - other) <= tolerance * max(abs(one), abs(other), 1e-3)


def apart(one: Numbers, other: Numbers, first: str, second: str, tolerance: float = 0.0) -> Iterator[str]:
    """One sentence when two trainings of a cell differ."""
    if other.status != one.status:
        yield f"it is {one.status} {first}, {other.status} {second}{': ' if other.error else ''}{other.error}"
        return
    if places := differing(one, other, tolerance):
        name, step = places[0]
        at = "at the end" if step == "end" else f"at step {step}"
        values = [numbers.values.get(places[0]) for numbers in (one, other)]
        yield f"{name} {at} is {values[0]!r} {first} and {values[1]!r} {second}"
