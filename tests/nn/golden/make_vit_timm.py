"""Write `vit_timm.json`: logits and sizes of timm's own ViT-Ti/16 on weights that a formula gives.

timm 1.0.31 and its torch are needed; torchvision and the hub's clients, which timm imports for other things, are
replaced by empty modules where they are missing, so that nothing but `timm.models.vision_transformer` takes part:

    pip download --no-deps timm==1.0.31 && PYTHONPATH=timm-1.0.31-py3-none-any.whl python make_vit_timm.py
"""

from __future__ import annotations

import json
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path
from unittest import mock

import torch


class Stub(types.ModuleType):
    """Any attribute, none of which is used."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return mock.MagicMock(name=name)


class Stubs:
    """Finds every module of the packages that timm imports and its ViT does not use."""

    packages = ("torchvision", "huggingface_hub", "safetensors", "yaml")

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in self.packages else None

    def create_module(self, spec):
        return Stub(spec.name)

    def exec_module(self, module):
        pass


def wave(index: int, shape: tuple[int, ...]) -> torch.Tensor:
    """Weights of the `index`-th parameter in the order of timm's names; LayerNorm weights are one more."""
    count = torch.Size(shape).numel()
    place = torch.arange(count, dtype=torch.float64) % 9973
    return (0.05 * torch.sin(0.37 * place * place + index)).view(shape)


def images() -> torch.Tensor:
    """Two images, (2, 3, 224, 224)."""
    return 20 * wave(1000, (2, 3, 224, 224))


def logits(pool: str) -> tuple[list[list[float]], int]:
    """Outputs for ten classes, and the number of parameters for a thousand."""
    from timm.models.vision_transformer import VisionTransformer

    shape = {"embed_dim": 192, "depth": 12, "num_heads": 3, "global_pool": pool}
    model = VisionTransformer(num_classes=10, **shape).double().eval()
    state = {name: wave(i, tuple(value.shape)) for i, (name, value) in enumerate(sorted(model.state_dict().items()))}
    state = {name: value + 1 if "norm" in name and name.endswith("weight") else value for name, value in state.items()}
    model.load_state_dict(state)
    with torch.no_grad():
        found = model(images()).tolist()
    return found, sum(p.numel() for p in VisionTransformer(num_classes=1000, **shape).parameters())


if __name__ == "__main__":
    sys.meta_path.append(Stubs())
    import timm

    values = {"timm": timm.__version__}
    for pool in ("token", "avg"):
        found, count = logits(pool)
        values[pool] = {"logits": found, "parameters": count}
    Path(__file__).with_name("vit_timm.json").write_text(json.dumps(values, indent=1) + "\n")
