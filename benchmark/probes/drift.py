"""How far bias and attention have moved from where they started, and which part of the logits the content makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from benchmark.parameters import Metric
from benchmark.probe import Probe
from benchmark.registry import probe

if TYPE_CHECKING:
    import torch

    from benchmark.task import Task
    from benchmark.train.moment import Moment

TEXTS = {
    "bias": ("‖B_t − B_0‖_F", "bias with its gauge, which softmax does not see"),
    "bias_centred": ("‖B̃_t − B̃_0‖_F / ‖B̃_0‖_F", "bias without row means; not defined without a bias at the start"),
    "attention": ("E‖P_t − P_0‖_F / ‖P_0‖_F", "attention probabilities"),
    "attention_tv": ("TV(P_t, P_0)", "½ Σ_j |P_t − P_0|, mean over rows"),
    "attention_js": ("JS(P_t, P_0)", "Jensen–Shannon divergence in nats, mean over rows"),
    "logits": ("‖S̄̃_t − S̄̃_0‖_F", "mean logits QKᵀ/√d over the examples, without row means"),
    "content": ("E‖S_t − E S_t‖_F", "what of the logits differs from example to example"),
    "content_share": ("E‖S̃_t − S̄̃_t‖² / E‖S̃_t‖²", "share of that in the logits without row means, 0 to 1"),
}


@probe("drift")
class Drift(Probe):
    """Drift of the bias B = φ(M), of the attention P and of the logits S = QKᵀ/√d since step 0, by layer and head.

    Only the drift of P compares a mask with a query-key prior: those of B and S have other units. X̃ is X without its
    mean over the keys of a row, which softmax does not see; X̄ is the mean over the examples.
    """

    def metrics(self, task: Task) -> tuple[Metric, ...]:
        """See `TEXTS`."""
        return tuple(
            Metric(name=name, title=title, direction="none", description=text) for name, (title, text) in TEXTS.items()
        )

    def measure(self, moment: Moment) -> Mapping[str, torch.Tensor]:
        """All of them (L, H)."""
        from benchmark.probes.measures import by_layer, content, drift

        return by_layer(
            {**drift(now, start), **content(now)}
            for now, start in zip(moment.now.layers, moment.start.layers, strict=True)
        )

    def arrays(self, moment: Moment) -> Mapping[str, Sequence[torch.Tensor]]:
        """`bias`: B̃ (H, N, N); `attention`: the mean of P over the examples (H, N, N)."""
        from benchmark.probes.measures import centred

        layers = moment.now.layers
        return {
            "attention": [layer.probabilities.mean(dim=0) for layer in layers],
            "bias": [centred(layer.bias, layer.allowed) for layer in layers],
        }
