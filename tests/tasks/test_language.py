"""Language modelling: windows, perplexity, n-gram references, stacks, tokenizers, the shipped profiles."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from ruamel.yaml import YAML

from benchmark.cell import Cell
from benchmark.errors import DataError
from benchmark.records import CurvePoint
from benchmark.train.mode import Mode
from benchmark.train.stack import train_stack
from initializers.causal_distance import CausalDistance
from initializers.default import Default
from tasks import language_text
from tasks.data import load_text
from tasks.data.tokenizers import END, ByteLevelBPE, byte_alphabet
from tasks.language import Language

TASKS = Path(__file__).parents[2] / "tasks"
TINY = {"layers": 1, "heads": 2, "dim": 8, "head_dim": 4, "mlp_dim": 8, "context": 16, "weight_std": 0.3}


def language(**changes):
    values = {
        "optimizer": {"name": "adamw", "learning_rate": 3e-3},
        "budget": {"batch_size": 4, "steps": 3, "evaluate_every": 2},
        "corpus": "alice",
        "tokenizer": "characters",
        "training": {"split": "train", "count": 3},
        "validation": {"split": "validation", "count": 1},
        "test": {"split": "test", "count": 1},
        "model": TINY,
    }
    return Language.model_validate(values | changes)


def ids_of(task, part):
    return torch.tensor(task._ids(getattr(task, part)))


def shipped(name, profile):
    spec = YAML(typ="safe").load((TASKS / f"{name}.yaml").read_text())
    return Language.model_validate(spec["parameters"] | spec["profiles"][profile])


# --- windows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [2, 16, 17, 18, 33, 100])
def test_evaluation_windows_predict_every_token_but_the_first_once(length):
    ids = np.arange(length, dtype=np.int32)
    inputs, targets = language_text.windows(ids, 16)
    kept = targets != language_text.PADDING
    assert targets[kept].tolist() == ids[1:].tolist()
    assert inputs[kept].tolist() == ids[:-1].tolist()
    assert kept[:-1].all()
    assert kept.shape == (-(-(length - 1) // 16), 16)


def test_training_windows_are_views_that_start_at_every_token():
    task = language()
    ids, examples = ids_of(task, "training"), task.training_examples(0)
    assert len(examples) == task.training_size() == len(ids) - 16
    for start in (0, 1, 77, len(examples) - 1):
        assert examples.inputs[start].tolist() == ids[start : start + 16].tolist()
        assert examples.targets[start].tolist() == ids[start + 1 : start + 17].tolist()
    assert examples.inputs.untyped_storage().nbytes() == 4 * len(ids)
    assert examples.targets.untyped_storage().data_ptr() == examples.inputs.untyped_storage().data_ptr()


def test_a_text_shorter_than_a_window_is_refused():
    task = language(model=TINY | {"context": 5000})
    with pytest.raises(DataError, match="a window needs 5001 tokens; found"):
        task.training_size()


def test_rows_end_with_a_token_or_follow_each_other():
    rows = load_text("alice", "train")[:3]
    ended, joined = language(), language(row_ends=False)
    tokenizer = language_text.tokenizer_for("alice", "characters", ended.training)
    assert ids_of(ended, "training").eq(tokenizer.end).sum() == 3
    assert tokenizer.decode(ids_of(joined, "training").tolist()) == "".join(rows)
    assert len(ids_of(joined, "training")) == len("".join(rows))


# --- perplexity --------------------------------------------------------------------------------------------------


def plain_perplexity(model, ids, context):
    """Token by token."""
    losses = []
    for start in range(0, len(ids) - 1, context):
        inputs, following = ids[start : start + context], ids[start + 1 : start + context + 1]
        logits = model(inputs[None, : len(following)])[0].double()
        for place, token in enumerate(following.tolist()):
            losses.append(-torch.log_softmax(logits[place], dim=0)[token].item())
    return math.exp(math.fsum(losses) / len(losses)), math.fsum(losses)


def test_perplexity_is_that_of_a_plain_loop():
    task = language()
    torch.manual_seed(0)
    model = task.build_model().eval()
    examples = task.evaluation_examples(0, final=True)
    with torch.no_grad():
        found = task.summarize(task.observe(model(examples.inputs), examples.targets), examples, final=True)
        test, nats = plain_perplexity(model, ids_of(task, "test"), 16)
        validation, _ = plain_perplexity(model, ids_of(task, "validation"), 16)
    assert found["perplexity"] == pytest.approx(test, rel=1e-6)
    assert found["perplexity_validation"] == pytest.approx(validation, rel=1e-6)
    assert found["perplexity"] == pytest.approx(math.exp(found["loss"]), rel=1e-12)
    characters = len(load_text("alice", "test")[0])
    assert found["bits_per_character"] == pytest.approx(nats / math.log(2) / characters, rel=1e-6)
    assert test != pytest.approx(validation, rel=1e-3)


def test_the_training_loss_is_the_mean_over_tokens():
    task = language()
    outputs, targets = torch.randn(2, 16, 9), torch.randint(9, (2, 16), dtype=torch.int32)
    nats = task.observe(outputs, targets)["nats"]
    assert nats.shape == (2, 16)
    torch.testing.assert_close(task.loss(outputs, targets), nats.mean())


def test_a_hopeless_loss_is_an_infinite_perplexity():
    assert language_text.scores(1e6, 10, 10)["perplexity"] == math.inf


def test_the_best_step_is_chosen_on_the_validation_text():
    validation = {0: 9.0, 2: 4.0, 3: 5.0, 4: math.nan}
    test = {0: 8.0, 2: 7.0, 3: 6.0, 4: 1.0}
    curve = [
        *(CurvePoint("perplexity_validation", step, value) for step, value in validation.items()),
        *(CurvePoint("perplexity", step, value) for step, value in test.items()),
    ]
    assert language().summarize_curve(curve) == {"perplexity_best": 7.0, "perplexity_validation_best": 4.0}
    assert language().summarize_curve(()) == {}


# --- references --------------------------------------------------------------------------------------------------


def brute_force(training, text, vocabulary, k, order):
    following = Counter(pairwise(training)) if order == 2 else Counter(training[1:])
    totals = Counter(training[:-1])
    nats = 0.0
    for before, token in pairwise(text):
        seen = following[before, token] if order == 2 else following[token]
        total = totals[before] if order == 2 else len(training) - 1
        nats -= math.log((seen + k) / (total + k * vocabulary))
    return nats


def test_ngram_references_are_those_of_counting():
    generator = np.random.default_rng(0)
    vocabulary = 7
    training, validation, test = (
        generator.integers(0, top, size, dtype=np.int32) for top, size in ((6, 60), (7, 25), (7, 30))
    )
    found = language_text.ngram_nats(training, vocabulary, validation, test)
    assert found["uniform"] == pytest.approx((29 * math.log(7), 24 * math.log(7)))
    for name, order in (("unigram", 1), ("bigram", 2)):
        tried = {k: brute_force(training.tolist(), validation.tolist(), 7, k, order) for k in language_text.SMOOTHING}
        k = min(tried, key=tried.get)
        assert found[name][1] == pytest.approx(tried[k], rel=1e-12)
        assert found[name][0] == pytest.approx(brute_force(training.tolist(), test.tolist(), 7, k, order), rel=1e-12)


def test_references_are_perplexities_of_the_tasks_own_text():
    task = language()
    rows = task.references()
    assert rows["uniform"]["perplexity"] == pytest.approx(task.vocabulary())
    assert rows["bigram"]["perplexity"] < rows["unigram"]["perplexity"] < rows["uniform"]["perplexity"]
    reported = {metric.name for metric in task.metrics()}
    assert all(set(row) <= reported for row in rows.values())


def test_nothing_is_referred_to_while_data_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_DATA", str(tmp_path))
    assert shipped("wikitext2", "paper").references() == {}


# --- training ----------------------------------------------------------------------------------------------------


def cells(task):
    starts = {"default": Default(), "causal_distance": CausalDistance()}
    return [Cell(f"{n}{s}", "alice", n, s, "compact", task, i) for s in (0, 1) for n, i in starts.items()]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_stack_trains_each_cell_as_it_would_train_alone(dropout):
    task = language(model=TINY | {"dropout": dropout})
    together = train_stack(cells(task), mode=Mode.parse("stack:4"))
    for cell, stacked in zip(cells(task), together, strict=True):
        (alone,) = train_stack([cell], mode=Mode.parse("alone"))
        assert stacked.status == alone.status == "finished", alone.error
        assert set(alone.finals) == {metric.name for metric in task.metrics()}
        assert stacked.finals == pytest.approx(alone.finals, rel=1e-5)
        assert [p.value for p in stacked.curve] == pytest.approx([p.value for p in alone.curve], rel=1e-5)


def test_dropout_changes_training_and_differs_by_seed():
    def losses(dropout):
        stack = train_stack(cells(language(model=TINY | {"dropout": dropout})), mode=Mode.parse("stack:4"))
        return [next(p.value for p in outcome.curve if p.name == "training_loss") for outcome in stack]

    assert losses(0.3) != pytest.approx(losses(0.0), rel=1e-4)
    assert losses(0.3)[0] != pytest.approx(losses(0.3)[2], rel=1e-6)


def test_only_the_mask_trains_its_slots():
    task = language()
    outcomes = train_stack(cells(task)[:2], mode=Mode.parse("stack:2"))
    assert outcomes[0].finals["perplexity"] != pytest.approx(outcomes[1].finals["perplexity"], rel=1e-3)


# --- tokenizers and data -----------------------------------------------------------------------------------------


@pytest.fixture
def small_bpe(monkeypatch):
    """A byte-level BPE with a few merges in place of GPT-2's."""
    merges = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("i", "n"), ("Ġ", "a")]
    tokens = [*byte_alphabet(), *("".join(pair) for pair in merges), END]
    tokenizer = ByteLevelBPE({token: i for i, token in enumerate(tokens)}, {p: r for r, p in enumerate(merges)}, "x")
    caches = (language_text.tokenizer_for, language_text.token_ids)
    for cached in caches:
        cached.cache_clear()
    monkeypatch.setattr("tasks.data.load_tokenizer", lambda name: tokenizer)
    monkeypatch.setattr("tasks.data.is_available", lambda name: None)
    yield tokenizer
    for cached in caches:
        cached.cache_clear()


