"""Headings that are metrics, components, spreads, counts or ranks."""

from __future__ import annotations

import pytest

from leaderboard.claims.cells import parse_cell
from leaderboard.claims.importers import import_text
from leaderboard.claims.importers.mapping import Mapping


def metrics(result):
    return [(claim.scope.task, claim.scope.metric) for claim in result.claims]


def test_unknown_headings_with_arrows_are_metrics_of_their_own(latex_table):
    rows = "Method & Foo $\\uparrow$ & Bar $\\downarrow$ & Baz \\\\ \\midrule\nMask & 1.1 & 2.2 & 3.3 \\\\"
    result = latex_table(rows, 3, "Results.")
    assert metrics(result) == [(None, "Foo"), (None, "Bar"), (None, "Baz")]
    assert [claim.direction for claim in result.claims] == ["max", "min", "unknown"]


def test_an_unknown_heading_beside_known_metrics_is_a_metric(latex_table):
    rows = "Method & PSNR & Foo \\\\ \\midrule\nMask & 1.1 & 2.2 \\\\"
    assert metrics(latex_table(rows, 2, "Results.")) == [(None, "PSNR"), (None, "Foo")]


def test_unknown_headings_under_one_metric_of_the_caption_are_tasks(latex_table):
    rows = "Method & Art $\\uparrow$ & Clipart $\\uparrow$ & Params \\\\ \\midrule\nMask & 1.1 & 2.2 & 3.3 \\\\"
    assert metrics(latex_table(rows, 3))[:2] == [("Art", "accuracy"), ("Clipart", "accuracy")]


def test_unknown_metrics_under_data_sets_keep_the_data_set(latex_table):
    rows = (
        "& \\multicolumn{2}{c}{CIFAR-10} \\\\ Method & Foo $\\uparrow$ & Bar $\\downarrow$ \\\\ \\midrule\n"
        "Mask & 1.1 & 2.2 \\\\"
    )
    assert metrics(latex_table(rows, 2, "Results.")) == [("CIFAR-10", "Foo"), ("CIFAR-10", "Bar")]


def test_a_mean_rank_is_a_metric_of_its_own_and_lower_is_better(latex_table):
    result = latex_table("Method & A & Avg. rank \\\\ \\midrule\nMask & 60.4 & 1.5 \\\\", 2)
    assert metrics(result)[1] == (None, "Avg. rank")
    assert result.claims[1].direction == "min"


@pytest.mark.parametrize("label", ["+ mask loss", "w/o KL loss", "$-$ recon. loss", "without accuracy head", "DER"])
def test_a_component_or_a_method_called_like_a_metric_is_a_method(latex_table, label):
    rows = f"Method & ADE20K \\\\ \\midrule\nBase & 44.5 \\\\ Other & 45.0 \\\\ {label} & 46.1 \\\\"
    claim = latex_table(rows, 1).claims[-1]
    assert claim.scope.metric == "accuracy"
    assert claim.scope.method is not None


def test_metrics_in_rows_stay_metrics(latex_table):
    result = latex_table(" & Default & Mask \\\\ \\midrule\nAccuracy & 1.1 & 2.2 \\\\ FID & 3.3 & 4.4 \\\\", 2, "x")
    assert [claim.scope.metric for claim in result.claims] == ["accuracy", "accuracy", "FID", "FID"]


def test_check_marks_under_a_metric_word_switch_a_component(latex_table):
    rows = (
        "Mask loss & Queries & Method & ADE20K \\\\ \\midrule\n"
        "\\xmark & \\xmark & A & 44.5 \\\\ \\checkmark & \\xmark & B & 46.1 \\\\"
    )
    result = latex_table(rows, 3, "Ablation, mIoU (\\%).")
    assert [(claim.scope.metric, claim.scope.method) for claim in result.claims] == [("IoU", "A"), ("IoU", "B")]
    assert "Mask loss=✓" in result.claims[1].scope.subset


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("acc,acc_std", "sd"), ("acc,std", "sd"), ("acc,± std", "sd"), ("acc,Std. dev.", "sd"), ("acc,SE", "se"),
        ("acc,stderr_acc", "se"), ("acc,95% CI", "ci95"), ("acc,CI", "unknown"), ("acc,std of accuracy", "sd"),
    ],
)  # fmt: skip
def test_a_column_of_spreads_goes_to_its_numbers(header, kind):
    result = import_text(f"method,{header},n_seeds\nA,90.0,0.5,5\nB,91.0,0.4,5\n", "csv")
    assert [(c.printed, c.spread.printed, c.spread.kind, c.n) for c in result.claims] == [
        ("90.0", "0.5", kind, 5), ("91.0", "0.4", kind, 5),
    ]  # fmt: skip
    assert result.unread == ()


def test_a_named_spread_goes_to_the_column_it_names():
    result = import_text("method,acc,f1,acc_std\nA,90.0,80.0,0.5\n", "csv")
    assert [claim.spread and claim.spread.printed for claim in result.claims] == ["0.5", None]


def test_a_spread_without_its_numbers_is_listed():
    result = import_text("method,f1,acc_std,ci_low\nA,80.0,0.5,0.1\n", "csv")
    assert [claim.printed for claim in result.claims] == ["80.0"]
    assert [item.text for item in result.unread] == ["0.5", "0.1"]


