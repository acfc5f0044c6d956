"""The Boolean family: published facts of its tasks, exact reference rows, metrics, sampling and patterns."""

from __future__ import annotations

import math
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from benchmark.spec.load import load_experiment
from tasks import cube
from tasks.boolean import Boolean
from tasks.boolean_pattern import BooleanPattern

SPECS = Path(__file__).parents[2] / "specs"
MODEL = {"layers": 1, "heads": 2, "dim": 8, "head_dim": 4, "mlp_dim": 8, "pooling": "mean", "cls_token": False}


@cache
def shipped(profile: str = "paper") -> dict[str, Boolean]:
    """The tasks of both Boolean experiments, as their YAML resolves."""
    loaded = [load_experiment(SPECS / name, profile=profile) for name in ("paper.yaml", "gotu.yaml")]
    return {task.name: task.task for one in loaded for task in one.tasks if isinstance(task.task, Boolean)}


def small(**changes) -> Boolean:
    """2Parity on 6 bits with a tiny model."""
    fields = {
        "optimizer": {"learning_rate": 1e-3},
        "budget": {"batch_size": 8, "steps": 2},
        "bits": 6,
        "target": [{"bits": [0, 1]}],
        "seen": {"any_positive": [0, 1]},
        "model": MODEL,
        "monomials": [[], [0, 1]],
    }
    return Boolean(**{**fields, **changes})