def test_byte_pairs_come_back_from_the_windows(small_bpe):
    task = language(tokenizer="gpt2", row_ends=False)
    rows = load_text("alice", "test")[:1] + load_text("alice", "validation")[:1]
    targets = task.evaluation_examples(0, final=True).targets
    inputs = task.evaluation_examples(0, final=True).inputs
    split = -(-(len(ids_of(task, "test")) - 1) // 16)
    for part, text in ((slice(0, split), rows[0]), (slice(split, None), rows[1])):
        ids = targets[part].flatten()
        whole = [int(inputs[part][0, 0]), *ids[ids >= 0].tolist()]
        assert small_bpe.decode(whole) == text
        assert len(whole) < len(text.encode())
    assert task.build_model().embedding.num_embeddings == 262
    assert task.vocabulary() == 262


def test_the_content_of_text_and_tokenizer_has_a_digest_where_they_are(monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_DATA", str(tmp_path))
    assert list(language(tokenizer="gpt2").data_digests()) == ["alice"]
    assert shipped("wikitext2", "paper").data_digests() == {}


def test_missing_data_names_every_command(monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_DATA", str(tmp_path))
    reason = shipped("tinystories", "paper").missing_data()
    assert "bench data fetch tinystories" in reason
    assert "bench data prepare gpt2-tokenizer --from PATH" in reason
    assert shipped("alice", "compact").missing_data() is None


def test_an_unknown_text_is_refused_with_a_hint():
    with pytest.raises(ValueError, match="found 'alise'; did you mean 'alice'"):
        language(corpus="alise")
    with pytest.raises(ValueError, match="expected a text data set"):
        language(corpus="cifar10")


@pytest.mark.parametrize(("name", "steps"), [("tinystories", 5000), ("wikitext2", 3000)])
def test_the_paper_profile_is_the_published_table(name, steps):
    """arXiv 2608.00418 Table 12."""
    task = shipped(name, "paper")
    assert (task.model.layers, task.model.heads, task.model.dim, task.model.context) == (12, 12, 512, 64)
    assert (task.model.dropout, task.budget.batch_size, task.budget.steps) == (0.2, 128, steps)
    assert (task.optimizer.name, task.optimizer.learning_rate, task.optimizer.schedule) == ("adamw", 3e-4, "cosine")
    assert task.geometry().causal
    assert not task.has_pattern()


def test_the_stories_that_are_scored_are_not_those_that_choose_a_step():
    task = shipped("tinystories", "paper")
    assert (task.training.split, task.training.count) == ("train", 12_000)
    assert (task.validation.split, task.validation.first, task.validation.count) == ("validation", 0, 2000)
    assert (task.test.split, task.test.first, task.test.count) == ("validation", 2000, 2000)
