"""The arithmetic family: results against Python's integers, splits, exact reference rows, metrics, patterns, models."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from functools import cache
from itertools import product
from math import log
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from benchmark.cell import Cell
from benchmark.spec.load import load_experiment
from benchmark.task import Examples
from benchmark.train.mode import ALONE, Mode
from benchmark.train.stack import train_stack
from initializers.default import Default
from initializers.mask import Mask
from tasks import arithmetic_pairs as pairs
from tasks.arithmetic import Arithmetic
from tasks.arithmetic_model import DigitEmbedding

SPECS = Path(__file__).parents[2] / "specs"
MODEL = {"layers": 1, "heads": 4, "dim": 8, "head_dim": 2, "mlp_dim": 8, "pooling": "none", "cls_token": False}
POOLED = {"outputs": "pooled_multi_head", "model": {**MODEL, "pooling": "mean"}}


def small(**changes) -> Arithmetic:
    """Addition of 2-digit numbers with a tiny model."""
    fields = {
        "optimizer": {"name": "adamw", "learning_rate": 1e-3},
        "budget": {"batch_size": 8, "steps": 2},
        "operation": "addition",
        "digits": 2,
        "train_fraction": 0.03,
        "model": MODEL,
    }
    return Arithmetic(**{**fields, **changes})


@cache
def shipped(profile="compact"):
    """The tasks of Figure 4, as their YAML resolves."""
    return {one.name: one.task for one in load_experiment(SPECS / "figure4.yaml", profile=profile).tasks}


def numbers(rows) -> list[int]:
    """Integers from rows of digits, most significant first."""
    return [int("".join(map(str, row))) for row in rows.tolist()]


def written(number, digits) -> list[int]:
    return [int(character) for character in str(number).zfill(digits)]


# --- results -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("operation", "digits"), [("addition", 4), ("multiplication", 6)])
def test_tokens_and_targets_are_the_digits_of_pythons_integers(operation, digits):
    task = small(operation=operation, digits=3, train_fraction=0.0005)
    examples = task.training_examples(0)
    assert examples.inputs.shape == (500, 6)
    assert examples.targets.shape == (500, digits)
    for row, target in zip(examples.inputs, numbers(examples.targets), strict=True):
        a, b = numbers(row.view(2, 3))
        assert target == (a + b if operation == "addition" else a * b)


EDGES = [(999, 999, 1998, 998001), (0, 0, 0, 0), (1, 999, 1000, 999), (500, 500, 1000, 250000), (100, 10, 110, 1000)]


@pytest.mark.parametrize(("a", "b", "total", "product_"), EDGES)
def test_edge_cases_are_padded_with_zeros_and_never_overflow(a, b, total, product_):
    index = np.array([1000 * a + b])
    assert pairs.tokens(index, 3).tolist() == [written(a, 3) + written(b, 3)]
    for operation, value in (("addition", total), ("multiplication", product_)):
        count = pairs.result_digits(operation, 3)
        found = pairs.digits_of(pairs.results(operation, *pairs.operands(index, 3)), count)
        assert found.tolist() == [written(value, count)]


def test_least_significant_order_reverses_the_result_and_nothing_else():
    first, last = small(digit_order="msd"), small(digit_order="lsd")
    one, other = first.training_examples(0), last.training_examples(0)
    assert torch.equal(one.inputs, other.inputs)
    assert torch.equal(one.targets.flip(1), other.targets)
    assert (first.significances(), last.significances()) == ([2, 1, 0], [0, 1, 2])


def carries(a, b) -> int:
    """Carries as digit sums show them: each replaces ten by one, so it takes 9 from the sum of digits."""
    lost = sum(map(int, str(a) + str(b))) - sum(map(int, str(a + b)))
    return lost // 9


def test_carries_are_counted_in_every_column():
    inputs = pairs.tokens(np.arange(10**6), 3)
    chosen = np.random.RandomState(0).choice(10**6, 2000, replace=False)
    assert pairs.carries(inputs[chosen]).tolist() == [carries(*divmod(int(index), 1000)) for index in chosen]
    named = [(999, 1, 3), (999, 999, 3), (0, 0, 0), (505, 505, 2), (445, 555, 3), (123, 321, 0)]
    assert pairs.carries(inputs[[1000 * a + b for a, b, _ in named]]).tolist() == [count for *_, count in named]


# --- splits ------------------------------------------------------------------------------------------------------


def indices(examples) -> list[int]:
    return numbers(examples.inputs)


@pytest.mark.parametrize("commutative_safe", [False, True])
@pytest.mark.parametrize(("fraction", "trained"), [(0.0301, 301), (0.5, 5000), (0.9, 9000)])
def test_split_is_disjoint_and_complete(fraction, trained, commutative_safe):
    task = small(train_fraction=fraction, commutative_safe=commutative_safe)
    for seed in range(3):
        examples = indices(task.evaluation_examples(seed, final=True))
        assert indices(task.training_examples(seed)) == examples[:trained]
        assert sorted(examples) == list(range(10**4))
    assert task.training_size() == trained


def test_published_fractions_have_4000_and_30000_training_pairs():
    sizes = {name: task.training_size() for name, task in shipped("paper").items()}
    assert (sizes["addition_0.4pct"], sizes["multiplication_3pct"]) == (4000, 30000)


def test_split_follows_the_seed_or_the_split_seed():
    of, fixed = small(), small(split_seed=0)
    assert indices(of.training_examples(0)) == indices(of.training_examples(0))
    assert indices(of.training_examples(0)) != indices(of.training_examples(1))
    assert indices(fixed.training_examples(1)) == indices(of.training_examples(0))
    assert (of.training_key(1), fixed.training_key(1)) == (1, 0)


def test_split_of_seed_zero_stays_what_it_was():
    """The stored results of a cell are about these pairs."""
    assert indices(small().training_examples(0))[:5] == [8875, 2474, 5601, 4566, 701]
    assert indices(small(commutative_safe=True).training_examples(0))[:5] == [6170, 7061, 2546, 4625, 3394]


def leaked(task) -> int:
    """Test pairs whose mirror image is trained on."""
    trained = set(indices(task.training_examples(0)))
    test = indices(task.evaluation_examples(0, final=True))[len(trained) :]
    return sum(index % 100 * 100 + index // 100 in trained for index in test)


def test_commutative_safe_split_has_no_mirrored_pair_in_the_test_set():
    assert leaked(small(train_fraction=0.3)) > 1000
    assert leaked(small(train_fraction=0.3, commutative_safe=True)) == 0
    assert leaked(small(train_fraction=0.3001, commutative_safe=True)) == 0


def test_samples_are_random_parts_of_each_side_and_metrics_name_their_size():
    task = small(test_sample=100, curve_sample=40, train_fraction=0.03)
    whole, end, point = (
        indices(one.evaluation_examples(0, final=final))
        for one, final in ((small(), True), (task, True), (task, False))
    )
    assert end == whole[:100] + whole[300:400]
    assert point == whole[:40] + whole[300:340]
    names = {metric.name for metric in task.metrics()}
    assert {"sequence_accuracy@100", "loss@100", "train_loss@100"} <= names
    assert all(name.endswith("@100") for name in names)


def test_a_sample_larger_than_what_is_there_is_all_of_it_and_says_so():
    task = small(test_sample=500)
    names = {metric.name for metric in task.metrics()}
    assert {"sequence_accuracy@500", "train_sequence_accuracy", "train_loss"} <= names
    assert len(task.evaluation_examples(0, final=True)) == 800


# --- metrics -----------------------------------------------------------------------------------------------------


def summary(task, logits, inputs, targets, trained):
    """Metrics of logits (n, K, 10) when the first `trained` of the examples are training pairs."""
    examples = Examples(torch.tensor(inputs, dtype=torch.uint8), torch.tensor(targets, dtype=torch.uint8))
    task = task.model_copy(update={"train_fraction": trained / task.pairs})
    return task.summarize(task.observe(logits, examples.targets), examples, final=True)


def answers(rows, strength=20.0):
    return torch.nn.functional.one_hot(torch.tensor(rows), 10) * strength


def test_metrics_of_hand_made_answers():
    inputs = [[0, 5, 0, 5], [1, 2, 1, 2], [9, 9, 0, 1], [5, 0, 5, 0], [0, 0, 0, 0]]  # 10, 24, 100, 100, 0
    targets = [[0, 1, 0], [0, 2, 4], [1, 0, 0], [1, 0, 0], [0, 0, 0]]
    given = [[0, 1, 0], [0, 2, 4], [1, 0, 0], [1, 0, 9], [0, 1, 0]]  # the fourth and fifth have one wrong digit
    found = summary(small(), answers(given), inputs, targets, trained=1)
    assert found["sequence_accuracy"] == 50
    assert found["digit_accuracy"] == pytest.approx(100 * 10 / 12)
    assert [found[f"digit_{k}_accuracy"] for k in (0, 1, 2)] == [75, 75, 100]
    carried = [found[f"carries_{count}_sequence_accuracy"] for count in (0, 1, 2)]
    assert carried == [50, 0, 100]
    assert found["train_sequence_accuracy"] == 100
    wrong = 20 + log(1 + 9 * np.exp(-20))  # one digit in three of two examples in four
    assert found["loss"] == pytest.approx(2 * wrong / 12, rel=1e-4)
    assert found["train_loss"] == pytest.approx(0, abs=1e-5)


def test_digit_accuracies_are_named_by_what_the_digit_counts_in_either_order():
    targets = [[4, 2, 0]]
    found = summary(small(digit_order="lsd"), answers([[4, 2, 7]]), [[1, 2, 1, 2]] * 1, targets, trained=0.0001)
    assert [found[f"digit_{k}_accuracy"] for k in (0, 1, 2)] == [100, 100, 0]


def test_a_count_of_carries_that_no_pair_has_is_nan():
    found = summary(small(), answers([[0, 2, 4]]), [[1, 2, 1, 2]], [[0, 2, 4]], trained=0.0001)
    assert found["carries_0_sequence_accuracy"] == 100
    assert np.isnan(found["carries_2_sequence_accuracy"])


@pytest.mark.parametrize("logit", [0.0, float("nan")])
def test_a_tie_and_nan_are_no_right_answers(logit):
    observed = small().observe(torch.full((1, 3, 10), logit), torch.zeros(1, 3, dtype=torch.uint8))
    assert not observed["correct"].any()


def test_observed_and_trained_loss_are_the_cross_entropy():
    task = small()
    logits = torch.randn(7, 3, 10, generator=torch.Generator().manual_seed(0))
    targets = torch.arange(21).view(7, 3).remainder(10).to(torch.uint8)
    expected = torch.nn.functional.cross_entropy(logits.transpose(1, 2), targets.long())
    torch.testing.assert_close(task.loss(logits, targets), expected)
    torch.testing.assert_close(task.observe(logits, targets)["loss"].mean(), expected)


@pytest.mark.parametrize("profile", ["compact", "paper"])
@pytest.mark.parametrize("name", ["addition_0.4pct", "multiplication_3pct"])
def test_metrics_are_those_declared_and_the_truth_is_perfect(name, profile):
    task = shipped(profile)[name]
    declared = [metric.name for metric in task.metrics()]
    sampled = task.model_copy(update={"test_sample": 512}) if profile == "paper" else task
    examples = sampled.evaluation_examples(0, final=True)
    truth = sampled.summarize(
        sampled.observe(answers(examples.targets.tolist()), examples.targets), examples, final=True
    )
    assert sorted(truth) == sorted(metric.name for metric in sampled.metrics())
    assert all(row.keys() == set(declared) for row in task.references().values())
    assert "train_loss" in declared
    assert declared[0] == ("sequence_accuracy@4096" if profile == "compact" else "sequence_accuracy")
    assert {value for name, value in truth.items() if "accuracy" in name} == {100}
    assert all(value < 1e-3 for name, value in truth.items() if "loss" in name)


# --- reference rows ----------------------------------------------------------------------------------------------


def best_answers(operation, digits, sees):
    """By brute force: share of right digits of each place, of right sequences, and mean conditional entropy."""
    width = digits + 1 if operation == "addition" else 2 * digits
    rows = []
    for a, b in product(range(10**digits), repeat=2):
        result = written(a + b if operation == "addition" else a * b, width)
        contexts = [None] * width
        if sees == "own_column":
            columns = list(zip(written(a, digits), written(b, digits), strict=True))
            contexts = [columns[0]] * (width - digits) + columns
        rows.append((contexts, result))
    counts = [Counter((contexts[place], result[place]) for contexts, result in rows) for place in range(width)]
    context_counts = [Counter(contexts[place] for contexts, _ in rows) for place in range(width)]

    def best(place, context):
        return max(range(10), key=lambda digit: (counts[place][context, digit], -digit))

    right = [[best(k, contexts[k]) == result[k] for k in range(width)] for contexts, result in rows]
    entropy = [
        -sum(n * log(n / context_counts[k][context]) for (context, _), n in counts[k].items()) / len(rows)
        for k in range(width)
    ]
    return np.mean(right, axis=0) * 100, np.mean(np.all(right, axis=1)) * 100, np.mean(entropy)


@pytest.mark.parametrize(
    ("operation", "digits", "row", "sees"),
    [
        ("addition", 1, "chance", "nothing"),
        ("addition", 2, "chance", "nothing"),
        ("addition", 2, "own_column", "own_column"),
        ("multiplication", 1, "chance", "nothing"),
        ("multiplication", 2, "chance", "nothing"),
    ],
)
@pytest.mark.parametrize("digit_order", ["msd", "lsd"])
def test_reference_rows_are_exact(operation, digits, row, sees, digit_order):
    task = small(operation=operation, digits=digits, digit_order=digit_order)
    places, sequences, entropy = best_answers(operation, digits, sees)
    found = task.references()[row]
    assert [found[f"digit_{k}_accuracy"] for k in reversed(range(len(places)))] == pytest.approx(list(places))
    assert found["digit_accuracy"] == pytest.approx(places.mean())
    assert found["sequence_accuracy"] == pytest.approx(sequences)
    assert found["loss"] == found["train_loss"] == pytest.approx(entropy)


def test_reference_rows_of_three_digits():
    addition = shipped()["addition_0.4pct"].references()
    multiplication = shipped("paper")["multiplication_3pct"].references()
    column = addition["own_column"]
    assert column["digit_0_accuracy@4096"] == 100  # units carry nothing in
    assert column["digit_1_accuracy@4096"] == pytest.approx(55)  # 45 of 100 pairs of units carry
    assert column["digit_2_accuracy@4096"] == pytest.approx(50.5)  # 4950 of 10 000 pairs of two digits carry
    assert column["carries_3_sequence_accuracy@4096"] == 0
    assert addition["chance"]["digit_3_accuracy@4096"] == pytest.approx(50.05)  # 500 500 sums are below 1000
    assert set(multiplication) == {"chance"}
    assert multiplication["chance"]["digit_0_accuracy"] == pytest.approx(27)  # 27 of 100 products of digits end in 0


# --- patterns ----------------------------------------------------------------------------------------------------


def drawn(head=0, digits=2, **fields):
    task = small(digits=digits, train_fraction=0.1, interaction=fields)
    return ["".join(".x"[int(entry)] for entry in row) for row in task.pattern(0, head)]


def test_addition_patterns_of_two_digits_look_as_described():
    """Tokens a1 a0 b1 b0."""
    assert drawn(name="add_aligned") == ["..x.", "...x", "x...", ".x.."]
    assert drawn(name="add_aligned", own=True) == ["x.x.", ".x.x", "x.x.", ".x.x"]
    assert drawn(name="add_carry1") == [".xxx", "...x", "xx.x", ".x.."]
    assert drawn(name="add_lower") == [".xxx", "...x", "xx.x", ".x.."]
    assert drawn(name="add_lower", digits=3)[0] == ".xxxxx"
    assert drawn(name="add_carry1", digits=3)[0] == ".x.xx."


def test_addition_heads_take_turns():
    """Aligned, self, one digit below, one digit above."""
    heads = [drawn(head=head, name="add_heads") for head in range(4)]
    assert heads[0] == drawn(name="add_aligned")
    assert heads[1] == ["x...", ".x..", "..x.", "...x"]
    assert heads[2] == [".x.x", "....", ".x.x", "...."]
    assert heads[3] == ["....", "x.x.", "....", "x.x."]


def test_multiplication_patterns_cross_the_operands():
    assert drawn(name="mul_cross") == ["..xx", "..xx", "xx..", "xx.."]
    heads = [drawn(head=head, name="mul_diag_heads") for head in range(4)]
    assert heads[0] == ["....", "...x", "....", ".x.."]  # a0 b0
    assert heads[1] == ["...x", "..x.", ".x..", "x..."]  # a1 b0, a0 b1
    assert heads[2] == ["..x.", "....", "x...", "...."]  # a1 b1
    assert heads[3] == ["...."] * 4


@pytest.mark.parametrize(
    ("name", "digits", "count"),
    [("add_aligned", 2, 4), ("mul_cross", 2, 8), ("add_aligned", 3, 6), ("mul_cross", 3, 18), ("add_lower", 3, 18)],
)
def test_number_of_open_entries(name, digits, count):
    assert sum(row.count("x") for row in drawn(name=name, digits=digits)) == count


def test_heads_of_multiplication_share_out_the_whole_cross():
    heads = [drawn(head=head, digits=3, name="mul_diag_heads") for head in range(4)]
    assert all(
        sum(head[i][j] == "x" for head in heads) == int((i < 3) != (j < 3)) for i, j in product(range(6), repeat=2)
    )


@pytest.mark.parametrize("name", ["add_aligned", "add_carry1", "add_lower"])
def test_misaligned_patterns_are_wrong_with_as_many_open_entries(name):
    right, wrong = drawn(digits=3, name=name), drawn(digits=3, name=name, offset=1)
    assert right != wrong
    assert sum(row.count("x") for row in right) == sum(row.count("x") for row in wrong)
    assert drawn(digits=3, name=name, offset=3) == right


def test_misaligned_addition_joins_each_digit_with_the_one_above():
    """a_i ↔ b_{i+1}: a0 with b1, a1 with b2, a2 with b0."""
    assert drawn(digits=3, name="add_aligned", offset=1) == [".....x", "...x..", "....x.", ".x....", "..x...", "x....."]


def test_without_an_interaction_there_is_no_pattern():
    assert small().pattern(0, 0) is None
    assert not small().has_pattern()
    assert small(interaction={"name": "add_aligned"}).has_pattern()


# --- models ------------------------------------------------------------------------------------------------------


def test_embedding_looks_digits_up():
    embedding = DigitEmbedding(5)
    digits = torch.tensor([[0, 9, 3]], dtype=torch.uint8)
    assert torch.equal(embedding(digits), embedding.weight[digits.long()])


@pytest.mark.parametrize("operation", ["addition", "multiplication"])
@pytest.mark.parametrize("changes", [{}, POOLED, {"model": {**MODEL, "cls_token": True}}])
def test_models_give_ten_logits_for_every_digit(operation, changes):
    task = small(operation=operation, **changes)
    examples = task.training_examples(0)
    outputs = task.build_model()(examples.inputs)
    assert outputs.shape == (300, task.result_digits, 10)
    assert torch.isfinite(task.loss(outputs, examples.targets))


@pytest.mark.parametrize("cls_token", [False, True])
@pytest.mark.parametrize(("positions", "read"), [(None, (1, 2, 3)), ((0, 0, 2), (0, 0, 2))])
def test_output_digits_are_read_from_the_tokens_named(cls_token, positions, read):
    """With the blocks' outputs at zero, the logits of a digit depend on its own token alone."""
    torch.manual_seed(0)
    model = small(output_positions=positions, model={**MODEL, "cls_token": cls_token}).build_model()
    for block in model.blocks:
        for layer in (block.attention.proj, block.mlp.contract):
            torch.nn.init.zeros_(layer.weight)
            torch.nn.init.zeros_(layer.bias)
    inputs = torch.zeros(1, 4, dtype=torch.uint8)
    for token in range(4):
        changed = inputs.clone()
        changed[0, token] = 5
        moved = (model(changed) != model(inputs)).any(dim=-1)[0]
        assert moved.tolist() == [place == token for place in read]


