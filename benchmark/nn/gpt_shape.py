"""The shape of a decoder-only language model as a spec states it; no torch here, so that planning stays fast."""

from __future__ import annotations

from pydantic import Field

from benchmark.nn.shape import EncoderShape
from benchmark.parameters import Parameters


class GptShape(Parameters):
    """A pre-norm decoder-only Transformer, shaped like karpathy/nanoGPT:model.py."""

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
    context: int = Field(gt=0)
    """Tokens the model sees at once, N: the block of a training example."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    """Probability that a number is set to zero in training: of the embedded tokens, of the attention weights, and of
    what each residual branch adds."""
    tied: bool = True
    """Whether the output layer uses the token embedding as its weights; it has no bias either way."""
    qkv_bias: bool = False
    """Whether the query, key and value projections have a bias."""
    weight_std: float = Field(default=0.02, gt=0)
    """Standard deviation of every linear layer and embedding at initialisation; biases are 0."""
    depth_scaled: bool = True
    """Whether the last layer of each residual branch starts smaller by √(2L) (Radford et al. 2019, §2.3)."""

    def block(self) -> EncoderShape:
        """The shape of one block."""
        return EncoderShape(
            layers=self.layers,
            heads=self.heads,
            dim=self.dim,
            head_dim=self.head_dim,
            mlp_dim=self.mlp_dim,
            pooling="none",
            cls_token=False,
            qkv_bias=self.qkv_bias,
            causal=True,
        )
