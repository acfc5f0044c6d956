"""Printed differences and bold cells as authors type them: what is wrong is told, its sound twin is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaderboard.checks.finding import Severity
from leaderboard.checks.runner import Report, check_claims
from leaderboard.claims import load


def report_of(tmp_path: Path, caption: str, *rows: str) -> Report:
    body = " \\\\\n".join(row.replace("<", "\\textbf{").replace(">", "}") for row in rows)
    opening = f"\\begin{{table}}\\caption{{{caption}}}\n\\begin{{tabular}}{{l{'c' * rows[0].count('&')}}}"
    path = tmp_path / "paper.tex"
    path.write_text(f"{opening}\n{body} \\\\\n\\end{{tabular}}\\end{{table}}\n", encoding="utf-8")
    return check_claims([load(path)])


def told(report: Report) -> set[tuple[str, str]]:
    return {(f.check, str(f.severity)) for f in report.findings if f.severity is not Severity.INFO}


BACKBONES = [
    "Backbones. $\\Delta$: gain over the same backbone without TokenMix.",
    "Backbone & Baseline & TokenMix & $\\Delta$", "A & 72.2 & 73.2 & +1.0", "B & 79.8 & 80.9 & +1.1",
    "C & 75.1 & 75.6 & +0.5", "D & 81.3 & 83.0 & {}", "E & 83.0 & 83.5 & +0.5",
]  # fmt: skip
VOTES = [
    "Human evaluation (\\%).", "Ours vs. & Win & Tie & Lose & $\\Delta$", "A & 61.2 & 22.5 & 16.3 & +44.9",
    "B & 44.8 & 31.0 & 24.2 & +20.6", "C & 47.5 & 27.3 & 25.2 & {}", "D & 52.0 & 26.4 & 21.6 & +30.4",
    "E & 50.0 & 26.4 & 23.6 & +26.4",
]  # fmt: skip
PRUNED = [
    "Pruning.", "Method & Baseline (\\%) & Pruned (\\%) & Drop", "A & 72.88 & 72.04 & $-0.84$",
    "B & 76.15 & 75.59 & $-0.56$", "C & 76.15 & 74.98 & {}", "D & 76.15 & 76.15 & $0.00$", "E & 76.15 & 76.42 & +0.27",
]  # fmt: skip
HEADED = [
    "Pruning ResNet-50 on ImageNet.", "Method & Base Top-1 (\\%) & Pruned Top-1 (\\%) & $\\Delta$ Top-1",
    *PRUNED[2:],
]  # fmt: skip
DROPS = [
    "Pruning.", "Method & Original Acc. (\\%) & Pruned Acc. (\\%) & Acc. drop", "A & 72.88 & 72.04 & 0.84",
    "B & 76.15 & 75.59 & 0.56", "C & 76.15 & 74.98 & {}", "D & 76.15 & 76.15 & 0.00", "E & 76.15 & <76.42> & $-0.27$",
]  # fmt: skip
RULED = [
    "Relative improvements over the best baseline are in parentheses.", "Model & Recall@20 & NDCG@20",
    "NGCF & 0.0634 & 0.0513", "LightGCN & \\underline{{0.0702}} & \\underline{{0.0574}}",
    "Ours & <0.0761> (+{}\\%) & <0.0619> (+7.8\\%)",
]  # fmt: skip
DIFFERENCES = {
    "between two columns of no metric": (BACKBONES, "+1.3", "+1.7", ("DELTA", "error")),
    "wins less losses": (VOTES, "+23.2", "+22.3", ("DELTA", "warning")),
    "pruned less base": (PRUNED, "$-1.71$", "$-1.17$", ("DELTA", "warning")),
    "pruned less base of a metric in the headings": (HEADED, "$-1.71$", "$-1.17$", ("DELTA", "warning")),
    "drops of accuracy": (DROPS, "1.71", "1.17", ("DELTA", "warning")),
    "two, with the rule in the caption and the baseline underlined": (RULED, "7.8", "8.4", ("REL", "error")),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_wrong_difference_is_told_and_its_twin_is_not(tmp_path: Path, name: str) -> None:
    rows, fault, sound, expected = DIFFERENCES[name]
    assert told(report_of(tmp_path, *(row.format(fault) for row in rows))) == {expected}
    assert told(report_of(tmp_path, *(row.format(sound) for row in rows))) == set()


def test_differences_that_could_not_be_checked_are_one_line_with_the_reason(tmp_path: Path) -> None:
    report = report_of(tmp_path, "Accuracy (\\%).", "Model & A", "X & 60.0", "Y & 62.0", "Z & <66.2> (+9.9)")
    assert [note for note in report.notes if "could not be checked" in note] == [
        "1 printed difference could not be checked: "
        "the baseline is not named, and no reading is borne out by the other differences"
    ]
    sound = report_of(tmp_path, "Accuracy (\\%).", "Model & A", "X & 60.0", "Z & <66.2> (+6.2)")
    assert sound.notes == []


REFERENCES = [
    "FP16", "FP32", "BF16 baseline", "LLaMA-7B (FP16)", "Full precision", "Full-precision", "Dense", "Dense model",
    "Unpruned", "Uncompressed", "Full cache", "Full KV cache", "FullKV", "Recording",
    "Original", "No quantization", "w/o pruning", "Full FT",
    "Vanilla full fine-tuning (upper bound)", "W16A16", "16-bit", "Unquantized",
]  # fmt: skip


@pytest.mark.parametrize("name", REFERENCES)
def test_uncompressed_row_need_not_be_bold(tmp_path: Path, name: str) -> None:
    rows = [
        "PPL of models.",
        "Method & PPL $\\downarrow$",
        f"{name} & 5.47",
        "RTN & 6.11",
        "GPTQ & {}",
        "Ours & <5.59>",
    ]
    assert told(report_of(tmp_path, *(row.format("5.83") for row in rows))) == set()
    assert {check for check, _ in told(report_of(tmp_path, *(row.format("5.53") for row in rows)))} == {"BOLD"}


BEATEN = ["Results.", "Method & A $\\uparrow$ & B $\\uparrow$ & C $\\uparrow$", "X & {}", "Y & 60.1 & 61.1 & 62.1",
          "Z & 58.2 & <63.0> & 50.1", "Ours & <64.1> & 62.0 & <66.2>"]  # fmt: skip


def test_row_best_nearly_everywhere_and_bold_nowhere_is_one_note(tmp_path: Path) -> None:
    report = report_of(tmp_path, *(row.format("70.1 & 71.1 & 72.1") for row in BEATEN))
    assert told(report) == set()
    found = [finding for finding in report.findings if finding.check == "BOLD"]
    assert [finding.message for finding in found] == ["X is better than the bold number in 3 columns and bold in none"]


def test_row_best_in_one_column_competes(tmp_path: Path) -> None:
    rows = [*BEATEN[:2], BEATEN[3], BEATEN[2].format("70.1 & 51.1 & 52.1"), *BEATEN[4:]]
    assert told(report_of(tmp_path, *rows)) == {("BOLD", "error")}


def test_first_row_that_is_bold_nowhere_is_no_error(tmp_path: Path) -> None:
    assert told(report_of(tmp_path, *(row.format("70.1 & 51.1 & 52.1") for row in BEATEN))) == {("BOLD", "warning")}


def test_direction_from_the_caption_makes_no_error_and_is_not_said_to_be_the_columns(tmp_path: Path) -> None:
    rows = ["Top-1 accuracy, higher is better.", "Method & CUB & Dogs", "A & 80.1 & 81.0", "B & 92.1 & 82.0",
            "Ours & <89.6> & 81.5", "D & 88.0 & <82.4>"]  # fmt: skip
    report = report_of(tmp_path, *rows)
    assert told(report) == {("BOLD", "warning")}
    (finding,) = (finding for finding in report.findings if finding.check == "BOLD")
    assert not any("the source says" in explanation.arithmetic for explanation in finding.explanations)


def test_cost_that_falls_in_percent_is_not_ranked(tmp_path: Path) -> None:
    rows = ["Pruning.", "Method & Top-1 (\\%) $\\uparrow$ & FLOPs $\\downarrow$ (\\%)", "A & 72.0 & 36.8"]
    assert told(report_of(tmp_path, *rows, "B & 73.0 & 42.2", "Ours & <74.0> & <51.3>")) == set()


SPREADS = ["over 10 splits", "over 10 random train/val/test splits", "over 600 episodes", "over 10,000 test tasks",
           "over 10-fold cross-validation", "over 5 folds", "over five random initializations",
           "over 10 runs of 10-fold cross-validation", "by bootstrap with 1000 resamples", "(bootstrap)"]  # fmt: skip


@pytest.mark.parametrize("words", SPREADS)
def test_caption_that_says_what_a_spread_is_taken_over_needs_no_n(tmp_path: Path, words: str) -> None:
    caption = f"Accuracy (\\%), mean $\\pm$ standard deviation {words}."
    assert told(report_of(tmp_path, caption, "Method & A", "X & 55.1 $\\pm$ 1.1", "Y & <84.5 $\\pm$ 1.9>")) == set()


@pytest.mark.parametrize("words", ["on 10 tasks", "on the standard split", "over several runs", "on Split CIFAR-100"])
def test_caption_that_does_not_say_how_many_runs_is_told(tmp_path: Path, words: str) -> None:
    caption = f"Accuracy (\\%), mean $\\pm$ standard deviation {words}."
    report = report_of(tmp_path, caption, "Method & A", "X & 55.1 $\\pm$ 1.1", "Y & <84.5 $\\pm$ 1.9>")
    assert told(report) == {("MISS-SD", "warning")}


def test_gaps_within_noise_of_one_table_are_one_finding(tmp_path: Path) -> None:
    caption = "Accuracy (\\%), mean $\\pm$ standard deviation over 5 seeds."
    rows = ["Method & A & B", "X & 80.1 $\\pm$ 2.1 & 70.1 $\\pm$ 2.2", "Y & <80.9 $\\pm$ 2.3> & <{} $\\pm$ 2.4>"]
    both, one = (report_of(tmp_path, caption, *(row.format(value) for row in rows)) for value in ("70.9", "90.9"))
    (finding,) = (finding for finding in both.findings if finding.check == "NOISE")
    assert finding.message.startswith("2 gaps of Table 1 are within noise: ")
    assert finding.count == 2
    assert [finding.count for finding in one.findings if finding.check == "NOISE"] == [1]


def test_slip_in_the_greater_number_is_proposed_near_to_its_column(tmp_path: Path) -> None:
    rows = ["ImageNet.", "Model & Top-1 (\\%) & Top-5 (\\%)", "A & 69.8 & 89.1", "B & 72.2 & 71.1", "C & 75.1 & 92.4"]
    (finding,) = (f for f in report_of(tmp_path, *rows).findings if f.check == "ORDER")
    assert any(e.title == "a slip in the top-5" and "71.1 for 91.1" in e.arithmetic for e in finding.explanations)


def test_dice_below_iou_is_told_once(tmp_path: Path) -> None:
    rows = ["Polyps.", "Model & IoU (\\%) & Dice (\\%)", "A & 70.1 & 80.0", "B & 82.1 & 79.4"]
    assert [f.check for f in report_of(tmp_path, *rows).findings].count("ORDER") == 1


SHIFTED = [
    "Accuracy (\\%). ``OOD avg.'' is the mean over the three shifted sets, ``All avg.'' over all four.",
    "Method & IN & IN-V2 & IN-R & IN-A & OOD avg. & All avg.", "Zero-shot & 66.7 & 60.8 & 74.0 & 47.8 & 60.9 & 62.3",
    "CoOp & 71.5 & 64.2 & 75.2 & 49.7 & {} & 65.2", "Ours & <72.3> & <65.4> & <77.1> & <50.9> & <64.5> & <66.4>",
]  # fmt: skip


def test_average_of_some_columns_is_found_by_the_other_rows_and_the_caption(tmp_path: Path) -> None:
    assert told(report_of(tmp_path, *(row.format("63.6") for row in SHIFTED))) == {("AVG", "warning")}
    assert told(report_of(tmp_path, *(row.format("63.0") for row in SHIFTED))) == set()


def test_average_over_sets_that_are_not_printed_is_left_alone(tmp_path: Path) -> None:
    rows = ["Accuracy (\\%).", *SHIFTED[1:3], "CoOp & 71.5 & 64.2 & 75.2 & 49.7 & 59.6 & 65.2"]
    assert told(report_of(tmp_path, *rows, "Ours & 72.3 & 65.4 & 77.1 & 50.9 & 61.5 & 66.4")) == set()
