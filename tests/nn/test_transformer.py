"""The encoder: against an independent plain implementation, batched over cells, and traced whole."""

from __future__ import annotations

import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional

from benchmark.nn.attention import set_prior_mode
from benchmark.nn.shape import EncoderShape
from benchmark.nn.transformer import BitEmbedding, Transformer

TOKENS = 5
SHAPE = EncoderShape(layers=2, heads=3, dim=12, head_dim=4, mlp_dim=20, pooling="mean", cls_token=False)


def model(shape=SHAPE, seed=0, tokens=TOKENS):
    torch.manual_seed(seed)
    built = Transformer(BitEmbedding(shape.dim), shape, tokens=tokens, outputs=1)
    with torch.no_grad():
        for name, parameter in built.named_parameters():
            if name.endswith("prior"):
                parameter.normal_()
    return built


def bits(count=7, seed=1):
    return torch.randint(0, 2, (count, TOKENS), generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)


def plain(model: Transformer, inputs: torch.Tensor, shape: EncoderShape) -> torch.Tensor:
    """The architecture of aryol/GOTU@8ce173c:token_transformer.py from the same weights, written straight down."""
    w = dict(model.named_parameters())
    x = functional.embedding(inputs.long(), w["embedding.weight"])
    if shape.cls_token:
        x = torch.cat([w["cls"].view(1, 1, -1).repeat(len(x), 1, 1), x], dim=1)
    x = x + w["positions"]
    n = x.shape[1]

    def norm(y, name):
        return functional.layer_norm(y, (shape.dim,), w[f"{name}.weight"], w[f"{name}.bias"])

    for layer in range(shape.layers):
        at = f"blocks.{layer}"
        y = norm(x, f"{at}.attention_norm")
        q, k, v = (
            functional.linear(y, w[f"{at}.attention.{role}.weight"])
            .view(len(x), n, shape.heads, shape.head_dim)
            .transpose(1, 2)
            for role in ("query", "key", "value")
        )
        bias = functional.logsigmoid(w[f"{at}.attention.prior"])
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).flatten(2)
        x = x + functional.linear(mixed, w[f"{at}.attention.proj.weight"], w[f"{at}.attention.proj.bias"])
        y = norm(x, f"{at}.mlp_norm")
        y = functional.gelu(functional.linear(y, w[f"{at}.mlp.expand.weight"], w[f"{at}.mlp.expand.bias"]))
        x = x + functional.linear(y, w[f"{at}.mlp.contract.weight"], w[f"{at}.mlp.contract.bias"])
    x = x[:, 0] if shape.pooling == "cls" else x.mean(1) if shape.pooling == "mean" else x
    return functional.linear(norm(x, "norm"), w["head.weight"], w["head.bias"])


@pytest.mark.parametrize(("pooling", "cls_token"), [("mean", False), ("mean", True), ("cls", True), ("none", False)])
def test_agrees_with_a_plain_implementation(pooling, cls_token):
    shape = SHAPE.model_copy(update={"pooling": pooling, "cls_token": cls_token})
    built = model(shape).double()
    torch.testing.assert_close(built(bits()), plain(built, bits(), shape), rtol=1e-12, atol=1e-12)


def test_bits_are_looked_up_exactly():
    embedding = BitEmbedding(SHAPE.dim)
    expected = functional.embedding(bits().long(), embedding.weight)
    assert torch.equal(embedding(bits()), expected)
    gradient = torch.autograd.grad(embedding(bits()).square().sum(), embedding.weight)[0]
    torch.testing.assert_close(gradient, torch.autograd.grad(expected.square().sum(), embedding.weight)[0])


def test_published_shape_has_the_parameters_counted_by_hand():
    shape = EncoderShape(layers=12, heads=6, dim=256, head_dim=64, mlp_dim=256)
    built = model(shape, tokens=15)
    inner = 6 * 64
    block = 2 * 2 * 256 + 3 * 256 * inner + (inner * 256 + 256) + 2 * (256 * 256 + 256)
    source = 2 * 256 + 16 * 256 + 256 + 12 * block + 2 * 256 + (256 + 1)
    priors = 12 * 6 * 16 * 16
    assert sum(parameter.numel() for parameter in built.parameters()) == source + priors


def test_batching_over_cells_changes_nothing():
    models = [model(seed=seed).double() for seed in range(3)]
    parameters, buffers = stack_module_state(models)
    inputs = torch.stack([bits(seed=seed) for seed in range(3)])
    together = vmap(lambda p, b, x: functional_call(models[0], (p, b), (x,)))(parameters, buffers, inputs)
    apart = torch.stack([one(x) for one, x in zip(models, inputs, strict=True)])
    torch.testing.assert_close(together, apart, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("mode", ["log_sigmoid", "identity", "hadamard"])
def test_is_captured_as_one_graph(mode):
    built = model(SHAPE.model_copy(update={"causal": True}))
    set_prior_mode(built, mode)
    whole = torch.compile(built, fullgraph=True, backend="eager")
    assert torch.equal(whole(bits()), built(bits()))


def test_a_constant_prior_is_no_prior():
    built = model()
    outputs = []
    for constant in (0.0, -10.0, 10.0):
        with torch.no_grad():
            for block in built.blocks:
                block.attention.prior.fill_(constant)
        outputs.append(built(bits()))
    torch.testing.assert_close(outputs[1], outputs[0], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(outputs[2], outputs[0], rtol=1e-5, atol=1e-6)


def test_cls_pooling_without_a_cls_token_is_refused():
    with pytest.raises(ValueError, match="cls_token: true"):
        model(SHAPE.model_copy(update={"pooling": "cls"}))
