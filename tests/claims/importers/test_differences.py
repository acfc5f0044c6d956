"""Differences printed in a column or row of their own stand beside the numbers they belong to, or are listed."""

from __future__ import annotations

import pytest

from leaderboard.claims.importers import import_text
from leaderboard.claims.importers.captions import rule_in
from leaderboard.claims.importers.mapping import Mapping
from leaderboard.lexicon import read


def deltas(result):
    """(number, difference, baseline, its task, relative) of every number with a difference."""
    return [
        (claim.printed, claim.delta.printed, claim.delta.baseline, claim.delta.task, claim.delta.relative)
        for claim in result.claims
        if claim.delta is not None
    ]


def test_a_column_beside_one_metric_belongs_to_it_and_the_caption_names_the_baseline(latex_table):
    rows = (
        "Method & Acc. & $\\Delta$ \\\\ \\midrule\nDefault & 83.38 & -- \\\\ Fixed & 81.78 & $-1.60$ \\\\ "
        "Learned & 85.82 & $+2.54$ \\\\"
    )
    result = latex_table(rows, 2, "Ablations on CIFAR-10. $\\Delta$ is the gain over Default.")
    assert deltas(result) == [
        ("81.78", "-1.60", "Default", None, False), ("85.82", "+2.54", "Default", None, False)
    ]  # fmt: skip
    assert len(result.claims) == 3
    assert result.unread == ()


def test_a_gain_behind_before_and_after_is_between_the_two_columns(latex_table):
    rows = (
        "Method & Before & After & Gain \\\\ \\midrule\nA & 83.38 & 84.40 & +1.02 \\\\ B & 81.78 & 82.01 & +0.32 \\\\"
    )
    result = latex_table(rows)
    assert deltas(result) == [("84.40", "+1.02", None, "Before", False), ("82.01", "+0.32", None, "Before", False)]


@pytest.mark.parametrize(
    ("label", "cells", "relative"),
    [("Improvement", "+2.40 & +0.61 & +0.80", False), ("Rel. improv.", "2.57\\% & 0.82\\% & 0.91\\%", True)],
)
def test_a_last_row_of_improvements_belongs_to_the_row_above_it(latex_table, label, cells, relative):
    rows = (
        "Method & CIFAR-10 & CIFAR-100 & SVHN \\\\ \\midrule\nDefault & 93.38 & 74.40 & 96.02 \\\\ "
        f"Ours & 95.78 & 75.01 & 96.32 \\\\ \\midrule {label} & {cells} \\\\"
    )
    result = latex_table(rows)
    found = deltas(result)
    assert [item[0] for item in found] == ["95.78", "75.01", "96.32"]
    assert {item[2:] for item in found} == {("Default", None, relative)}
    assert len(result.claims) == 6


def test_a_second_row_of_differences_stands_beside_the_first(latex_table):
    rows = (
        "Method & CIFAR-10 & SVHN \\\\ \\midrule\nDefault & 93.38 & 96.02 \\\\ Ours & 95.78 & 96.32 \\\\ "
        "$\\Delta$ & +2.40 & +0.30 \\\\ Rel. improv. & 2.57\\% & 0.31\\% \\\\"
    )
    result = latex_table(rows)
    assert [[(delta.printed, delta.relative) for delta in claim.differences] for claim in result.claims[2:]] == [
        [("+2.40", False), ("2.57", True)], [("+0.30", False), ("0.31", True)]
    ]  # fmt: skip
    assert result.unread == ()


BEST = "Data & A & B & Ours & {} \\\\ \\midrule\nX & 70.1 & \\underline{{72.3}} & 74.0 & {} \\\\ "
BEST += "Y & \\underline{{61.5}} & 60.2 & 64.1 & {} \\\\ Z & 80.0 & \\underline{{82.2}} & 83.1 & {} \\\\"


