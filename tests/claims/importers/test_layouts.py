"""Which axis is what: the common layouts without any mapping, and how a mapping overrides."""

from __future__ import annotations

import pytest

from leaderboard.claims.importers import import_text
from leaderboard.claims.importers.mapping import Mapping


def scopes(result):
    return {claim.printed: (claim.scope.method, claim.scope.task, claim.scope.metric) for claim in result.claims}


def test_methods_in_rows_data_sets_in_columns(latex_table):
    result = latex_table("Method & CIFAR-10 & SVHN \\\\ \\midrule\nDefault & 91.1 & 92.2 \\\\ Mask & 93.3 & 94.4 \\\\")
    assert scopes(result)["91.1"] == ("Default", "CIFAR-10", "accuracy")
    assert scopes(result)["94.4"] == ("Mask", "SVHN", "accuracy")


def test_transposed_by_known_names(latex_table):
    result = latex_table(" & Default & Mask \\\\ \\midrule\nCIFAR-10 & 91.1 & 93.3 \\\\ SVHN & 92.2 & 94.4 \\\\")
    assert scopes(result)["93.3"] == ("Mask", "CIFAR-10", "accuracy")


def test_transposed_by_the_word_over_the_rows(latex_table):
    result = latex_table("Dataset & Foo & Bar \\\\ \\midrule\nA & 91.1 & 93.3 \\\\ B & 92.2 & 94.4 \\\\")
    assert scopes(result)["93.3"] == ("Bar", "A", "accuracy")


def test_transposed_by_the_word_over_the_columns(latex_table):
    rows = "& \\multicolumn{2}{c}{Method} \\\\ & Foo & Bar \\\\ \\midrule\nA & 91.1 & 93.3 \\\\ B & 92.2 & 94.4 \\\\"
    assert scopes(latex_table(rows))["93.3"] == ("Bar", "A", "accuracy")


def test_a_diagonal_corner_names_both_axes(latex_table):
    rows = "\\diagbox{Task}{Method} & Foo & Bar \\\\ \\midrule\nA & 91.1 & 93.3 \\\\"
    assert scopes(latex_table(rows))["93.3"] == ("Bar", "A", "accuracy")


def test_bold_tells_when_nothing_else_does(latex_table):
    by_row = latex_table(" & A & B \\\\ \\midrule\nX & 1.1 & \\textbf{1.2} \\\\ Y & 1.3 & \\textbf{1.4} \\\\")
    assert scopes(by_row)["1.2"][:2] == ("B", "X")
    by_column = latex_table(" & A & B \\\\ \\midrule\nX & 1.1 & 1.2 \\\\ Y & \\textbf{1.3} & \\textbf{1.4} \\\\")
    assert scopes(by_column)["1.2"][:2] == ("X", "B")


def test_without_any_sign_rows_are_methods_and_the_summary_says_that_this_is_assumed(latex_table):
    result = latex_table(" & A & B \\\\ \\midrule\nX & 1.1 & 1.2 \\\\ Y & 1.3 & 1.4 \\\\")
    assert scopes(result)["1.2"][:2] == ("X", "B")
    assert result.tables[0].assumed


def test_task_over_metric_in_two_header_rows(latex_table):
    rows = (
        "& \\multicolumn{2}{c}{CIFAR-10} & \\multicolumn{2}{c}{SVHN} \\\\ \\cmidrule(lr){2-3}\\cmidrule(lr){4-5}\n"
        "Method & Top-1 $\\uparrow$ & Loss $\\downarrow$ & Top-1 & Loss \\\\ \\midrule\n"
        "Mask & 91.1 & 0.32 & 92.2 & 0.31 \\\\"
    )
    result = latex_table(rows, caption="Results")
    assert scopes(result) == {
        "91.1": ("Mask", "CIFAR-10", "top-1"), "0.32": ("Mask", "CIFAR-10", "loss"),
        "92.2": ("Mask", "SVHN", "top-1"), "0.31": ("Mask", "SVHN", "loss"),
    }  # fmt: skip


def test_metric_over_task_in_two_header_rows(latex_table):
    rows = "& \\multicolumn{2}{c}{Accuracy (\\%)} \\\\ Method & CIFAR-10 & SVHN \\\\ \\midrule\nMask & 91.1 & 92.2 \\\\"
    result = latex_table(rows, caption="Results")
    assert scopes(result)["92.2"] == ("Mask", "SVHN", "accuracy")
    assert result.claims[0].unit == "percent"


