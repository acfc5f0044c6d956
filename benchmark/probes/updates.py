"""How large gradients are beside Adam's epsilon, and how far one step takes bias, logits and attention."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from benchmark.parameters import Metric
from benchmark.probe import Probe
from benchmark.registry import probe

if TYPE_CHECKING:
    import torch

    from benchmark.nn.attention import Attention
    from benchmark.task import Task
    from benchmark.train.moment import Moment

OWN = ("prior", "query", "key")
"""M (H, N, N), and the rows of W_Q and W_K by head."""
TEXTS = {
    "gradient": ("RMS ∂L/∂{}", "root mean square of the gradient on the probe's examples, without decay"),
    "gradient_over_epsilon": ("RMS ∂L/∂{} / ε", "the same over Adam's ε: far below 1 the optimiser does not move it"),
    "second_over_epsilon": ("RMS √v̂ / ε of {}", "Adam's own denominator over its ε, decay and clipping included"),
    "step": ("RMS Δ{}", "root mean square of what the last step changed"),
}
MOVED = {
    "bias_update": ("‖B̃_t − B̃_{t−1}‖_F", "last step of the bias, without row means"),
    "logit_update": ("‖S̄̃_t − S̄̃_{t−1}‖_F", "last step of the mean logits, without row means"),
    "attention_update": ("TV(P_t, P_{t−1})", "last step of the attention, mean over rows and examples"),
}


@probe("updates")
class Updates(Probe):
    """Gradients of M, W_Q and W_K, and what the optimiser makes of them, by layer and head; steps from step 1 on."""

    def metrics(self, task: Task) -> tuple[Metric, ...]:
        """See `TEXTS`, for each of `prior`, `query`, `key`, and `MOVED`."""
        own = {f"{part}_{name}": (title.format(part), text) for part in OWN for name, (title, text) in TEXTS.items()}
        return tuple(
            Metric(name=name, title=title, direction="none", description=text)
            for name, (title, text) in {**own, **MOVED}.items()
        )

    def measure(self, moment: Moment) -> Mapping[str, torch.Tensor]:
        """(L, H)."""
        from benchmark.probes.measures import by_layer, moved

        layers = moment.now.layers
        before = moment.before.layers if moment.before else [None] * len(layers)
        return by_layer(
            {**dict(_of_parameters(moment, now.attention)), **(moved(now, past) if past else {})}
            for now, past in zip(layers, before, strict=True)
        )


def _of_parameters(moment: Moment, attention: Attention) -> Iterator[tuple[str, torch.Tensor]]:
    from benchmark.probes.measures import by_head, rms

    names = {id(parameter): name for name, parameter in moment.now.model.named_parameters()}
    optimizer = moment.cell.task.optimizer
    for part in OWN:
        parameter = getattr(attention, part)
        name = names.get(id(parameter if part == "prior" else getattr(parameter, "weight", None)))
        if name is None or name not in moment.now.gradient:  # a map of another kind, or one that asks for no gradient
            continue
        size = rms(by_head(moment.now.gradient[name], attention.heads))
        yield f"{part}_gradient", size
        if optimizer.name != "sgd":
            yield f"{part}_gradient_over_epsilon", size / optimizer.epsilon
            if moment.step:
                corrected = moment.optimizer["second"][name] / (1 - optimizer.betas[1] ** moment.step)
                yield f"{part}_second_over_epsilon", rms(by_head(corrected.sqrt(), attention.heads)) / optimizer.epsilon
        if moment.before:
            change = moment.now.values[name] - moment.before.values[name]
            yield f"{part}_step", rms(by_head(change, attention.heads))
