"""The shape of a Vision Transformer as a spec states it; no torch here, so that planning stays fast."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from benchmark.nn.shape import EncoderShape
from benchmark.parameters import Parameters


class VitShape(Parameters):
    """A pre-norm Vision Transformer, shaped like timm's `VisionTransformer`."""

    layers: int = Field(gt=0)
    """Number of blocks, L."""
    heads: int = Field(gt=0)
    """Attention heads per block, H."""
    dim: int = Field(gt=0)
    """Width of the residual stream, D; a multiple of the number of heads."""
    mlp_dim: int = Field(gt=0)
    """Hidden width of the MLP."""
    patch: int = Field(gt=0)
    """Side of a square patch in pixels."""
    pooling: Literal["cls", "mean"] = "cls"
    """What the output layer reads: the CLS token after the final LayerNorm, or the LayerNorm of the mean over the
    patches (CLS left out)."""
    cls_token: bool = True
    """Whether a learned token is put before the patches; `cls` pooling needs it."""
    qkv_bias: bool = True
    """Whether the query, key and value projections have a bias."""
    drop_path: float = Field(default=0.0, ge=0, lt=1)
    """Probability that a residual branch of the last block is left out for an example; it rises linearly from 0 in the
    first block (stochastic depth, arXiv 1603.09382)."""
    norm_epsilon: float = Field(default=1e-6, gt=0)
    """Offset in the denominator of every LayerNorm."""

    @model_validator(mode="after")
    def _check(self) -> VitShape:
        if self.dim % self.heads:
            raise ValueError(f"dim must be a multiple of heads; found {self.dim} and {self.heads}")
        if self.pooling == "cls" and not self.cls_token:
            raise ValueError("pooling `cls` needs `cls_token: true`")
        return self

    @property
    def head_dim(self) -> int:
        """Width of one head, d."""
        return self.dim // self.heads

    def encoder(self) -> EncoderShape:
        """The shape of one block."""
        return EncoderShape(
            layers=self.layers,
            heads=self.heads,
            dim=self.dim,
            head_dim=self.head_dim,
            mlp_dim=self.mlp_dim,
            cls_token=self.cls_token,
            qkv_bias=self.qkv_bias,
        )
