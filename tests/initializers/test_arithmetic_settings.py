"""What the shipped initialisers become on arithmetic: the settings of arXiv 2608.00418 §5.2 and Table 8."""

from __future__ import annotations

import math

import pytest
import torch

from benchmark.initializer import Context
from benchmark.nn.attention import attentions
from benchmark.spec.load import load_experiment
from initializers.pseudo_input import patterns, pseudo_input

NAMES = ["mask", "mask_frozen", "mask_zero", "hadamard", "svd_released", "svd_rank_aware", "structured_opt"]
NAMES += ["structured_opt_2404", "structured_opt_2401"]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    path = tmp_path_factory.mktemp("spec") / "settings.yaml"
    path.write_text(
        "experiment: settings\nprofile: paper\ntasks: [addition, multiplication, 2parity]\n"
        f"initializers: [{', '.join(NAMES)}]\n"
    )
    return load_experiment(path)


def started_with(experiment, initializer, task):
    (found,) = (one.by_task[task] for one in experiment.initializers if one.name == initializer)
    return found


def fields(experiment, initializer, task, *names):
    return tuple(getattr(started_with(experiment, initializer, task), name) for name in names)


@pytest.mark.parametrize("name", ["mask", "mask_frozen", "hadamard"])
def test_masks_are_five_in_arithmetic_and_ten_elsewhere(experiment, name):
    for task, contrast in (("addition", 5), ("multiplication", 5), ("2parity", 10)):
        assert fields(experiment, name, task, "open", "close") == (contrast, -contrast)


def test_mask_variants_keep_what_makes_them_variants(experiment):
    assert fields(experiment, "mask_frozen", "addition", "trainable") == (False,)
    assert fields(experiment, "mask_zero", "addition", "open", "close") == (0, 0)


@pytest.mark.parametrize("name", ["svd_released", "svd_rank_aware"])
def test_svd_targets_are_ten_thousand_and_zero_in_arithmetic(experiment, name):
    assert fields(experiment, name, "addition", "open", "noise") == (10000, 0)
    assert fields(experiment, name, "2parity", "open", "noise") == (1000, 3)


def test_optimisation_has_the_published_settings(experiment):
    names = ("steps", "learning_rate", "pseudo_input", "scale")
    assert fields(experiment, "structured_opt", "addition", *names) == (2000, 1e-4, "layer_norm", None)
    assert fields(experiment, "structured_opt_2404", "addition", *names) == (10000, 1e-4, "layer_norm", None)
    assert fields(experiment, "structured_opt_2401", "addition", *names) == (10000, 1e-4, "raw", 0.1)


@pytest.mark.parametrize("task", ["addition", "multiplication"])
def test_rank_aware_svd_starts_attention_at_the_pattern_of_arithmetic(experiment, task):
    """At its own pseudo-input and the published width; total variation from the row-normalised pattern."""
    (of,) = (one.task for one in experiment.tasks if one.name == task)
    initializer = started_with(experiment, "svd_rank_aware", task)
    of = of.model_copy(update={"model": of.model.model_copy(update={"layers": 1})})
    torch.manual_seed(0)
    model = of.build_model()
    with torch.no_grad():
        initializer.apply(model, Context(of, 0, torch.Generator().manual_seed(0)))
    (attention,) = attentions(model)
    positions = pseudo_input(model, of, "layer_norm")
    query, key = (positions @ attention.head_weight(role).transpose(1, 2) for role in ("query", "key"))
    found = torch.softmax(query @ key.transpose(1, 2) / math.sqrt(attention.head_dim), -1)
    pattern = patterns(of)[0]
    distance = 0.5 * (found - pattern / pattern.sum(-1, keepdim=True)).abs().sum(-1)
    assert distance.max() < 1e-3