def test_metrics_in_rows_under_merged_tasks(latex_table):
    rows = (
        "Task & Metric & Default & Mask \\\\ \\midrule\n"
        "\\multirow{2}{*}{A} & Loss & 0.5 & 0.4 \\\\ & Acc. (\\%) & 90.1 & 91.1 \\\\\n"
        "B & Loss & 0.3 & 0.2 \\\\"
    )
    result = latex_table(rows, caption="Results")
    assert scopes(result)["91.1"] == ("Mask", "A", "accuracy")
    assert scopes(result)["0.2"] == ("Mask", "B", "loss")


def test_multirow_that_hangs_upwards(latex_table):
    rows = "Task & Metric & Mask \\\\ \\midrule\n & Loss & 0.5 \\\\ \\multirow{-2}{*}{A} & Acc & 91.1 \\\\"
    assert scopes(latex_table(rows, caption="x"))["0.5"] == ("Mask", "A", "loss")


def test_group_headings_are_part_of_the_scope(read):
    claims = [claim for claim in read("styles.tex").claims if claim.where.table == "Table 4 (a)"]
    assert {(claim.scope.subset, claim.printed) for claim in claims if claim.scope.task == "CIFAR-10"} == {
        ("ViT-Ti", "90.0"), ("ViT-Ti", "91.0"), ("ViT-S", "92.0"), ("ViT-S", "93.0"),
    }  # fmt: skip


def test_a_data_set_as_group_heading_is_the_task(latex_table):
    heading = "\\multicolumn{2}{c}"
    rows = (
        f"Method & Top-1 \\\\ \\midrule\n{heading}{{CIFAR-10}} \\\\ Mask & 91.1 \\\\ "
        f"{heading}{{SVHN}} \\\\ Mask & 92.2 \\\\"
    )
    assert scopes(latex_table(rows, 1))["92.2"] == ("Mask", "SVHN", "top-1")


def test_a_second_header_inside_the_table_replaces_the_first(latex_table):
    rows = (
        "Method & CIFAR-10 & SVHN \\\\ \\midrule\nMask & 91.1 & 92.2 \\\\ \\midrule\n"
        "Method & STL-10 & Food-101 \\\\ \\midrule\nMask & 70.1 & 80.1 \\\\"
    )
    assert scopes(latex_table(rows))["80.1"] == ("Mask", "Food-101", "accuracy")


def test_epochs_become_the_budget_and_sizes_the_subset(latex_table):
    rows = (
        "Method & Epochs & Resolution & Top-1 \\\\ \\midrule\nMask & 300 & 224 & 91.1 \\\\ Mask & 100 & 160 & 90.1 \\\\"
    )
    claims = latex_table(rows, caption="x").claims
    assert [(claim.scope.budget, claim.scope.subset, claim.printed) for claim in claims] == [
        ("300 Epochs", "Resolution=224", "91.1"), ("100 Epochs", "Resolution=160", "90.1"),
    ]  # fmt: skip


def test_precision_and_recall_by_letter_only_beside_an_f_score(read, latex_table):
    metrics = {claim.scope.metric for claim in read("styles.tex").claims if claim.where.table == "Table 4 (b)"}
    assert {"precision", "recall", "F1"} <= metrics
    alone = latex_table("Method & P & R \\\\ \\midrule\nMask & 1.1 & 2.2 \\\\", caption="x")
    assert {claim.scope.metric for claim in alone.claims} == {None}


def test_an_average_column_is_named_as_one(latex_table):
    result = latex_table("Method & CIFAR-10 & SVHN & Avg. \\\\ \\midrule\nMask & 91.0 & 92.0 & 91.5 \\\\")
    assert scopes(result)["91.5"] == ("Mask", "Avg.", "accuracy")


def test_shares_below_one_are_fractions(latex_table):
    result = latex_table("Method & CIFAR-10 & SVHN \\\\ \\midrule\nMask & 0.91 & 0.92 \\\\", caption="Accuracy")
    assert {claim.unit for claim in result.claims} == {"fraction"}


