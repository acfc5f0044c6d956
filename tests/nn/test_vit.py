"""The Vision Transformer against timm's own on the same weights, its stochastic depth, and its pixels."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap

from benchmark.nn import noise
from benchmark.nn.attention import attentions
from benchmark.nn.vit import Pixels, VisionTransformer
from benchmark.nn.vit_shape import VitShape

GOLDEN = Path(__file__).with_name("golden")
TIMM = json.loads((GOLDEN / "vit_timm.json").read_text())
TINY = {"layers": 12, "heads": 3, "dim": 192, "mlp_dim": 768, "patch": 16}
SMALL = VitShape(layers=4, heads=2, dim=8, mlp_dim=16, patch=2, drop_path=0.5)

spec = importlib.util.spec_from_file_location("make_vit_timm", GOLDEN / "make_vit_timm.py")
golden = importlib.util.module_from_spec(spec)
spec.loader.exec_module(golden)


def tiny(pool, classes):
    shape = VitShape(**TINY, pooling={"token": "cls", "avg": "mean"}[pool])
    return VisionTransformer(shape, Pixels(224, (0.5,), (0.5,)), channels=3, classes=classes)


def from_timm(pool):
    """Our parameters by name, from the same formula over timm's names and shapes."""
    shapes = {"cls_token": (1, 1, 192), "pos_embed": (1, 197, 192), "head.weight": (10, 192), "head.bias": (10,)}
    shapes |= {"patch_embed.proj.weight": (192, 3, 16, 16), "patch_embed.proj.bias": (192,)}
    final = "norm" if pool == "token" else "fc_norm"
    parts = {"norm1": (192,), "norm2": (192,), "attn.qkv": (576, 192), "attn.proj": (192, 192)}
    parts |= {"mlp.fc1": (768, 192), "mlp.fc2": (192, 768)}
    blocks = {f"blocks.{n}.{part}": shape for n in range(12) for part, shape in parts.items()}
    for at, shape in {final: (192,), **blocks}.items():
        shapes |= {f"{at}.weight": shape, f"{at}.bias": shape[:1]}
    theirs = {}
    for index, name in enumerate(sorted(shapes)):
        theirs[name] = golden.wave(index, shapes[name]) + float("norm" in name and name.endswith("weight"))
    ours = {"positions": theirs["pos_embed"][0], "cls": theirs["cls_token"][0, 0]}
    ours |= {"embedding.proj.weight": theirs["patch_embed.proj.weight"].flatten(1)}
    ours |= {"embedding.proj.bias": theirs["patch_embed.proj.bias"]}
    names = {"norm1": "attention_norm", "norm2": "mlp_norm", "attn.proj": "attention.proj"}
    names |= {"mlp.fc1": "mlp.expand", "mlp.fc2": "mlp.contract"}
    for kind in ("weight", "bias"):
        ours |= {f"norm.{kind}": theirs[f"{final}.{kind}"], f"head.{kind}": theirs[f"head.{kind}"]}
        for n in range(12):
            ours |= {f"blocks.{n}.{mine}.{kind}": theirs[f"blocks.{n}.{name}.{kind}"] for name, mine in names.items()}
            for role, part in zip(
                ("query", "key", "value"), theirs[f"blocks.{n}.attn.qkv.{kind}"].chunk(3), strict=True
            ):
                ours[f"blocks.{n}.attention.{role}.{kind}"] = part
    return ours


