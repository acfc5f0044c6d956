"""Columns that measure something else than the metric of the caption: costs, relative costs, forgetting."""

from __future__ import annotations

import pytest


def columns(result):
    """Metric and direction of each number of the first row."""
    row = result.claims[0].where.row
    return [(claim.scope.metric, claim.direction) for claim in result.claims if claim.where.row == row]


@pytest.mark.parametrize(
    ("heading", "metric"),
    [
        ("Train (h)", "Train (h)"), ("Overhead (\\%)", "Overhead ratio"), ("Size (KB)", "Size (KB)"), ("Size", "Size"),
        ("Search (GPU days)", "Search (GPU days)"), ("Energy (kWh)", "Energy"), ("Test (ms)", "Test (ms)"),
        ("Storage", "Storage"), ("Compression ratio", "Compression ratio"), ("Foo $\\downarrow$", "Foo"),
    ],
)  # fmt: skip
def test_a_cost_has_neither_metric_nor_direction_of_the_caption(latex_table, heading, metric):
    rows = f"Method & ImageNet & {heading} \\\\ \\midrule\nA & 61.0 & 35.0 \\\\ Ours & 64.1 & 0.4 \\\\"
    found = columns(latex_table(rows, 2, "Top-1 accuracy (\\%) $\\uparrow$."))
    assert found[0] == ("top-1", "max")
    assert found[1][0] == metric
    assert found[1][1] != "max"


@pytest.mark.parametrize("heading", ["Cars (\\%)", "Art", "Val", "Real"])
def test_a_data_set_or_a_split_has_the_metric_of_the_caption(latex_table, heading):
    rows = f"Method & ImageNet & {heading} \\\\ \\midrule\nA & 61.0 & 35.0 \\\\ Ours & 64.1 & 40.4 \\\\"
    assert columns(latex_table(rows, 2, "Top-1 accuracy (\\%) $\\uparrow$."))[1] == ("top-1", "max")


@pytest.mark.parametrize("heading", ["FLOPs $\\downarrow$ (\\%)", "Params (\\%)", "MACs (\\%) $\\downarrow$"])
def test_a_cost_in_percent_is_what_is_left_or_what_is_saved(latex_table, heading):
    rows = f"Method & Top-1 & {heading} \\\\ \\midrule\nA & 61.0 & 35.0 \\\\ Ours & 64.1 & 40.4 \\\\"
    metric, direction = columns(latex_table(rows, 2, "Pruning."))[1]
    assert metric.endswith(" ratio")
    assert direction == "unknown"


def test_an_absolute_cost_keeps_its_direction(latex_table):
    rows = "Method & Top-1 & FLOPs (G) $\\downarrow$ \\\\ \\midrule\nA & 61.0 & 35.0 \\\\ Ours & 64.1 & 40.4 \\\\"
    assert columns(latex_table(rows, 2, "Pruning."))[1] == ("FLOPs", "min")


@pytest.mark.parametrize(
    "caption", ["ACC ($\\uparrow$), forgetting FM ($\\downarrow$).", "ACC and FM ($\\downarrow$)."]
)
@pytest.mark.parametrize("arrow", ["", " $\\downarrow$"])
def test_forgetting_under_grouped_headings_is_a_metric(latex_table, caption, arrow):
    rows = (
        "& \\multicolumn{2}{c}{Buffer 500} & \\multicolumn{2}{c}{Buffer 2000} \\\\\n"
        f"Method & ACC & FM{arrow} & ACC & FM{arrow} \\\\ \\midrule\nER & 22.1 & 70.3 & 38.6 & 49.1 \\\\"
    )
    found = columns(latex_table(rows, 4, caption))
    assert found[1] == found[3] == ("FM", "min")
    assert found[0][0] == "accuracy"


