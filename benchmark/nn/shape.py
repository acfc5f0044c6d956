"""The shape of an encoder as a spec states it; no torch here, so that planning stays fast."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from benchmark.parameters import Parameters

Pooling = Literal["cls", "mean", "none"]


class EncoderShape(Parameters):
    """A pre-norm Transformer encoder."""

    layers: int = Field(gt=0)
    """Number of blocks, L."""
    heads: int = Field(gt=0)
    """Attention heads per block, H."""
    dim: int = Field(gt=0)
    """Width of the residual stream, D."""
    head_dim: int = Field(gt=0)
    """Width of one head, d; need not be D / H."""
    mlp_dim: int = Field(gt=0)
    """Hidden width of the MLP."""
    pooling: Pooling = "cls"
    """What the output layer reads: the CLS token, the mean over all tokens (CLS included), or each token."""
    cls_token: bool = True
    """Whether a learned token is put before the input; `cls` pooling needs it."""
    positions_std: float = Field(default=1.0, ge=0)
    """Standard deviation of the learned position embeddings and of the CLS token at initialisation."""
    qkv_bias: bool = False
    """Whether the query, key and value projections have a bias."""
    causal: bool = False
    """Whether token i may only attend to tokens ≤ i."""
    renormalize_hadamard: bool = False
    """Whether a Hadamard prior is divided by its row sum."""