def test_a_heading_that_says_mean_and_spread_heads_numbers_with_their_spread():
    result = import_text("|Method|Acc. ± std|\n|-|-|\n|A|90.0 ± 0.5|\n", "markdown")
    assert [(claim.printed, claim.spread.printed) for claim in result.claims] == [("90.0", "0.5")]


@pytest.mark.parametrize(
    ("source", "spread"),
    [("0.905(2)", "0.002"), ("\\num{0.917(3)}", "0.003"), ("0.905(12)", "0.012"), ("84.3(12)", "1.2")],
)
def test_bare_digits_right_behind_decimals_are_the_last_digits_of_a_spread(cell, source, spread):
    assert cell(source).spread.printed == spread


@pytest.mark.parametrize("source", ["84.3(1.2)", "84.3 (2)", "84(2)"])
def test_other_numbers_in_brackets_are_not_guessed(cell, source):
    assert cell(source).spread is None


def test_a_decimal_in_brackets_is_a_spread_where_the_caption_says_so(cell):
    assert cell("84.3(1.2)", "Accuracy (\\%), standard deviation in parentheses").spread.printed == "1.2"


def test_a_rank_in_brackets_is_no_spread(cell):
    assert cell("0.905(2)", "Accuracy, rank in parentheses").spread is None


@pytest.mark.parametrize("source", ["1.50$\\times$", "1.50x", "$\\times$1.50"])
def test_a_factor_is_a_number(cell, source):
    claim = cell(source)
    assert (claim.printed, claim.scope.metric) == ("1.50", "accuracy (×)")


def test_marks_around_the_number_alone_leave_its_difference():
    found = parse_cell("**85.82 ± 0.15** (+2.34)")
    assert (found.printed, found.spread, found.delta, found.bold) == ("85.82", "0.15", "+2.34", True)


@pytest.mark.parametrize(
    ("heading", "metric", "part"),
    [
        ("AP$^b_{75}$", "AP75", "box"), ("AP$^{mask}_{50}$", "AP50", "mask"), ("AP$_{50}^{box}$", "AP50", "box"),
        ("AP$^m$", "AP", "m"), ("mAP@0.5:0.95", "AP", None), ("mAP$_{50:95}$", "AP", None), ("mAP50-95", "AP", None),
        ("mAP@.5", "AP50", None), ("AP$_S$", "AP", "s"), ("mAP@10", "mAP@10", None),
    ],
)  # fmt: skip
def test_average_precisions_by_threshold_and_part(latex_table, heading, metric, part):
    claim = latex_table(f"Method & {heading} \\\\ \\midrule\nA & 41.0 \\\\", 1, "Results").claims[0]
    assert (claim.scope.metric, claim.scope.subset) == (metric, part)


def test_test_error_beside_test_accuracy_is_the_error_rate(latex_table):
    rows = "Net & Test accuracy & Test error \\\\ \\midrule\nA & 95.37 & 4.63 \\\\ B & 96.11 & 3.98 \\\\"
    claims = latex_table(rows, 2, "CIFAR-10").claims
    assert [(claim.scope.metric, claim.scope.split) for claim in claims[:2]] == [
        ("accuracy", "test"), ("error rate", "test"),
    ]  # fmt: skip


def test_an_average_under_two_header_lines_has_the_metric_of_its_parts(latex_table):
    rows = " & RTE & SST-2 & Avg. \\\\ & Acc & Acc & \\\\ \\midrule\nA & 60.0 & 90.0 & 75.0 \\\\"
    assert metrics(latex_table(rows, 3, "Results."))[2] == ("Avg.", "accuracy")


def test_roles_of_rows_group_the_numbers_of_a_column():
    source = "|m|A|B|\n|-|-|-|\n|Art|1.0|2.0|\n|Average|1.5|2.5|\n"
    mapping = Mapping.model_validate({"tables": [{"rows": "task", "roles": {"Average": "average", "Art": "part"}}]})
    assert [(claim.role, claim.group) for claim in import_text(source, "markdown", mapping=mapping).claims] == [
        ("part", "Table 1/A"), ("part", "Table 1/B"), ("average", "Table 1/A"), ("average", "Table 1/B"),
    ]  # fmt: skip


def test_one_letter_among_others_is_a_domain_and_not_a_setting(latex_table):
    result = latex_table("Method & A & D & W \\\\ \\midrule\nMask & 80 & 81 & 82 \\\\", 3)
    assert [claim.scope.task for claim in result.claims] == ["A", "D", "W"]


@pytest.mark.parametrize("name", ["Pose", "Ours", "Baseline"])
def test_a_heading_with_a_unit_of_time_per_piece_of_work_is_a_cost(name):
    source = f"The mAP is the metric.\n\n| Model | {name} (s/iter) | {name} (mAP) |\n|-|-|-|\n| a | 1.23 | 0.767 |\n"
    metrics = [claim.scope.metric for claim in import_text(source, "markdown").claims]
    assert metrics[0] != metrics[1]
    assert "s/iter" in metrics[0]