def test_an_unknown_heading_beside_a_known_one_of_its_level_is_a_metric_under_data_sets(latex_table):
    rows = "& \\multicolumn{2}{c}{Alpha} \\\\ Method & Acc. & Foo \\\\ \\midrule\nER & 22.1 & 70.3 \\\\"
    result = latex_table(rows, 2, "Results.")
    assert [(claim.scope.task, claim.scope.metric) for claim in result.claims] == [
        ("Alpha", "accuracy"), ("Alpha", "Foo")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("heading", "caption"),
    [
        ("WERR", "WER (\\%) on test-other."), ("Rel. WER reduction", "WER (\\%)."),
        ("Saved", "WER (\\%). Saved is the relative WER reduction (\\%) over the Conformer."),
        ("RWR", "WER (\\%) and the relative reduction (RWR) over the Conformer."),
    ],
)  # fmt: skip
def test_a_heading_that_is_a_relative_change_by_name_or_definition_holds_differences(latex_table, heading, caption):
    rows = (
        f"Model & WER & {heading} \\\\ \\midrule\nConformer & 5.61 & -- \\\\ A & 5.38 & 4.1 \\\\ B & 5.22 & 7.0 \\\\ "
        "C & 4.74 & 15.5 \\\\"
    )
    result = latex_table(rows, 2, caption)
    assert [claim.delta.printed for claim in result.claims if claim.delta] == ["4.1", "7.0", "15.5"]
    assert all(claim.delta.relative for claim in result.claims if claim.delta)


def test_a_heading_that_the_caption_names_in_passing_is_a_result(latex_table):
    rows = "Model & WER & Saved \\\\ \\midrule\nA & 5.38 & 4.1 \\\\ B & 5.22 & 7.0 \\\\"
    result = latex_table(rows, 2, "WER (\\%) of saved models; relative reductions are in the text.")
    assert not any(claim.delta for claim in result.claims)


def test_a_metric_word_among_unknown_names_of_like_numbers_is_a_name(latex_table):
    rows = "Method & KL & KR & Spleen \\\\ \\midrule\nU-Net & 77.8 & 68.6 & 86.7 \\\\ Ours & 85.7 & 81.3 & 91.1 \\\\"
    result = latex_table(rows, 3, "Dice (\\%) of the left (KL) and right (KR) kidney.")
    assert {(claim.scope.task, claim.scope.metric) for claim in result.claims} == {
        ("KL", "Dice"), ("KR", "Dice"), ("Spleen", "Dice")
    }  # fmt: skip


@pytest.mark.parametrize(
    ("heading", "numbers"),
    [("KL", ("0.12", "0.31")), ("KL $\\downarrow$", ("77.8", "85.7")), ("Loss", ("61.1", "60.2"))],
)
def test_a_metric_word_of_other_numbers_or_with_an_arrow_is_a_metric(latex_table, heading, numbers):
    a, b = numbers
    rows = f"Method & {heading} & KR & Spleen \\\\ \\midrule\nA & {a} & 68.6 & 86.7 \\\\ B & {b} & 81.3 & 91.1 \\\\"
    result = latex_table(rows, 3, "Dice (\\%) of organs.")
    assert result.claims[0].scope.metric in ("KL", "loss")


def test_a_missing_part_of_a_pair_among_such_names_is_no_number(latex_table):
    rows = "Method & KL & KR & Spleen \\\\ \\midrule\nA & 77.8 & 68.6 / -- & 86.7 \\\\ B & 85.7 & -- / 81.3 & 91.1 \\\\"
    result = latex_table(rows, 3, "Dice (\\%) of organs.")
    assert {claim.printed for claim in result.claims if claim.printed} >= {"77.8", "85.7", "86.7", "91.1"}


def test_accuracies_and_errors_with_missing_parts_are_read(latex_table):
    rows = "Method & Accuracy & Error \\\\ \\midrule\nA & 77.8 / -- & 22.2 / -- \\\\ B & -- / 81.3 & -- / 18.7 \\\\"
    assert latex_table(rows, 2, "Clean / corrupted.")


def test_a_cost_whose_cells_say_percent_has_no_direction(latex_table):
    rows = "Method & Top-1 & FLOPs $\\downarrow$ \\\\ \\midrule\nA & 61.0 & 35.0\\% \\\\ Ours & 64.1 & 40.4\\% \\\\"
    assert columns(latex_table(rows, 2, "Pruning."))[1] == ("FLOPs ratio", "unknown")


def test_a_row_of_counts_has_no_share_of_the_caption(latex_table):
    rows = "Dataset & BPR & Ours \\\\ \\midrule\nBeauty & 0.05 & 0.06 \\\\ \\# users & 22363 & 22363 \\\\"
    assert [claim.scope.metric for claim in latex_table(rows, 2, "NDCG@10.").claims][2:] == ["# users"] * 2