def test_typography_is_unknown_in_a_table_without_any(latex_table):
    result = latex_table("Method & CIFAR-10 \\\\ \\midrule\nMask & 0.91 \\\\")
    assert result.claims[0].bold is None


@pytest.mark.parametrize(
    ("caption", "n"),
    [
        ("Mean over five seeds", 5), ("averaged across 3 random seeds", 3), ("mean of 10 independent runs", 10),
        ("a single run", 1),
        ("Accuracy (five seeds, mean $\\pm$ std)", 5),
        ("over 5 seeds, ablation over 3 seeds", None), ("ResNet-50 with 4 heads", None), ("over 0 runs", None),
    ],
)  # fmt: skip
def test_number_of_runs_from_the_caption(latex_table, caption, n):
    result = latex_table("Method & CIFAR-10 \\\\ \\midrule\nMask & 0.91 \\\\", 1, caption)
    assert result.claims[0].n == n


@pytest.mark.parametrize(
    ("caption", "kind"),
    [
        ("mean $\\pm$ std", "sd"), ("± standard error of the mean", "se"), ("with 95\\% confidence intervals", "ci95"),
        ("mean ± 1", "unknown"),
        ("standard deviation or standard error", "unknown"),
    ],
)  # fmt: skip
def test_kind_of_spread_from_the_caption(latex_table, caption, kind):
    result = latex_table("Method & CIFAR-10 \\\\ \\midrule\nMask & 0.91 ± 0.01 \\\\", 1, caption)
    assert result.claims[0].spread.kind == kind


TWO_UNKNOWN = "\\begin{table}\\caption{Results.}\\label{tab:x}\\begin{tabular}{lcc} & A & B \\\\ \\midrule\n" \
    "X & 1.5 (0.3) & 9.2 / 0.4 \\\\ " \
    "Y & 1.6 (0.2) & 8.8 / 0.3 \\\\\\end{tabular}\\end{table}"  # fmt: skip


def test_without_a_mapping_what_is_unclear_is_listed():
    result = import_text(TWO_UNKNOWN, "latex")
    assert [claim.printed for claim in result.claims] == ["1.5", "1.6"]
    assert len(result.unread) == 4
    assert [item.text for item in result.unread] == ["0.3", "9.2 / 0.4", "0.2", "8.8 / 0.3"]
    assert all(item.line == 2 and item.column > 1 and item.reason for item in result.unread)


def test_a_mapping_says_what_headers_and_brackets_mean():
    mapping = Mapping.model_validate({"tables": [{
        "match": "tab:x", "name": "Table 9", "rows": "task", "columns": "method", "metric": ["accuracy", "loss"],
        "brackets": "spread",
        "spread": "se", "n": 4, "items": 500, "labels": {"A": {"method": "Alpha", "metric": "WER"}},
        "directions": {"WER": "min"},
        "rounding": "truncated",
    }]})  # fmt: skip
    claims = import_text(TWO_UNKNOWN, "latex", mapping=mapping).claims
    assert [(c.printed, c.scope.task, c.scope.method, c.scope.metric) for c in claims] == [
        ("1.5", "X", "Alpha", "WER"), ("9.2", "X", "B", "accuracy"), ("0.4", "X", "B", "loss"),
        ("1.6", "Y", "Alpha", "WER"), ("8.8", "Y", "B", "accuracy"), ("0.3", "Y", "B", "loss"),
    ]  # fmt: skip
    first = claims[0]
    assert (first.spread.printed, first.spread.kind, first.n, first.items, first.direction, first.rounding,
        first.where.table) == (
        "0.3", "se", 4, 500, "min", "truncated", "Table 9",
    )  # fmt: skip


def test_a_mapping_can_leave_rows_and_columns_out_and_give_roles():
    source = "|m|A|B|All|\n|-|-|-|-|\n|X|1.0|2.0|1.5|\n|Y|3.0|4.0|3.5|\n"
    mapping = Mapping.model_validate({"tables": [{
        "match": 1, "rows": "method", "columns": "task", "skip_rows": ["Y"], "skip_columns": ["B"],
        "roles": {"All": "average", "A": "part"},
    }]})  # fmt: skip
    claims = import_text(source, "markdown", mapping=mapping).claims
    assert [(claim.printed, claim.role, claim.group) for claim in claims] == [
        ("1.0", "part", "Table 1/X"),
        ("1.5", "average", "Table 1/X"),
    ]