@pytest.mark.parametrize(
    ("heading", "gains", "relative", "caption", "rule"),
    [
        ("Gain", ("+1.7", "+2.6", "+0.9"), False, "Accuracy.", None),
        ("$\\Delta$", ("1.7", "2.6", "0.9"), False, "Accuracy. $\\Delta$: gain over the best competitor.", "best"),
        (
            "Improv.",
            ("2.35\\%", "4.23\\%", "1.09\\%"),
            True,
            "Gain over the strongest baseline (underlined).",
            "underlined",
        ),
    ],
)
def test_a_gain_over_the_best_competitor_has_another_baseline_in_each_row(
    latex_table, heading, gains, relative, caption, rule
):
    claims = latex_table(BEST.format(heading, *gains), 4, caption).claims
    found = [claim.delta for claim in claims if claim.delta is not None]
    assert [(delta.baseline, delta.relative, delta.to, delta.inferred) for delta in found] == [
        ("B", relative, rule, True), ("A", relative, rule, True), ("B", relative, rule, True)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("change with respect to the previous row", "previous"),
        ("Cumulative gains in parentheses", "previous"),
        ("Gains over the corresponding baseline in parentheses.", "corresponding"),
        ("relative to the respective vanilla model", "corresponding"),
        ("Improvement over the second best.", "best"),
        ("Gain over the best-performing baseline", "best"),
        ("gains over previous SOTA", "best"),
        ("relative gain over the strongest baseline (underlined)", "underlined"),
        ("difference to the first row", "first"),
        ("Best in bold, second best underlined.", None),
        ("Gains over Default.", None),
    ],
)
def test_a_caption_states_the_rule_by_which_baselines_are_chosen(text, rule):
    assert rule_in(text) == rule


@pytest.mark.parametrize(
    "heading",
    [
        "\\%Improv.",
        "$\\Delta$\\%",
        "\\% gain",
        "Rel. Imp.",
        "Rel. drop (\\%)",
        "Relative change",
        "Diff.",
        "vs. best",
        "$\\Delta$mIoU",
    ],
)
def test_a_last_row_under_any_of_its_names_is_a_row_of_differences(latex_table, heading):
    rows = (
        "Method & Yelp & Gowalla \\\\ \\midrule\nA & 54.9 & 61.8 \\\\ B & 60.1 & 60.2 \\\\ Ours & 63.4 & 64.1 \\\\ "
        f"\\midrule {heading} & 5.5 & 3.7 \\\\"
    )
    result = latex_table(rows)
    assert [(item[0], item[2]) for item in deltas(result)] == [("63.4", "B"), ("64.1", "A")]
    assert len(result.claims) == 6


@pytest.mark.parametrize(
    "name", ["DropPath", "Drop path", "Improved DDPM", "GapNet", "Margin", "Delta-LoRA", "DeltaNet"]
)
def test_methods_are_no_differences(name):
    assert read(name).role != "delta"


def test_differences_to_the_row_before_in_a_column_of_their_own_are_bound(latex_table):
    rows = (
        "Method & Top-1 & $\\Delta$ \\\\ \\midrule\nPlain & 76.1 & -- \\\\ + A & 76.8 & +0.7 \\\\ "
        "+ B & 77.0 & +0.2 \\\\ + C & 78.2 & +1.2 \\\\ + D & 79.0 & +0.8 \\\\"
    )
    assert [item[2] for item in deltas(latex_table(rows, caption="x"))] == ["Plain", "+ A", "+ B", "+ C"]


def test_a_relative_improvement_of_two_rows_is_bound_though_it_is_wrong(latex_table):
    rows = "Method & CIFAR-10 & Rel. improv. (\\%) \\\\ \\midrule\nBaseline & 23.41 & -- \\\\ Ours & 26.22 & 10.71 \\\\"
    assert deltas(latex_table(rows)) == [("26.22", "10.71", "Baseline", None, True)]


def test_one_wrong_relative_improvement_of_three_is_bound_too(latex_table):
    rows = (
        "Method & Error (\\%) & Rel. improvement (\\%) & img/s \\\\ \\midrule\nBaseline & 25.0 & -- & 1,013 \\\\ "
        "A & 24.0 & 4.0 & 1,001 \\\\ B & 22.5 & 10.0 & 998.5 \\\\ C & 20.0 & 25.0 & 987 \\\\"
    )
    assert [item[1:] for item in deltas(latex_table(rows))] == [
        (printed, "Baseline", None, True) for printed in ("4.0", "10.0", "25.0")
    ]


def test_an_improvement_printed_positive_where_the_number_falls_says_that_lower_is_better(latex_table):
    rows = "Method & WER & Gain \\\\ \\midrule\nBase & 9.1 & -- \\\\ A & 8.6 & +0.5 \\\\ B & 8.4 & +0.7 \\\\"
    claims = latex_table(rows, caption="x").claims
    assert [(claim.direction, claim.delta and claim.delta.printed) for claim in claims] == [
        ("unknown", None), ("min", "+0.5"), ("min", "+0.7"),
    ]  # fmt: skip