@pytest.mark.parametrize("changes", [{}, POOLED])
def test_cells_in_a_stack_train_as_they_do_alone(changes):
    budget = {"batch_size": 16, "steps": 3, "evaluate_every": 1}
    task = small(interaction={"name": "add_aligned"}, budget=budget, test_sample=20, **changes)
    cells = [
        Cell(f"{seed}{name}", "task", name, seed, "compact", task, initializer)
        for seed, name, initializer in ((0, "default", Default()), (1, "mask", Mask(open=5, close=-5)))
    ]
    stacked = train_stack(cells, mode=Mode(compiled=False, stack_size=2))
    for cell, together in zip(cells, stacked, strict=True):
        (alone,) = train_stack([cell], mode=ALONE)
        assert alone.status == together.status == "finished"
        losses, others = (
            {(point.name, point.step): point.value for point in outcome.curve if "loss" in point.name}
            for outcome in (alone, together)
        )
        assert len(losses) == 11  # loss and train_loss at 4 points, training_loss at 3
        assert others == pytest.approx(losses, rel=1e-4)
    assert stacked[0].finals != stacked[1].finals


# --- refusals and planning ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": {**MODEL, "pooling": "mean"}}, "`per_position_head` need pooling `none`; found `mean`"),
        ({"outputs": "pooled_multi_head"}, "`pooled_multi_head` need pooling `mean` or `cls`; found `none`"),
        ({"output_positions": [0, 1]}, "one token, 0 to 3, for each of the 3 output digits"),
        ({"output_positions": [0, 1, 4]}, "one token, 0 to 3"),
        ({**POOLED, "output_positions": [0, 1, 2]}, "for outputs `per_position_head`"),
        ({"train_fraction": 1e-5}, "leaves no training pair of 10000"),
        ({"train_fraction": 0.95}, "less than or equal to 0.9"),
        ({"digits": 4}, "less than or equal to 3"),
        ({"interaction": {"name": "add_alinged"}}, "add_aligned"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_with_the_reason(changes, message):
    with pytest.raises(ValidationError, match=message):
        small(**changes)


def test_planning_facts_need_no_torch():
    code = (
        "import sys; from benchmark.spec.load import load_experiment\n"
        f"tasks = load_experiment({str(SPECS / 'figure4.yaml')!r}).tasks\n"
        "for one in tasks: one.task.metrics(), one.task.geometry(), one.task.references(), one.task.training_size()\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