def test_a_decimal_comma_is_read_only_when_the_mapping_says_so():
    source = "method;acc\nX;85,90\n"
    assert import_text(source, "csv").claims == ()
    mapping = Mapping.model_validate({"tables": [{"decimal_comma": True}]})
    assert [claim.printed for claim in import_text(source, "csv", mapping=mapping).claims] == ["85.90"]


def test_undefined_macros_are_noted_and_a_mapping_can_say_what_they_do():
    source = "\\begin{tabular}{lc} Method & CIFAR-10 \\\\ \\midrule X & \\best{91.1} \\\\ Y & 90.0 \\\\ \\end{tabular}"
    plain = import_text(source, "latex")
    assert plain.claims[0].printed == "91.1"
    assert any("\\best" in note for note in plain.tables[0].notes)
    told = import_text(source, "latex", mapping=Mapping.model_validate({"macros": {"best": "bold"}}))
    assert told.claims[0].bold is True


def test_check_marks_of_an_ablation_name_the_method(latex_table):
    on = "\\checkmark"
    rows = (
        f"Mask & QK & Pos. & Top-1 \\\\ \\midrule\n & & & 72.7 \\\\ "
        f"{on} & {on} & -- & 73.0 \\\\ {on} & & {on} & 73.9 \\\\"
    )
    result = latex_table(rows, caption="x")
    assert [(claim.scope.method, claim.scope.subset, claim.printed) for claim in result.claims] == [
        ("none", None, "72.7"), ("Mask + QK", None, "73.0"), ("Mask + Pos.", None, "73.9"),
    ]  # fmt: skip


def test_a_quantity_in_the_corner_heads_numeric_columns(latex_table):
    result = latex_table(
        "Layers & 2 & 4 \\\\ \\midrule\nDefault & 40.1 & 35.2 \\\\ Mask & 39.5 & 34.8 \\\\", caption="x"
    )
    assert [(claim.scope.method, claim.scope.subset, claim.printed) for claim in result.claims] == [
        ("Default", "Layers=2", "40.1"), ("Default", "Layers=4", "35.2"), ("Mask", "Layers=2", "39.5"), ("Mask",
        "Layers=4", "34.8"),
    ]  # fmt: skip


def test_a_quantity_over_numeric_rows_describes_them(latex_table):
    result = latex_table(
        "Learning rate & Default & Mask \\\\ \\midrule\n$10^{-3}$ & 90.1 & 91.0 \\\\ 3e-4 & 90.5 & 91.2 \\\\"
    )
    assert [(claim.scope.method, claim.scope.subset) for claim in result.claims] == [
        ("Default", "Learning rate=10^-3"), ("Mask", "Learning rate=10^-3"),
        ("Default", "Learning rate=3e-4"), ("Mask", "Learning rate=3e-4"),
    ]  # fmt: skip


def test_a_header_with_as_many_parts_as_numbers_names_them_but_a_slash_in_a_name_does_not(latex_table):
    named = latex_table("Model & MNLI-m/mm \\\\ \\midrule\nBERT & 84.6/83.4 \\\\", 1, "GLUE")
    assert [(claim.printed, claim.scope.task, claim.scope.subset) for claim in named.claims] == [
        ("84.6", "MNLI-m/mm", "MNLI-m"), ("83.4", "MNLI-m/mm", "mm"),
    ]  # fmt: skip
    for header in ("w/o mask", "CIFAR-10/100"):
        result = latex_table(f"Model & {header} \\\\ \\midrule\nBERT & 84.6/83.4 \\\\", 1, "Results")
        assert result.claims == ()
        assert len(result.unread) == 1


def test_data_sets_called_like_a_description_are_read_when_their_cells_hold_decimals(latex_table):
    rows = "Method & A & D & Code & Weights \\\\ \\midrule\nMask & 80.1 & 81.2 & 82.4 & 83.3 \\\\"
    result = latex_table(rows, 4)
    assert [claim.scope.task for claim in result.claims] == ["A", "D", "Code", "Weights"]
    assert {claim.scope.subset for claim in result.claims} == {None}


