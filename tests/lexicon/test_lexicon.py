"""Labels of tables are read into meanings by the lexicon's files and by those of a user."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner

from benchmark.cli.claims import command
from benchmark.errors import DataError
from leaderboard.lexicon import Lexicon, default, read, use
from leaderboard.lexicon.entries import COLUMNS, FILES, FOLDER, spellings
from leaderboard.lexicon.read import key_of

HEAD = ",".join(COLUMNS)


def entries():
    """Every line of the shipped files: its place, and its cells by column."""
    for name in FILES:
        with (FOLDER / name).open(encoding="utf-8", newline="") as stream:
            rows = [row for row in csv.reader(stream) if row and not row[0].startswith("#")]
        yield from (dict(zip(COLUMNS, row, strict=True)) for row in rows[1:])


@pytest.mark.parametrize(
    ("label", "kind", "name"),
    [
        ("Acc. (%) ↑", "metric", "accuracy"), ("top5", "metric", "top-5"), ("mIoU", "metric", "IoU"),
        ("R@5", "metric", "recall@5"), ("Recall@10", "metric", "recall@10"), ("AP^b_50", "metric", "AP50"),
        ("mAP@0.5:0.95", "metric", "AP"), ("BLEU-4", "metric", "BLEU@4"), ("FID Score", "metric", "FID"),
        ("δ<1.25 ↑", "metric", "δ1"), ("Mean Rank", "metric", "rank"), ("Mean Reciprocal Rank", "metric", "MRR"),
        ("GPU hrs.", "cost", "time"), ("inference time (s/im)", "cost", "time"), ("Train (h)", "cost", "cost"),
        ("#Params", "cost", "parameters"), ("FLOP×10^23", "cost", "FLOPs"), ("Overhead (%)", "cost", "cost"),
        ("# instances", "count", "count"), ("Total #", "count", "count"), ("number of edges", "count", "count"),
        ("Max tokens", "setting", "layers"), ("LR", "setting", "learning rate"), ("λ", "setting", "greek"),
        ("Epochs", "budget", "epochs"), ("model id", "identifier", "number"), ("Origin", "identifier", "remark"),
        ("Average (56)", "role", "average"), ("Δ Acc (%)", "role", "delta"), ("vs. best", "role", "delta"),
        ("acc_std", "role", "spread"), ("95% CI", "role", "spread"), ("CI lower", "role", "bound"),
        ("#seeds", "role", "runs"), ("test set", "split", "test"), ("results", "value", "value"),
        ("Noise", "name", ""), ("tv", "name", ""), ("+ mask loss", "name", ""), ("w/o KL loss", "name", ""),
    ],
)  # fmt: skip
def test_a_label_is_read_into_its_kind_and_canonical_name(label, kind, name):
    found = read(label)
    assert (found.kind, found.name) == (kind, name)


def test_what_stands_beside_a_metric_is_told_apart():
    found = read("ImageNet val top-1 (%) ↑")
    assert (found.name, found.rest, found.split, found.unit, found.arrow) == (
        "top-1", "ImageNet", "validation", "%", "max"
    )  # fmt: skip
    assert found.is_dataset
    assert found.is_exact
    assert not read("LVIS AP").is_exact
    assert read("relative accuracy").changed
    assert read("acc_std").of == "acc"
    assert (read("AP50 (mask)").part, read("AP50 (mask)").at) == ("mask", "50")
    assert (read("Retrieval (15)").text, read("Retrieval (15)").count) == ("Retrieval", 15)
    assert (read("MSE ($×10^-2$) ↓").name, read("MSE (×10^-2) ↓").power) == ("MSE", -2)


def test_what_a_metrics_name_implies():
    accuracy, loss, rank = read("accuracy"), read("validation loss"), read("avg. rank")
    assert (accuracy.better, accuracy.lower, accuracy.upper) == ("max", 0, 1)
    assert accuracy.is_share
    assert (loss.better, loss.split, loss.is_share) == ("min", "validation", False)
    assert rank.better == "min"
    assert read("Accuracy ↓").direction == "min"


def test_letters_are_precision_and_recall_only_beside_an_f_score():
    lexicon = default()
    assert lexicon.letters(["LP", "LR", "LF", "A"]) == {"LP": "precision", "LR": "recall", "LF": "F1"}
    assert lexicon.letters(["P", "R", "F1"]) == {"P": "precision", "R": "recall", "F1": "F1"}
    assert lexicon.letters(["LR", "WD"]) == {}


def test_every_word_of_the_files_is_found_under_its_own_name():
    lexicon = default()
    seen: set[str] = set()
    for entry in entries():
        for word in spellings(entry["words"]):
            if entry["kind"] not in ("metric", "cost") or "must-at" in entry["flags"] or key_of(word) in seen:
                continue
            seen.add(key_of(word))
            assert lexicon.read(word).name.partition("@")[0] == entry["name"].partition("@")[0], word
    assert len(seen) > 1000


def test_a_file_of_the_users_own_adds_words_and_goes_before_the_shipped_ones(tmp_path):
    own = tmp_path / "own.csv"
    own.write_text(f"{HEAD}\nmetric,dial test,dial[-test] score | dts,max,0,1,share\nmetric,WER,der,min,0,,\n", "utf-8")
    lexicon = Lexicon.load(own)
    assert (lexicon.read("DTS (%)").name, lexicon.read("DTS").better) == ("dial test", "max")
    assert lexicon.read("DER").name == "WER"
    assert read("DTS").kind == "name"


def test_a_users_words_reach_what_is_imported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.csv").write_text(f"{HEAD}\nmetric,dial test,dts,min,0,1,share one\n", "utf-8")
    (tmp_path / "t.md").write_text("| Model | DTS |\n|---|---|\n| Aa | 0.25 |\n| Bb | 1.25 |\n| Cc | 0.5 |\n", "utf-8")
    try:
        done = CliRunner().invoke(command, ["import", "t.md", "--lexicon", "own.csv", "--json"])
    finally:
        use(None)
    assert done.exit_code == 0
    assert {claim["scope"]["metric"] for claim in json.loads(done.stdout)["claims"]} == {"dial test"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n", "expected the columns"),
        (f"{HEAD}\nmetric,x\n", "own.csv:2: expected 7 cells"),
        (f"{HEAD}\nmetrik,x,x,,,,\n", "own.csv:2: expected a kind"),
        (f"{HEAD}\nmetric,x,x,up,,,\n", "expected max, min or nothing"),
        (f"{HEAD}\nmetric,x,x,max,low,,\n", "expected numbers"),
        (f"{HEAD}\nmetric,x,[x,max,,,\n", "closed brackets"),
    ],
)
def test_a_line_that_is_no_entry_is_named(tmp_path, text, said):
    own = tmp_path / "own.csv"
    own.write_text(text, "utf-8")
    with pytest.raises(DataError, match=said.replace("[", r"\[")):
        Lexicon.load(own)
