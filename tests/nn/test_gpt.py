"""The language model: size, causality, attention against PyTorch's own, dropout."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from benchmark.nn import noise
from benchmark.nn.attention import Attention, attentions, set_prior_mode
from benchmark.nn.gpt import GPT, Dropout
from benchmark.nn.gpt_shape import GptShape

SHAPE = GptShape(layers=2, heads=2, dim=8, head_dim=3, mlp_dim=16, context=7, weight_std=0.5)


def gpt(seed=0, **changes):
    torch.manual_seed(seed)
    return GPT(SHAPE.model_copy(update=changes), 11)


def with_priors(model):
    with torch.no_grad():
        for attention in attentions(model):
            attention.prior.normal_(std=3)
    return model


def test_the_published_shape_has_as_many_parameters_as_counted_by_hand():
    shape = GptShape(layers=12, heads=12, dim=512, head_dim=42, mlp_dim=2048, context=64, dropout=0.2)
    norm = 2 * 512
    attention = 3 * 512 * 504 + 504 * 512 + 512
    mlp = 512 * 2048 + 2048 + 2048 * 512 + 512
    slot = 12 * 64 * 64
    embedding = 50257 * 512
    tied = embedding + 64 * 512 + 12 * (2 * norm + attention + mlp + slot) + norm
    assert tied == 63_968_768
    for is_tied, expected in ((True, tied), (False, tied + embedding)):
        with torch.device("meta"):
            model = GPT(shape.model_copy(update={"tied": is_tied}), 50257)
        assert sum(parameter.numel() for parameter in model.parameters()) == expected


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("mode", ["log_sigmoid", "identity", "hadamard"])
def test_later_tokens_never_change_earlier_logits(prior, mode):
    model = with_priors(gpt()) if prior else gpt()
    set_prior_mode(model, mode)
    tokens = torch.randint(11, (3, 7), generator=torch.Generator().manual_seed(0))
    before = model(tokens)
    for place in range(1, 7):
        changed = tokens.clone()
        changed[:, place:] = (changed[:, place:] + 1) % 11
        after = model(changed)
        assert torch.equal(after[:, :place], before[:, :place])
        assert not torch.allclose(after[:, place], before[:, place])


def test_shorter_texts_give_the_same_logits():
    model = with_priors(gpt())
    tokens = torch.randint(11, (2, 7), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(model(tokens[:, :4]), model(tokens)[:, :4])


def test_attention_is_pytorchs_own_with_the_prior_as_its_mask():
    torch.manual_seed(0)
    attention = Attention(8, 2, 3, 7, causal=True)
    with torch.no_grad():
        attention.prior.normal_(std=3)
    x = torch.randn(4, 7, 8)
    query, key, value = attention.split_heads(x)
    future = torch.full((7, 7), -math.inf).triu(1)
    mask = functional.logsigmoid(attention.prior) + future
    mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    expected = attention.proj(mixed.transpose(1, 2).reshape(4, 7, 6))
    torch.testing.assert_close(attention(x), expected)


def test_the_whole_model_is_a_plain_gpt_written_out():
    model = with_priors(gpt())
    tokens = torch.randint(11, (2, 7), generator=torch.Generator().manual_seed(0))
    x = model.embedding.weight[tokens] + model.positions
    for block in model.blocks:
        x = x + block.attention(functional.layer_norm(x, (8,)))
        hidden = functional.gelu(block.mlp.expand(functional.layer_norm(x, (8,))))
        x = x + block.mlp.contract(hidden)
    torch.testing.assert_close(model(tokens), functional.layer_norm(x, (8,)) @ model.embedding.weight.T)


def test_an_untied_output_layer_has_weights_of_its_own():
    model = gpt(tied=False)
    tokens = torch.zeros(1, 2, dtype=torch.int32)
    before = model(tokens)
    with torch.no_grad():
        model.head.weight.mul_(2)
    torch.testing.assert_close(model(tokens), 2 * before)


def test_weights_start_as_stated():
    model = GPT(SHAPE.model_copy(update={"dim": 64, "mlp_dim": 512, "head_dim": 32, "weight_std": 0.02}), 500)
    deviation = {name: parameter.std().item() for name, parameter in model.named_parameters() if parameter.dim() == 2}
    for name, found in deviation.items():
        ends = name.endswith(("proj.weight", "contract.weight"))
        assert found == pytest.approx(0.02 / (2 if ends else 1), rel=0.1), name  # √(2·2 layers) = 2
    assert all(not p.any() for name, p in model.named_parameters() if name.endswith("bias"))


# --- dropout -----------------------------------------------------------------------------------------------------


def test_dropout_keeps_the_share_and_the_mean():
    drop = Dropout(0.2, torch.tensor(5))
    ones = torch.ones(200, 500)
    first, second = drop(ones), drop(ones)
    for dropped in (first, second):
        assert set(dropped.unique().tolist()) == {0.0, 1.25}
        assert (dropped == 0).float().mean().item() == pytest.approx(0.2, abs=4 * math.sqrt(0.16 / 1e5))
    both = ((first == 0) & (second == 0)).float().mean().item()
    assert both == pytest.approx(0.04, abs=4 * math.sqrt(0.04 * 0.96 / 1e5))


def test_dropout_acts_in_training_alone_and_follows_the_seed():
    model = gpt(dropout=0.5)
    tokens = torch.randint(11, (2, 7), generator=torch.Generator().manual_seed(0))
    plain = gpt()(tokens)
    torch.testing.assert_close(model.eval()(tokens), plain)
    model.train()
    assert torch.equal(model(tokens), model(tokens))
    assert not torch.allclose(model(tokens), plain)
    seeded = {noise.SEED: torch.tensor(1)}
    assert not torch.allclose(torch.func.functional_call(model, seeded, (tokens,)), model(tokens))


def test_dropout_cannot_leak_the_future():
    model = gpt(dropout=0.5).train()
    tokens = torch.randint(11, (2, 7), generator=torch.Generator().manual_seed(0))
    changed = tokens.clone()
    changed[:, 4:] = (changed[:, 4:] + 1) % 11
    assert torch.equal(model(tokens)[:, :4], model(changed)[:, :4])