@pytest.mark.parametrize("pool", ["token", "avg"])
def test_logits_are_those_of_timm_on_the_same_weights(pool):
    model = tiny(pool, 10).double().eval()
    missing, unexpected = model.load_state_dict(from_timm(pool), strict=False)
    assert unexpected == []
    assert set(missing) == {f"blocks.{n}.attention.prior" for n in range(12)}
    with torch.no_grad():
        found = model(golden.images())
    torch.testing.assert_close(found, torch.tensor(TIMM[pool]["logits"], dtype=torch.float64), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("pool", ["token", "avg"])
def test_parameters_are_as_many_as_timm_has_and_the_priors(pool):
    assert TIMM[pool]["parameters"] == 5_717_416
    counted = sum(parameter.numel() for parameter in tiny(pool, 1000).parameters())
    assert counted == TIMM[pool]["parameters"] + 12 * 3 * 197 * 197


def test_starts_as_timm_does():
    torch.manual_seed(0)
    model = tiny("token", 10)
    for name, parameter in model.named_parameters():
        if name.endswith(("proj.bias", "expand.bias", "key.bias", "head.bias")) and "embedding" not in name:
            assert not parameter.any(), name
    assert model.positions.std().item() == pytest.approx(0.02, rel=0.02)
    assert model.blocks[5].mlp.expand.weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert model.embedding.proj.weight.abs().max().item() == pytest.approx((3 * 16 * 16) ** -0.5, rel=1e-3)
    assert model.cls.abs().max() < 1e-5
    assert {module.eps for module in model.modules() if isinstance(module, torch.nn.LayerNorm)} == {1e-6}


def small(**changes):
    torch.manual_seed(0)
    shape = SMALL.model_copy(update=changes)
    return VisionTransformer(shape, Pixels(8, (0.5,), (0.25,)), channels=1, classes=3)


def test_stochastic_depth_keeps_the_expected_share_and_scales_it():
    model = small().train()
    model.noise_seed.fill_(12345)
    keep = model.kept(20_000)
    assert keep.shape == (4, 2, 20_000, 1, 1)
    torch.testing.assert_close(keep.mean(dim=(2, 3, 4)), torch.ones(4, 2), rtol=0.03, atol=0)
    rates = (keep == 0).float().mean(dim=(1, 2, 3, 4))
    torch.testing.assert_close(rates, torch.tensor([0, 0.5 / 3, 1 / 3, 0.5]), rtol=0.03, atol=0)
    assert set(keep[3].unique().tolist()) == {0.0, 2.0}


def test_stochastic_depth_is_off_in_evaluation_and_needs_its_seed_in_training():
    model, images = small(), torch.rand(6, 1, 8, 8)
    plain = small(drop_path=0.0)
    assert torch.equal(model.eval()(images), plain(images))
    outputs = []
    for seed in (1, 1, 2):
        model.train().noise_seed.fill_(seed)
        outputs.append(model(images))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


def test_noise_of_a_cell_does_not_depend_on_the_stack_it_is_in():
    seeds = torch.tensor([3, 2**32 - 1, 77])
    together = vmap(lambda seed: noise.uniform(seed, (4, 5), stream=2))(seeds)
    apart = torch.stack([noise.uniform(seed, (4, 5), stream=2) for seed in seeds])
    assert torch.equal(together, apart)


def test_noise_is_uniform_normal_and_uncorrelated():
    seed = torch.tensor(99)
    drawn = noise.uniform(seed, (200_000,))
    assert drawn.min() >= 0
    assert drawn.max() < 1
    expected = torch.full((20,), 10_000.0)
    assert ((torch.histc(drawn, 20, 0, 1) - expected).square() / expected).sum() < 43.8  # χ², 19 degrees, 0.1 %
    for other in (noise.uniform(seed, (200_000,), stream=1), noise.uniform(seed + 1, (200_000,)), drawn.roll(1)):
        assert abs(torch.corrcoef(torch.stack((drawn, other)))[0, 1]) < 0.01
    normal = noise.normal(seed, (200_000,))
    assert abs(normal.mean()) < 0.01
    assert normal.std().item() == pytest.approx(1, abs=0.01)
    assert normal.pow(4).mean().item() == pytest.approx(3, abs=0.15)


def test_batching_over_cells_changes_nothing():
    models = [small().double() for _ in range(3)]
    for number, model in enumerate(models):
        model.train().noise_seed.fill_(number)
        torch.nn.init.normal_(attentions(model)[0].prior)
    parameters, buffers = stack_module_state(models)
    inputs = torch.rand(3, 5, 1, 8, 8, dtype=torch.float64)
    together = vmap(lambda p, b, x: functional_call(models[0], (p, b), (x,)))(parameters, buffers, inputs)
    apart = torch.stack([one(x) for one, x in zip(models, inputs, strict=True)])
    torch.testing.assert_close(together, apart, rtol=1e-12, atol=1e-12)


def test_patches_are_those_of_a_convolution():
    model = small()
    convolution = torch.nn.Conv2d(1, 8, 2, 2)
    with torch.no_grad():
        convolution.weight.copy_(model.embedding.proj.weight.view(8, 1, 2, 2))
        convolution.bias.copy_(model.embedding.proj.bias)
    images = torch.rand(3, 1, 8, 8)
    torch.testing.assert_close(model.embedding(images), convolution(images).flatten(2).transpose(1, 2))


def test_stored_pixels_are_scaled_cut_and_normalised():
    stored = torch.arange(64, dtype=torch.uint8).view(1, 8, 8, 1)
    same = Pixels(8, (0.5,), (0.25,))(stored)
    torch.testing.assert_close(same, (stored.movedim(-1, 1).float() / 255 - 0.5) / 0.25)
    cut = Pixels(7, (0.0,), (1.0,), crop=0.875)(stored)  # enlarged to 8, which it is, then cut
    torch.testing.assert_close(cut, stored.movedim(-1, 1)[..., :7, :7] / 255)
    assert Pixels(224, (0.0,), (1.0,), crop=0.875)(stored).shape == (1, 1, 224, 224)
    ready = torch.rand(2, 1, 8, 8)
    assert Pixels(8, (0.5,), (0.25,))(ready) is ready


def test_shapes_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="multiple of heads"):
        VitShape(layers=1, heads=3, dim=8, mlp_dim=8, patch=2)
    with pytest.raises(ValueError, match="cls_token: true"):
        VitShape(layers=1, heads=2, dim=8, mlp_dim=8, patch=2, cls_token=False)
