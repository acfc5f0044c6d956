"""Tables as authors type them, read from LaTeX: the planted fault is told, its sound twin is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaderboard.checks.finding import Finding, Severity
from leaderboard.checks.runner import Report, check_claims
from leaderboard.claims import load

Told = set[tuple[str, str]]


def table(caption: str, *rows: str) -> str:
    body = " \\\\\n".join(row.replace("<", "\\textbf{").replace(">", "}") for row in rows)
    opening = f"\\begin{{table}}\\caption{{{caption}}}\n\\begin{{tabular}}{{l{'c' * rows[0].count('&')}}}"
    return f"{opening}\n{body} \\\\\n\\end{{tabular}}\\end{{table}}\n"


def checked(tmp_path: Path, *tables: str) -> Report:
    path = tmp_path / "paper.tex"
    path.write_text("\n".join(tables), encoding="utf-8")
    return check_claims([load(path)])


def told(report: Report) -> Told:
    return {(f.check, str(f.severity)) for f in report.findings if f.severity is not Severity.INFO}


ROWS = {
    "an average row": (
        ["Accuracy (\\%)", " & ERM & Ours", "Art & 66.1 & 71.2", "Clipart & 77.0 & 80.3", "Average & 71.6 & {}"],
        "95.8", "75.8", {("AVG-RANGE", "warning")},
    ),
    "an average row that the other columns bear out": (
        [
            "Accuracy (\\%)", " & ERM & Mid & New & Ours", "Art & 66.1 & 69.9 & 70.3 & 71.2",
            "Clipart & 77.0 & 79.1 & 70.8 & 80.3", "Average & 71.6 & 74.5 & 70.6 & {}",
        ],
        "78.8", "75.8", {("AVG", "error")},
    ),
    "an average row within its range": (
        ["Accuracy (\\%)", " & ERM & Ours", "Art & 66.1 & 71.2", "Clipart & 77.0 & 80.3", "Average & 71.6 & {}"],
        "78.8", "75.8", {("AVG", "warning")},
    ),
    "an average over unlike metrics": (
        ["Results.", "Method & CoLA (Mcc) & SST-2 (Acc) & Avg.", "A & 60.0 & 90.0 & 75.0", "B & 62.0 & 92.0 & {}"],
        "99.0", "77.0", {("AVG-RANGE", "warning")},
    ),
    "an average without a metric below a line of metrics": (
        ["Results.", " & RTE & SST-2 & Avg.", " & Acc & Acc & ", "A & 60.0 & 90.0 & 75.0", "B & 62.0 & 92.0 & {}"],
        "79.0", "77.0", {("AVG", "warning")},
    ),
    "a harmonic mean of base and new": (
        ["Accuracy (\\%).", "Method & Base & New & H", "CLIP & 69.34 & 74.22 & 71.70", "CoOp & 82.69 & 63.22 & {}"],
        "93.66", "71.66", {("F-HARM", "error")},
    ),
    "a harmonic mean of seen and unseen, beneath": (
        ["Accuracy (\\%).", "Part & ALE & DEM", "Seen & 81.8 & 86.4", "Unseen & 14.0 & 30.5", "H-mean & 23.9 & {}"],
        "35.1", "45.1", {("F-HARM", "warning")},
    ),
    "F1 that is said to be micro": (
        ["Entity-level micro P, R and F1.", "Model & P & R & F1", "A & 84.1 & 83.7 & 83.9", "B & 87.1 & 88.6 & {}"],
        "89.4", "87.8", {("F-HARM", "error")},
    ),
    "SSIM": (
        ["NVS.", "Method & PSNR $\\uparrow$ & SSIM $\\uparrow$", "A & 31.0 & 0.947", "B & <33.3> & <{}>"],
        "1.021", "0.981", {("DOMAIN", "error")},
    ),
    "an impossible SSIM that would beat the bold one": (
        ["NVS.", "Method & SSIM $\\uparrow$", "A & 0.947", "B & {}", "Ours & <0.981>"],
        "1.021", "0.921", {("DOMAIN", "error")},
    ),
    "one row of fractions": (
        ["COCO.", "Detector & AP & AP$_{{50}}$ & AP$_S$", "A & 40.2 & 61.0 & 24.2", "B & 42.0 & 62.4 & 20.5", "C & {}"],
        "0.438 & 0.626 & 0.264", "43.8 & 62.6 & 26.4", {("DOMAIN", "warning")},
    ),
    "bold on the second best": (
        ["Accuracy.", "Method & A", "DANN & 72.4", "MCD & {}", "Ours & <80.3>", "Supervised (upper bound) & 96.1"],
        "81.4", "78.4", {("BOLD", "warning")},
    ),
    "arrows": (
        ["Results.", " & Lego & Lego & Ship & Ship", "Method & PSNR $\\uparrow$ & LPIPS $\\downarrow$ & PSNR ${}$ & CD",
         "X & 30.1 & 0.21 & 31.2 & 0.4", "Ours & <31.4> & <0.19> & 30.2 & 0.3"],
        "\\downarrow", "\\uparrow", {("DIR", "error")},
    ),
    "a spread of nothing": (
        ["Accuracy (\\%) over 3 seeds, mean $\\pm$ standard deviation.", "Method & A",
         "kNN (deterministic) & 81.5 $\\pm$ 0.0", "Ours & <84.1 $\\pm$ {}>"],
        "0.0", "0.4", {("SD-ZERO", "warning")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_planted_fault_in_a_typed_table_is_told(tmp_path: Path, name: str) -> None:
    rows, fault, _, expected = ROWS[name]
    assert told(checked(tmp_path, table(*(row.format(fault) for row in rows)))) == expected


@pytest.mark.parametrize("name", ROWS)
def test_sound_twin_of_a_typed_table_is_silent(tmp_path: Path, name: str) -> None:
    rows, _, sound, _ = ROWS[name]
    assert told(checked(tmp_path, table(*(row.format(sound) for row in rows)))) == set()


SOUND = {
    "average rank": ["Accuracy.", "Method & A & Avg. rank", "M1 & 60.4 & 2.0", "Ours & <80.1> & <1.0>"],
    "oracle": ["Accuracy.", "Method & A", "ERM & 72.4", "Ours & <80.3>", "Oracle & 96.1", "Human & 99.0"],
    "footnote": ["Top-1 (\\%).", "Method & Top-1", "ViT-L$^\\dagger$ & 87.1", "DeiT & 81.8", "Ours & <83.2>"],
    "small percentages": ["Accuracy (\\%).", "Model & PGD-100", "Quantised & 0.4", "Noise & 12.3", "AT & 53.8"],
    "low errors": ["Error (\\%).", "Data & A & B", "MNIST & 0.25 & <0.21>", "SVHN & 2.1 & <1.8>", "C-100 & 22 & <19>"],
    "hyper-parameter": ["CIFAR-10 accuracy (\\%).", "$\\lambda$ & 0.1 & 0.5 & 1.0", "Acc. & 94.0 & <94.6> & 91.5"],
    "unlearning": ["Unlearning.", "Method & Retain Acc $\\uparrow$ & Forget Acc $\\downarrow$", "A & 99.2 & 95.1",
                   "Ours & <99.8> & <93.1>"],
    "unknown headings": ["Continual.", "Method & BWT $\\uparrow$ & Forgetting $\\downarrow$", "A & -9.1 & 9.4",
                         "Ours & <-2.0> & <2.1>"],
    "perplexity beside accuracies": [
        "Zero-shot.", "Model & Wiki. & LMB. & LMB. & PIQA & Avg.", " & ppl & ppl & acc & acc & ",
        "A & 19.1 & 17.3 & 40.5 & 70.1 & 55.3", "B & 17.6 & 12.6 & 45.6 & 72.0 & 58.8",
    ],
    "averages over parts that are not printed": [
        "Accuracy (\\%) on 15 corruptions.",
        "Method & Gauss & Fog & Avg.", "A & 40.1 & 60.2 & 52.7", "B & 45.1 & 64.2 & 56.9",
    ],
    "two average rows": [
        "Accuracy (\\%).", "Domain & ERM & Ours", "Art & 60.0 & 64.0", "Real & 70.0 & 72.0", "Average & 65.0 & 68.0",
        "CIFAR & 90.0 & 92.0", "SVHN & 80.0 & 84.0", "Mean & 85.0 & 88.0",
    ],
    "H of eleven data sets": [
        "Mean of 11 data sets.", "Method & Base & Novel & H", "A & 69.34 & 74.22 & 70.84", "B & 80.47 & 75.83 & 77.10",
    ],
    "macro F1": [
        "Macro-averaged.", "Model & Precision & Recall & F1", "A & 61.2 & 58.1 & 57.3", "B & 71.0 & 66.2 & 67.1",
    ],
    "human-normalised": [
        "Atari.", "Method & Mean & Median & IQM", "SPR & 70.4 & 41.5 & 33.7", "Ours & 112.3 & 60.1 & 51.0",
    ],
    "energies": ["Energies.", "Method & Water energy", "HF & -76.02", "Net & <-76.43>"],
    "likelihoods": ["NLL.", "Data & A & B", "Power & -0.14 & <-0.62>", "Gas & -8.3 & <-12.1>"],
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_sound_typed_table_is_silent(tmp_path: Path, name: str) -> None:
    assert told(checked(tmp_path, table(*SOUND[name]))) == set()


def only(report: Report, check: str) -> Finding:
    found = [finding for finding in report.findings if finding.check == check]
    assert len(found) == 1, [finding.message for finding in found]
    return found[0]


def test_unknown_directions_are_one_note_that_names_them(tmp_path: Path) -> None:
    one = table("Benchmarks.", "Model & GQA & POPE & WER", "A & 60.0 & 80.0 & 4.1", "B & <61.2> & <85.0> & <3.9>")
    finding = only(checked(tmp_path, one, one), "DIR")
    assert finding.severity is Severity.INFO
    assert finding.message == "no arrow and no known direction for: GQA, POPE"


def test_tables_without_spreads_are_one_note(tmp_path: Path) -> None:
    one = table("Accuracy.", "Model & A", "X & 60.0", "Y & <61.2>")
    finding = only(checked(tmp_path, one, one), "MISS-SD")
    assert finding.severity is Severity.INFO
    assert finding.message.startswith("no table states spread or number of runs")


def test_unexplained_spread_is_a_warning_about_the_number_at_hand(tmp_path: Path) -> None:
    one = table("Accuracy (\\%).", "Model & A", "X & 60.0 $\\pm$ 0.5", "Y & <66.2 $\\pm$ 0.4>")
    finding = only(checked(tmp_path, one), "MISS-SD")
    assert finding.severity is Severity.WARNING
    assert finding.arithmetic.startswith("60.0 ± 0.5, at n = 5 for example: an sd makes a standard error of 0.22")


def test_range_of_an_average_says_what_would_be_consistent(tmp_path: Path) -> None:
    rows = ["Accuracy.", "Method & A & B & Avg.", "X & 40.0 & 50.0 & 45.0", "Y & 35.2 & 56.0 & {}"]
    finding = only(checked(tmp_path, table(*(row.format("58.6") for row in rows))), "AVG-RANGE")
    assert finding.nearest[0] == "45.6 for Avg."
    assert "1 other averages" not in finding.arithmetic


def test_a_row_of_fractions_is_told_once(tmp_path: Path) -> None:
    rows, fault, _, _ = ROWS["one row of fractions"]
    finding = only(checked(tmp_path, table(*(row.format(fault) for row in rows))), "DOMAIN")
    assert "C: 0.438, 0.626, 0.264 beside 40.2, 61.0, 24.2" in finding.message


def test_bold_does_not_assert_that_rows_compete(tmp_path: Path) -> None:
    rows, fault, _, _ = ROWS["bold on the second best"]
    finding = only(checked(tmp_path, table(*(row.format(fault) for row in rows))), "BOLD")
    assert all(e.fits for e in finding.explanations if e.title == "the rows do not compete")
    assert finding.nearest == ("bold on 81.4",)


def test_coverage_names_what_was_missing(tmp_path: Path) -> None:
    report = checked(tmp_path, table("Accuracy (\\%).", "Model & A", "X & 60.0", "Y & 66.2"))
    assert report.tallies["GRIM-ACC"].untestable == {"the number of evaluated items (N) is not stated": 2}


@pytest.mark.parametrize("heading", ["Sum", "TPS", "Avg. length", "Rating"])
def test_a_column_of_another_quantity_is_not_held_to_the_captions_metric(tmp_path: Path, heading: str) -> None:
    rows = (f"Model & AIME & MATH & {heading}", "Base & 30.0 & 82.4 & 5214", "Ours & 36.7 & 86.0 & 3870")
    assert told(checked(tmp_path, table("Accuracy (\\%) on benchmarks.", *rows))) == set()


def test_one_impossible_number_among_possible_ones_is_an_error(tmp_path: Path) -> None:
    rows = ("Model & AIME & MATH", "Base & 30.0 & 824.1", "Ours & 36.7 & 86.0", "Third & 31.0 & 85.0")
    assert ("DOMAIN", "error") in told(checked(tmp_path, table("Accuracy (\\%) on benchmarks.", *rows)))


def test_a_column_that_names_its_metric_is_held_to_it_throughout(tmp_path: Path) -> None:
    rows = ("Model & MATH & Accuracy (\\%)", "Base & 30.0 & 5214", "Ours & 36.7 & 3870")
    assert ("DOMAIN", "error") in told(checked(tmp_path, table("Results.", *rows)))