def test_differences_that_nothing_bears_out_are_listed_once_per_column_and_are_no_numbers(latex_table):
    rows = "Method & Top-1 & $\\Delta$ \\\\ \\midrule\nA & 91.0 & +1.5 \\\\ B & 92.0 & +3.1 \\\\ C & 93.0 & +0.4 \\\\"
    result = latex_table(rows, caption="x")
    assert [claim.printed for claim in result.claims] == ["91.0", "92.0", "93.0"]
    assert deltas(result) == []
    assert len(result.unread) == 1
    assert "+1.5, +3.1, +0.4 (3 in all)" in result.unread[0].text
    assert "deltas:" in result.unread[0].reason


def test_a_gap_between_two_metrics_is_listed(latex_table):
    rows = (
        "Method & Train acc. & Test acc. & Gap \\\\ \\midrule\nA & 99.0 & 91.0 & -8.0 \\\\ B & 98.0 & 92.0 & -6.0 \\\\"
    )
    result = latex_table(rows)
    assert deltas(result) == []
    assert "two metrics or splits" in result.unread[0].reason


def test_a_mapping_says_what_a_difference_belongs_to_whether_it_fits_or_not():
    source = "|m|A|B|Gain|\n|-|-|-|-|\n|Base|80.0|70.0||\n|X|81.0|72.0|+5.0|\n|Y|82.0|73.0|+6.0|\n"
    plain = import_text(source, "markdown")
    assert deltas(plain) == []
    assert len(plain.unread) == 1
    mapping = Mapping.model_validate({"tables": [{"rows": "method", "deltas": {"Gain": "A"}, "baseline": "Base"}]})
    told = import_text(source, "markdown", mapping=mapping)
    assert deltas(told) == [("81.0", "+5.0", "Base", None, False), ("82.0", "+6.0", "Base", None, False)]
    assert told.unread == ()


def test_a_mapping_that_names_a_column_that_is_not_there_is_told():
    source = "|m|A|Gain|\n|-|-|-|\n|Base|80.0||\n|X|81.0|+1.0|\n"
    mapping = Mapping.model_validate({"tables": [{"deltas": {"Gain": "Z"}}]})
    assert "mapping" in import_text(source, "markdown", mapping=mapping).unread[0].reason


def test_differences_to_the_row_above_are_bound_row_by_row(latex_table):
    rows = (
        "Method & Top-1 & $\\Delta$ \\\\ \\midrule\nA & 80.0 & -- \\\\ A+M & 81.2 & +1.2 \\\\ "
        "B & 70.0 & -- \\\\ B+M & 72.5 & +2.5 \\\\ C & 60.0 & -- \\\\ C+M & 60.4 & +0.4 \\\\"
    )
    found = deltas(latex_table(rows, caption="x"))
    assert [item[2] for item in found] == ["A", "B", "C"]


def test_a_wide_file_lists_columns_of_differences_to_elsewhere(tmp_path):
    source = "model,top1,top1_diff\na,70.1,-10.2\nb,71.3,-9.7\n"
    result = import_text(source, "csv")
    assert [claim.printed for claim in result.claims] == ["70.1", "71.3"]
    assert result.unread[0].text.startswith("column top1_diff")


def test_a_zero_in_the_row_of_the_baseline_is_a_difference_to_itself(latex_table):
    rows = (
        "Method & CIFAR-10 & $\\Delta$ \\\\ \\midrule\nBase & 80.1 & 0.0 \\\\ A & 80.9 & +0.8 \\\\ B & 81.0 & +0.9 \\\\"
    )
    assert [item[1:3] for item in deltas(latex_table(rows))] == [("0.0", "Base"), ("+0.8", "Base"), ("+0.9", "Base")]


def test_a_heading_may_name_the_row_without_its_plus_sign(latex_table):
    rows = (
        "Method & BLEU & COMET \\\\ \\midrule\nLLaMA & 30.1 & 82.7 \\\\ + SFT & 31.4 & 84.9 \\\\ "
        "+ Ours & 32.0 & 85.6 \\\\ \\midrule $\\Delta$ vs.\\ SFT & +0.6 & +0.7 \\\\"
    )
    found = [claim.delta for claim in latex_table(rows, 2, "x").claims if claim.delta is not None]
    assert [(delta.printed, delta.baseline, delta.inferred) for delta in found] == [
        ("+0.6", "+ SFT", False), ("+0.7", "+ SFT", False)
    ]  # fmt: skip
