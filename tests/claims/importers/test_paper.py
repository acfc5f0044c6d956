"""The target paper's tables, typed six ways: every number comes back exactly and with its scope."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from leaderboard.claims import load

ROLES = {"test loss": "loss", "sequence accuracy": "Seq acc", "digit accuracy": "Digit acc"}
"""Metric of the curated claims → as the typed tables print it."""


def key(claim):
    metric = claim.scope.metric
    return claim.where.table, claim.scope.task, ROLES.get(metric, metric), claim.scope.method, claim.printed


def test_every_number_of_the_curated_claims_comes_back_from_the_typed_tables(read):
    wanted = Counter(key(claim) for claim in load("arxiv-2608.00418").claims)
    found = Counter(key(claim) for claim in read("paper.tex").claims)
    assert found == wanted


def test_nothing_is_left_unread(read):
    assert read("paper.tex").unread == ()


def test_splits_of_the_pairs_are_read(read):
    splits = {
        (claim.scope.split, claim.printed) for claim in read("paper.tex").claims if claim.where.table == "Table 6"
    }
    assert {("validation", "172.78"), ("test", "181.91"), ("validation", "10.40"), ("test", "10.48")} <= splits


def test_the_printed_difference_and_its_baseline_are_read(read):
    deltas = [claim for claim in read("paper.tex").claims if claim.delta is not None]
    assert [(claim.printed, claim.delta.printed, claim.delta.baseline) for claim in deltas] == [
        ("85.82", "+2.44", "Default")
    ]


def test_direction_is_stated_by_arrows_alone(read):
    """A direction that only the metric's name suggests is left to the checks, which then know that it was guessed."""
    found = {(claim.where.table, claim.scope.metric, claim.direction) for claim in read("paper.tex").claims}
    assert {("Table 2", "loss", "min"), ("Table 2", "Seq acc", "max"), ("Table 2", "Digit acc", "max")} <= found
    assert {direction for table, _, direction in found if table != "Table 2"} == {"unknown"}


def test_units(read):
    units = {(claim.scope.metric, claim.unit) for claim in read("paper.tex").claims}
    assert units == {
        ("loss", "raw"), ("accuracy", "percent"), ("Seq acc", "percent"), ("Digit acc", "percent"), ("top-1",
        "percent"),
        ("perplexity", "perplexity"),
    }  # fmt: skip


def test_bold_and_underline(read):
    claims = [claim for claim in read("paper.tex").claims if claim.where.table == "Table 2"]
    assert {claim.scope.method for claim in claims if claim.bold} == {"Mask"}
    assert {claim.scope.method for claim in claims if claim.underline} == {"Structured (Opt)"}
    assert sum(claim.bold for claim in claims) == 6


def test_the_best_row_given_by_a_user_macro_is_bold(read):
    assert all(
        claim.bold for claim in read("paper.tex").claims
        if claim.scope.task == "3-Bit Majority" and claim.scope.method == "Mask"
    )  # fmt: skip


def test_labels_captions_and_places(read):
    result = read("paper.tex")
    assert [table.label for table in result.tables] == [
        "tab:boolean",
        "tab:arithmetic",
        "tab:vision",
        "tab:ablation",
        "",
        "",
    ]
    assert all(table.caption for table in result.tables)
    lines = Path(result.path).read_text(encoding="utf-8").split("\n")
    for claim, place in zip(result.claims, result.places, strict=True):
        assert claim.printed in lines[place.line - 1][place.column - 1 :].replace("{,}", "")


def test_axes_are_found_and_none_is_assumed(read):
    tables = read("paper.tex").tables
    assert [table.axes.partition(";")[0] for table in tables] == [
        "rows: task", "rows: method", "rows: method", "rows: task, metric", "rows: task", "rows: method",
    ]  # fmt: skip
    assert not any(table.assumed for table in tables)