# Task: seen inputs; of the minimum-degree interpolator: loss on unseen and all inputs, sign accuracy on unseen and all
# inputs (percent, None where the target takes the value 0), |error| < 1 on all.
PUBLISHED = {
    "2parity": (24576, 16, 4, 0, 75, 75),
    "majority3": (24576, 4, 1, 50, 87.5, 75),
    "cyclic3": (28672, 64, 8, None, None, 87.5),
    "threesym": (16384, 19.25, 9.625, 0, 50, 50),
    "rfexample": (131072, 8, 4, None, None, 75),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_minimum_degree_interpolators_are_exactly_those_known(name):
    task = shipped()[name]
    seen, loss_unseen, loss, sign_unseen, sign, within_one = PUBLISHED[name]
    row = task.references()["minimum_degree"]
    assert int(task.seen.contains(cube.all_inputs(task.bits)).sum()) == seen
    assert (row["loss_seen"], row["loss_unseen"], row["loss_all"]) == (0, loss_unseen, loss)
    assert row["accuracy_seen"] == 100
    assert row["accuracy_within_one"] == within_one
    if sign is not None:
        assert (row["accuracy_sign_unseen"], row["accuracy_sign"]) == (sign_unseen, sign)


def test_accuracy_of_the_interpolators_is_what_the_tables_print():
    accuracy = {name: task.references()["minimum_degree"]["accuracy"] for name, task in shipped().items()}
    assert (accuracy["2parity"], accuracy["cyclic3"], accuracy["majority3"]) == (75, 87.5, 87.5)
    assert accuracy["rfexample"] == 75
    sign = shipped()["cyclic3"].references()["minimum_degree"]
    assert (round(sign["accuracy_sign"], 2), round(sign["accuracy_sign_unseen"], 3)) == (92.83, 42.603)


ZERO_ON_UNSEEN = {"2parity": 0.25, "majority3": 0.25, "cyclic3": 1.875, "threesym": 2.40625}


@pytest.mark.parametrize(("name", "loss"), ZERO_ON_UNSEEN.items())
def test_zero_on_unseen_is_the_power_of_the_target_there(name, loss):
    assert shipped()[name].references()["zero_on_unseen"]["loss_all"] == loss


def test_threesym_is_its_own_negative_on_the_unseen_half():
    task = shipped()["threesym"]
    signs = cube.all_inputs(15)
    target, unseen = cube.evaluate(task.polynomial(), signs), ~task.seen.contains(signs)
    assert np.array_equal(task.seen.minimum_degree(task.polynomial(), signs)[unseen], -target[unseen])


def test_length_generalisation_interpolates_the_ball_with_degree_10():
    task = shipped()["lengthgen"]
    signs = cube.all_inputs(15)
    values, target = task.seen.minimum_degree(task.polynomial(), signs), cube.evaluate(task.polynomial(), signs)
    seen = task.seen.contains(signs)
    assert np.array_equal(values[seen], target[seen])
    assert not np.array_equal(values, target)
    top = [frozenset(range(size)) for size in (11, 12, 15)]
    assert [cube.fourier(values, signs, monomial) for monomial in top] == [0, 0, 0]
    assert cube.fourier(values, signs, frozenset(range(10))) != 0


@pytest.mark.parametrize(("seed", "accuracy"), [(0, 87.396), (1, 87.259), (2, 87.335)])
def test_sampled_majority_gives_the_interpolator_the_accuracy_of_its_test_set(seed, accuracy):
    """87.396 is the 87.40 that arXiv 2608.00418 prints for three baselines."""
    task = shipped()["majority3"]
    examples = task.evaluation_examples(seed, final=True)
    signs = np.asarray(2 * examples.inputs.numpy().astype(np.int8) - 1)
    row = task.scores(task.seen.minimum_degree(task.polynomial(), signs), examples.targets.double().numpy(), signs)
    assert round(row["accuracy_sign"], 3) == accuracy
    assert row["accuracy_sign"] == row["accuracy"]


def test_sampling_reads_the_global_stream_in_the_order_train_valid_test():
    task = small(samples=50)
    np.random.seed(3)

    def seen():
        kept = np.empty((0, 6))
        size = 50
        while len(kept) < 50:
            drawn = 1 - 2 * np.random.binomial(1, 0.5, size=(size, 6))
            kept = np.vstack([kept, drawn[(drawn[:, 0] == 1) | (drawn[:, 1] == 1)]])
            size = 25
        return kept[:50]

    train, _ = seen(), seen()
    test = 1 - 2 * np.random.binomial(1, 0.5, size=(50, 6))
    assert np.array_equal(task.training_examples(3).inputs.numpy(), train > 0)
    assert np.array_equal(task.evaluation_examples(3, final=True).inputs.numpy(), test > 0)
    assert task.training_size() == len(task.training_examples(3)) == 50
    assert (task.training_key(3), task.training_key(4)) == (3, 4)
    assert small(samples=50, data_seed=3).training_key(4) == 3


def test_the_whole_cube_is_shared_by_all_seeds():
    task = small()
    assert task.training_key(0) is None is task.training_key(1)
    assert task.training_size() == len(task.training_examples(0)) == 48
    assert len(task.evaluation_examples(0, final=True)) == 64


def test_curve_subset_keeps_the_share_of_unseen_inputs_and_says_its_size():
    task = small(curve_inputs=32)
    examples = task.evaluation_examples(0, final=False)
    signs = 2 * examples.inputs.numpy().astype(np.int8) - 1
    assert (len(examples), int((~task.seen.contains(signs)).sum())) == (32, 8)
    assert len(np.unique(signs, axis=0)) == 32
    assert torch.equal(examples.inputs, task.evaluation_examples(1, final=False).inputs)
    scores = task.summarize({"prediction": examples.targets}, examples, final=False)
    assert scores["accuracy@32"] == 100
    assert all(name.endswith("@32") for name in scores)


@pytest.mark.parametrize("name", ["2parity", "cyclic3", "majority3", "threesym", "rfexample", "lengthgen"])
@pytest.mark.parametrize("profile", ["compact", "paper"])
def test_metrics_are_those_declared_and_the_truth_is_perfect(name, profile):
    task = shipped(profile)[name]
    declared = {metric.name for metric in task.metrics()}
    references = task.references()
    assert all(row.keys() == declared for row in references.values())
    examples = task.evaluation_examples(0, final=True)
    truth = task.summarize({"prediction": examples.targets}, examples, final=True)
    assert truth.keys() == declared
    assert (truth["accuracy"], truth["accuracy_sign"], truth["loss_all"]) == (100, 100, 0)


def test_fourier_coefficients_are_named_by_their_bits():
    row = small().references()["minimum_degree"]
    assert (row["fourier_{}"], row["fourier_{0,1}"]) == (-1, 0)


def test_a_tie_a_nan_and_an_infinity_are_no_right_answers():
    task = small()
    signs = cube.all_inputs(6)
    target = cube.evaluate(task.polynomial(), signs)
    assert task.scores(np.zeros(64), target, signs)["accuracy"] == 0
    assert task.scores(np.full(64, math.nan), target, signs)["accuracy"] == 0
    assert task.scores(target * math.inf, target, signs)["accuracy"] == 0


def test_nearest_value_is_searched_among_the_values_of_the_target():
    """ThreeSym takes the values 1.25, 0.75, −3.75 and 1.75, also where a sample holds only one of them."""
    task = shipped()["threesym"]
    signs = np.ones((1, 15), dtype=np.int8)
    target = cube.evaluate(task.polynomial(), signs)
    assert target.tolist() == [1.25]
    assert task.scores(np.array([1.1]), target, signs)["accuracy"] == 100
    assert task.scores(np.array([0.9]), target, signs)["accuracy"] == 0


# --- patterns ----------------------------------------------------------------------------------------------------


def drawn(bits=4, head=0, **fields):
    task = small(bits=bits, interaction=fields)
    return ["".join(".x"[int(entry)] for entry in row) for row in task.pattern(0, head)]


def test_named_patterns_look_as_described():
    pair = {"groups": [[0, 1]]}
    assert drawn(name="parity_pair_off", **pair) == [".x..", "x...", "....", "...."]
    assert drawn(name="parity_pair_block", **pair) == ["xx..", "xx..", "....", "...."]
    assert drawn(name="block_identity", **pair) == ["xx..", "xx..", "..x.", "...x"]
    assert drawn(name="parity_pair_off", rows_elsewhere="identity", **pair) == [".x..", "x...", "..x.", "...x"]
    assert drawn(name="maj_diag", groups=[[0, 1, 2]]) == ["x...", ".x..", "..x.", "...."]
    assert drawn(name="cyclic_band", offsets=[0, 1]) == ["xx..", ".xx.", "..xx", "x..x"]
    assert drawn(name="cyclic_band", offsets=[-1, 0]) == ["x..x", "xx..", ".xx.", "..xx"]
    assert drawn(name="custom", entries=[[0, 3]]) == ["...x", "....", "....", "...."]


def test_threesym_gives_each_head_its_pair():
    heads = [drawn(head=head, name="threesym_heads", groups=[[0, 1], [1, 2], [2, 0]]) for head in range(4)]
    assert heads[0] == ["xx..", "xx..", "....", "...."] == heads[3]
    assert heads[1] == ["....", ".xx.", ".xx.", "...."]
    assert heads[2] == ["x.x.", "....", "x.x.", "...."]


def test_layers_and_heads_without_the_pattern_are_closed_everywhere():
    task = small(interaction={"name": "maj_diag", "groups": [[0]], "layers": [1], "heads": [0]})
    assert not task.pattern(0, 0).any()
    assert not task.pattern(1, 1).any()
    assert task.pattern(1, 0).sum() == 1
    assert small().pattern(0, 0) is None
    assert not small().has_pattern()


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": [{"bits": [0, 6]}]}, "bits are numbered 0 to 5; found 0 to 6"),
        ({"monomials": [[-1]]}, "found -1 to 1"),
        ({"seen": {"any_positive": [9]}}, "found 0 to 9"),
        ({"interaction": {"name": "maj_diag", "groups": [[7]]}}, "found 0 to 7"),
        ({"target": {"majority": [0, 1]}}, "odd number of bits"),
        ({"target": {"cyclic": 7}}, "cyclic products of 7 bits need at least 7 bits"),
        ({"seen": {}}, "exactly one of"),
        ({"seen": {"any_positive": [0], "at_most_negative": 2}}, "exactly one of"),
        ({"seen": {"any_positive": []}}, "at least one bit"),
        ({"interaction": {"name": "block_identity"}}, "needs `groups`"),
        ({"interaction": {"name": "custom"}}, "needs `entries`"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_with_the_reason(changes, message):
    with pytest.raises(ValidationError, match=message):
        small(**changes)


def test_pooling_none_is_refused():
    with pytest.raises(ValidationError, match="pooling must be"):
        small(model={**MODEL, "pooling": "none"})


def test_planning_facts_need_no_torch():
    code = (
        "import sys; from benchmark.spec.load import load_experiment\n"
        f"tasks = [one for one in load_experiment({str(SPECS / 'paper.yaml')!r}).tasks if one.task]\n"
        "assert len(tasks) > 4\n"
        "for one in tasks: one.task.metrics(), one.task.geometry(), one.task.references(), one.task.training_size()\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_model_gives_one_number_per_input_and_trains():
    task = small()
    model = task.build_model()
    examples = task.training_examples(0)
    outputs = model(examples.inputs)
    assert outputs.shape == (48, 1)
    expected = torch.nn.functional.mse_loss(outputs[:, 0], examples.targets)
    torch.testing.assert_close(task.loss(outputs, examples.targets), expected)


def test_pattern_of_another_family_is_not_needed_to_name_a_largest_bit():
    assert BooleanPattern(name="cyclic_band").largest_bit() == -1