def test_a_column_that_is_not_claimed_is_noted(latex_table):
    result = latex_table("Method & D & Year & Top-1 \\\\ \\midrule\nMask & 12 & 2019 & 82.4 \\\\", 3)
    assert [claim.scope.subset for claim in result.claims] == ["D=12"]
    assert result.tables[0].notes == (
        "column 'D' was taken to describe its row",
        "column 'Year' says nothing about the numbers and was left out",
    )


def test_decimals_of_a_setting_still_describe_the_row(latex_table):
    result = latex_table("Method & Dropout & Top-1 \\\\ \\midrule\nMask & 0.1 & 82.4 \\\\", 2)
    assert [(claim.printed, claim.scope.subset) for claim in result.claims] == [("82.4", "Dropout=0.1")]


def test_a_corner_word_over_known_data_sets_heads_the_columns(latex_table):
    rows = (
        "Method & Ours & BaseA \\\\ \\midrule\nCIFAR10 & 95.1 & 94.2 \\\\ SVHN & 97.1 & 97.2 \\\\ "
        "Mean & 96.1 & 95.7 \\\\"
    )
    result = latex_table(rows)
    assert scopes(result)["94.2"] == ("BaseA", "CIFAR10", "accuracy")
    assert result.tables[0].assumed


def test_a_corner_word_for_tasks_over_a_row_called_ours_heads_the_columns(latex_table):
    result = latex_table("Domain & A & D \\\\ \\midrule\nOurs & 80.1 & 81.2 \\\\ Base & 80.5 & 81.0 \\\\")
    assert scopes(result)["81.2"] == ("Ours", "D", "accuracy")


def test_methods_trained_on_data_sets_stay_methods(latex_table):
    rows = "Method & Top-1 \\\\ \\midrule\nImageNet init & 80.1 \\\\ CIFAR init & 81.0 \\\\"
    assert scopes(latex_table(rows, 1, "x"))["80.1"][0] == "ImageNet init"


def test_error_beside_accuracy_is_the_error_rate_where_most_rows_add_up(latex_table):
    rows = "Method & Accuracy & Error \\\\ \\midrule\nA & 91.20 & 8.80 \\\\ B & 93.51 & 6.94 \\\\"
    claims = latex_table(rows, 2, "Results.").claims
    assert [(claim.scope.metric, claim.unit) for claim in claims[:2]] == [
        ("accuracy", "percent"), ("error rate", "percent"),
    ]  # fmt: skip


def test_error_beside_accuracy_stays_an_error_where_the_rows_do_not_add_up(latex_table):
    rows = "Method & Accuracy & Error \\\\ \\midrule\nA & 91.20 & 1.80 \\\\ B & 93.51 & 1.94 \\\\"
    assert {claim.scope.metric for claim in latex_table(rows, 2, "Results.").claims} == {"accuracy", "error"}


def test_a_column_named_by_a_metric_is_no_label_though_its_numbers_have_decimal_commas():
    result = import_text("model;top1;top5\na;81,20;95,10\nb;82,05;1.234,5\n", "csv")
    assert result.claims == ()
    assert [item.text for item in result.unread] == ["81,20", "95,10", "82,05", "1.234,5"]
    assert all("decimal_comma: true" in item.reason for item in result.unread)


@pytest.mark.parametrize("count", ["\\#Nodes", "\\# classes", "Number of nodes", "\\#Params (M)"])
def test_a_header_row_of_counts_is_no_part_of_the_columns_names(latex_table, count):
    rows = (
        f"& Texas & Actor \\\\ {count} & 183 & 7,600 \\\\ \\midrule\nMLP & 80.81 & 36.53 \\\\ Ours & 84.59 & 37.18 \\\\"
    )
    result = latex_table(rows, 2)
    assert [claim.scope.task for claim in result.claims] == ["Texas", "Actor"] * 2
    assert any("describe the columns" in note for note in result.tables[0].notes)


def test_a_header_row_of_settings_stays_part_of_the_columns_names(latex_table):
    rows = "& A & A \\\\ Shots & 1 & 5 \\\\ \\midrule\nMLP & 80.81 & 36.53 \\\\ Ours & 84.59 & 37.18 \\\\"
    assert len({claim.scope.task for claim in latex_table(rows, 2).claims}) == 2
