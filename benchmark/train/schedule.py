"""Learning rate by step: linear warm-up, then constant, cosine or linear to `final_fraction` of the peak, cooldown."""

from __future__ import annotations

import math

from benchmark.parameters import Optimizer


def learning_rate(optimizer: Optimizer, step: int, total_steps: int) -> float:
    """Learning rate of optimiser step `step` (0 for the first) of `total_steps`.

    Warm-up: peak × (start + (1 − start)·step/warmup). Afterwards, with progress p running from 0 at the first step
    after the warm-up to 1 at the last step, cosine is peak × (f + (1 − f)(1 + cos πp)/2) (SGDR, arXiv 1608.03983,
    eq. 5, with minimum f·peak) and linear is peak × (1 − (1 − f)p), f = `final_fraction`. Cooldown steps follow at f.

    With `schedule_over: whole`, p = step/(total − cooldown): the warm-up replaces the start of the schedule and p = 1
    comes one step after its end, as in timm 1.0.31:timm/scheduler/cosine_lr.py (`warmup_prefix` off). With `hold_steps`
    a step has the rate of the first one of its group.
    """
    peak, warmup = optimizer.learning_rate, optimizer.warmup_steps
    step -= step % (optimizer.hold_steps or 1)
    if step < warmup:
        return peak * (optimizer.warmup_start + (1 - optimizer.warmup_start) * step / warmup)
    length = max(1, total_steps - optimizer.cooldown_steps)
    done, of = (step, length) if optimizer.schedule_over == "whole" else (step - warmup, max(1, length - 1 - warmup))
    return peak * _shape(optimizer, min(1.0, done / of))


def _shape(optimizer: Optimizer, progress: float) -> float:
    final = optimizer.final_fraction
    if optimizer.schedule == "cosine":
        return final + (1 - final) * (1 + math.cos(math.pi * progress)) / 2
    if optimizer.schedule == "linear":
        return 1 - (1 - final) * progress
    return 1.0


def learning_rates(optimizer: Optimizer, total_steps: int) -> list[float]:
    """Learning rate of every step of a run."""
    return [learning_rate(optimizer, step, total_steps) for step in range(total_steps)]
