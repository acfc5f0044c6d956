"""A small Boolean task with a pattern, cells of it, and the probes' values by hand: slow, plain, one cell, numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from benchmark.cell import Cell
from benchmark.identity import stream
from benchmark.nn.attention import attentions
from benchmark.train.batches import Batches, examples_of
from benchmark.train.build import build
from benchmark.train.mode import Mode
from benchmark.train.stack import train_stack
from initializers.default import Default
from initializers.mask import Mask
from tasks.boolean import Boolean


def task(optimizer=None, cls_token=False, steps=10, causal=False):
    return Boolean(
        optimizer=optimizer or {"name": "adam", "learning_rate": 1e-2, "weight_decay": 1e-3},
        budget={"batch_size": 8, "steps": steps, "evaluate_every": 5},
        bits=5,
        target=[{"bits": [0, 1]}],
        seen={"any_positive": [0, 1]},
        model={
            "layers": 2, "heads": 2, "dim": 8, "head_dim": 4, "mlp_dim": 8, "pooling": "mean", "cls_token": cls_token,
            "causal": causal,
        },
        interaction={"name": "parity_pair_block", "groups": [[1, 3]] if causal else [[0, 1]]},
        monomials=[[0], [0, 1]],
    )  # fmt: skip


def cell(probes=(), seed=0, initializer=None, of=None):
    initializer, of = initializer or Mask(open=2, close=-2), of or task()
    name = f"{initializer.family}-{seed}"
    return Cell(name, "boolean", initializer.family, seed, "compact", of, initializer, tuple(probes))


class Plain:
    """A cell trained by a plain loop of PyTorch, and what its attention does, written out in numpy."""

    def __init__(self, of, examples=512):
        self.cell = of
        self.model = build(of)
        self.optimizer = self._optimizer(of.task.optimizer)
        self.batches = Batches(of.task, [of], "cpu")
        whole = examples_of(of, "curve")
        order = torch.randperm(len(whole), generator=torch.Generator().manual_seed(stream(0, "probe")))
        chosen = sorted(order[:examples].tolist())
        self.inputs, self.targets = whole.inputs[chosen], whole.targets[chosen]
        self.step = 0

    def _optimizer(self, of):
        common = {"lr": of.learning_rate, "weight_decay": of.weight_decay}
        if of.name == "sgd":
            return torch.optim.SGD(self.model.parameters(), **common)
        return torch.optim.Adam(self.model.parameters(), eps=of.epsilon, **common)

    def look(self):
        """Everything a probe may measure now, as numpy arrays."""
        parameters = {name: p.detach().clone() for name, p in self.model.named_parameters()}
        self.model.eval()
        outputs = self.model(self.inputs)
        gradients = torch.autograd.grad(self.cell.task.loss(outputs, self.targets), list(self.model.parameters()))
        self.model.train()
        state = {n: self.optimizer.state.get(p, {}) for n, p in self.model.named_parameters()}
        return {
            "layers": self.seen(),
            "parameters": numpy_of(parameters),
            "gradient": numpy_of(dict(zip(parameters, gradients, strict=True))),
            "second": numpy_of({n: one["exp_avg_sq"] for n, one in state.items() if "exp_avg_sq" in one}),
            "outputs": outputs.detach().double().numpy(),
        }

    def advance(self):
        (x,), (y,) = (tensor[:, 0] for tensor in self.batches.take(1))
        loss = self.cell.task.loss(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.step += 1

    def seen(self):
        """For each layer a dict of numpy arrays: bias (H, N, N), scores and probabilities (B, H, N, N)."""
        inputs = {}
        hooks = [
            one.register_forward_pre_hook(lambda module, args: inputs.update({module: args[0].detach().numpy()}))
            for one in attentions(self.model)
        ]
        self.model.eval()
        with torch.no_grad():
            self.model(self.inputs)
        self.model.train()
        for hook in hooks:
            hook.remove()
        return [attend(one, inputs[one].astype(np.float64)) for one in attentions(self.model)]


def numpy_of(tensors):
    return {name: tensor.detach().double().numpy() for name, tensor in tensors.items()}


def hold(probe, cells, mode, by_hand):
    """Hold what a probe recorded of these cells to `by_hand(now, start, before, step, plain)`, which gives
    (metric, layer, head) → value of a plain training; returns what was found of the last cell."""
    for of, outcome in zip(cells, train_stack(cells, mode=Mode.parse(mode)), strict=True):
        plain = Plain(of, probe.examples)
        if isinstance(of.initializer, Default):  # its slot is not trained
            trained = [p for n, p in plain.model.named_parameters() if not n.endswith(".prior")]
            plain.optimizer.param_groups[0]["params"] = trained
        expected, start, before = {}, plain.look(), None
        for step in range(11):
            now = plain.look()
            if step in (0, 1, 2, 5, 10):
                found = by_hand(now, start, before, step, plain)
                expected |= {(*key, step): value for key, value in found.items() if not math.isnan(value)}
            before = now
            plain.advance()
        points = [p for p in outcome.recorded.points if p.metric != "half_life"]
        single = {(p.metric, p.layer, p.head, p.step): p.value for p in points if p.head is not None or p.layer is None}
        means = {key for key in single if key[2] is None and key not in expected}
        found = {key: value for key, value in single.items() if key not in means}
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert found[key] == pytest.approx(value, rel=1e-5, abs=1e-5), key
    return found


def attend(attention, x):
    weight = {name: getattr(attention, name).weight.detach().numpy().astype(np.float64) for name in ("query", "key")}
    d, heads = attention.head_dim, attention.heads
    prior = attention.prior.detach().numpy().astype(np.float64)
    bias = -np.log1p(np.exp(-prior)) if attention.prior_mode == "log_sigmoid" else prior
    examples, tokens, _ = x.shape
    scores = np.zeros((examples, heads, tokens, tokens))
    for example in range(examples):
        for head in range(heads):
            part = slice(head * d, (head + 1) * d)
            q, k = x[example] @ weight["query"][part].T, x[example] @ weight["key"][part].T
            scores[example, head] = q @ k.T / np.sqrt(d)
    allowed = np.tril(np.ones((tokens, tokens), bool)) if attention.future is not None else np.ones((tokens,) * 2, bool)
    raised = np.exp(scores + bias) * allowed
    return {
        "bias": bias,
        "scores": scores,
        "probabilities": raised / raised.sum(-1, keepdims=True),
        "allowed": allowed,
    }


@pytest.fixture(scope="session")
def small():
    """Names of this file, for tests (importing conftest by name is not possible in importlib mode)."""

    class Namespace:
        pass

    space = Namespace()
    space.task, space.cell, space.hold = task, cell, hold
    return space


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
