"""Training as anybody would write it: a plain module, autograd and `torch.optim`, nothing of the engine.

Only what docs/architecture.md promises is taken over: streams by name (sha256 of seed and name), a shuffle per epoch, a
batch filled from the next epoch, frozen prior slots.
"""

import hashlib
import math
import random
import zlib
from fnmatch import fnmatchcase

import numpy
import pytest
import torch

from benchmark.initializer import Context


def stream(seed, name):
    return int.from_bytes(hashlib.sha256(f"{seed}:{name}".encode()).digest()[:8], "big")


def seeded(seed, name):
    torch.manual_seed(stream(seed, name))
    numpy.random.seed(stream(seed, name) % 2**32)
    random.seed(stream(seed, name))
    return torch.Generator().manual_seed(stream(seed, name))


def model_of(task, initializer, seed):
    seeded(seed, "model")
    model = task.build_model()
    for module in model.modules():
        if hasattr(module, "prior_mode"):
            module.prior_mode = initializer.prior_mode()
    seeded(seed, "apply")
    with torch.no_grad():
        initializer.apply(model, Context(task, seed, torch.Generator().manual_seed(stream(seed, "initializer"))))
    return model


def optimizer_of(task, initializer, model):
    settings, groups = task.optimizer, []
    for name, parameter in model.named_parameters():
        rules = [r for r in (*task.parameter_rules(), *initializer.parameter_rules()) if fnmatchcase(name, r.match)]
        if not parameter.requires_grad or not (rules[-1].trainable if rules else not name.endswith(".prior")):
            continue
        decay = settings.weight_decay if settings.decay_vectors or parameter.dim() > 1 else 0.0
        if rules and rules[-1].weight_decay is not None:
            decay = rules[-1].weight_decay
        rate = rules[-1].learning_rate_multiplier if rules else 1.0
        groups.append({"params": [parameter], "lr": settings.learning_rate * rate, "weight_decay": decay})
    if settings.name == "sgd":
        return torch.optim.SGD(groups, momentum=settings.momentum)
    kind = torch.optim.Adam if settings.name == "adam" else torch.optim.AdamW
    return kind(groups, betas=settings.betas, eps=settings.epsilon)


def plain_losses(task, initializer, seed, steps, rate):
    """Training loss of each step; `rate(step)` is the schedule as a share of the peak."""
    model = model_of(task, initializer, seed).train()
    seeded(seed, "training examples")
    examples = task.training_examples(seed)
    shuffle, augment, noise = (torch.Generator().manual_seed(stream(seed, n)) for n in ("batches", "augment", "noise"))
    optimizer = optimizer_of(task, initializer, model)
    trained = [p for group in optimizer.param_groups for p in group["params"]]
    peaks = [group["lr"] for group in optimizer.param_groups]
    rows, found = torch.empty(0, dtype=torch.int64), []
    for step in range(steps):
        while len(rows) < task.budget.batch_size:
            rows = torch.cat((rows, torch.randperm(len(examples), generator=shuffle)))
        batch, rows = rows[: task.budget.batch_size], rows[task.budget.batch_size :]
        inputs, targets = examples.inputs[batch], examples.targets[batch]
        if task.augments():
            inputs, targets = task.augment(inputs, targets, augment)
        drawn = torch.randint(0, 1 << 32, (1,), generator=noise)[0]
        for name, buffer in model.named_buffers():
            if name == "noise_seed":
                buffer.copy_(drawn)
            elif name.endswith(".noise_seed"):  # a module's own, by its name
                buffer.copy_((drawn + zlib.crc32(name.encode()) * 0x9E3779B9) & 0xFFFFFFFF)
        for group, peak in zip(optimizer.param_groups, peaks, strict=True):
            group["lr"] = peak * rate(step)
        optimizer.zero_grad()
        loss = task.loss(model(inputs), targets)
        loss.backward()
        if task.optimizer.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(trained, task.optimizer.clip_norm)
        optimizer.step()
        found.append(loss.item())
        assert math.isfinite(found[-1])
    return found


@pytest.fixture(scope="session")
def plain():
    """The loop: (task, initialiser, seed, steps, rate) → losses."""
    return plain_losses


@pytest.fixture(autouse=True)
def _process(monkeypatch, tmp_path):
    """One thread, and everything as before at the end: the plain loop undoes nothing."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INITBENCH_HOSTILE", "0")
    monkeypatch.delenv("INITBENCH_HOSTILE")
    yield
    torch.set_num_threads(threads)
    torch.set_grad_enabled(True)
    torch.use_deterministic_algorithms(False)
