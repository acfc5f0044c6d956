"""One cell: value, spread, difference, marks, and what is refused."""

from __future__ import annotations

import pytest

from leaderboard.claims.importers.grid import cell_of
from leaderboard.claims.importers.numbers import MISSING, read_cell


@pytest.mark.parametrize(
    ("source", "printed"),
    [
        ("85.90", "85.90"), ("$85.90$", "85.90"), ("$-0.30$", "-0.30"), ("−0.30", "-0.30"), ("+1.2", "+1.2"), (".873",
        ".873"),
        ("1,013.01", "1013.01"), ("1{,}013", "1013"), ("$1\\,013.5$", "1013.5"), ("85.9\\%", "85.9"), ("\\num{85.90}",
        "85.90"),
        ("\\textbf{85.90}", "85.90"), ("{\\bf 85.90}", "85.90"), ("$\\mathbf{85.90}$", "85.90"),
        ("\\underline{\\textbf{7.0}}", "7.0"),
        ("\\cellcolor{gray!20}85.90", "85.90"), ("\\textcolor{red}{85.90}", "85.90"), ("85.90\\footnote{a 7}", "85.90"),
        ("85.90$^\\dagger$", "85.90"), ("85.90\\textsuperscript{1}", "85.90"), ("85.90$^{2}$", "85.90"),
        ("85.90~\\cite{x12}", "85.90"),
        ("\\phantom{0}8.5", "8.5"), ("4.5e-5", "0.000045"), ("$4.5\\times10^{-5}$", "0.000045"),
        ("\\SI{12.5}{\\percent}", "12.5"),
        ("\\makecell{85.90}", "85.90"), ("\\begin{tabular}{c}85.90\\end{tabular}", "85.90"), ("100", "100"), ("0", "0"),
    ],
)  # fmt: skip
def test_the_number_comes_back_as_printed(cell, source, printed):
    assert cell(source).printed == printed


@pytest.mark.parametrize(
    "source",
    [
        "85.2 $\\pm$ 0.3", "$85.2\\pm0.3$", "85.2$_{\\pm 0.3}$", "85.2{\\scriptsize $\\pm$0.3}", "85.2 ± 0.3",
        "85.2 +- 0.3", "85.2 +/- 0.3",
        "85.2 ($\\pm$0.3)", "\\num{85.2 \\pm 0.3}", "85.2\\textsubscript{±0.3}", "$85.2^{\\pm 0.3}$",
        "\\textbf{85.2} \\tiny{$\\pm$ 0.3}",
        "85.2\\% $\\pm$ 0.3\\%", "$\\mathbf{85.2} \\pm 0.3$",
    ],
)  # fmt: skip
def test_spread_in_every_way_of_writing_it(cell, source):
    claim = cell(source)
    assert (claim.printed, claim.spread.printed) == ("85.2", "0.3")


def test_a_bare_number_in_brackets_is_a_spread_only_when_the_caption_says_so(cell):
    said = cell("85.2 (0.3)", "Accuracy (\\%), standard deviation in parentheses")
    assert (said.printed, said.spread.printed, said.spread.kind) == ("85.2", "0.3", "sd")
    unsaid = cell("85.2 (0.3)")
    assert unsaid.printed == "85.2"
    assert unsaid.spread is None


@pytest.mark.parametrize(
    ("source", "delta"),
    [
        ("85.82 (+2.44)", "+2.44"), ("85.82 \\textcolor{green}{+2.44}", "+2.44"), ("85.82 ($\\uparrow$2.44)", "+2.44"),
        ("85.82$_{(+2.4)}$", "+2.4"), ("85.82 (-2.44)", "-2.44"), ("85.82 ($-$2.44)", "-2.44"),
        ("85.82{\\tiny\\color{red}$\\downarrow$2.44}", "-2.44"),
        ("85.82 (+2.44\\%)", "+2.44"), ("85.82$_{+2.44}$", "+2.44"), ("85.82 ↑2.44", "+2.44"),
        ("\\textbf{85.82} (\\textbf{+2.44})", "+2.44"),
        ("85.82 (2.44$\\uparrow$)", "+2.44"),
    ],
)  # fmt: skip
def test_difference_in_every_way_of_writing_it(cell, source, delta):
    claim = cell(source)
    assert (claim.printed, claim.delta.printed) == ("85.82", delta)


def test_spread_and_difference_together(cell):
    claim = cell("\\textbf{85.8}$_{\\pm 0.2}$ (+2.4)")
    assert (claim.printed, claim.spread.printed, claim.delta.printed, claim.bold) == ("85.8", "0.2", "+2.4", True)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("85.0--87.0", "range"), ("85-87", "range"), ("$<$ 10", "bound"), ("$\\approx$ 10", "bound"), ("see text",
        "not a number"),
        ("85.2$^{+0.3}_{-0.2}$", "asymmetric"), ("1.5 / 92.0", "2 numbers in one cell"), ("12e6", "last printed digit"),
        ("85.2 $\\pm$", "without a number"),
        ("3 of 5", "unexpected"), ("85,90", "decimal comma"), ("1.2.3", "unexpected"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_with_its_reason(cell, source, reason):
    assert reason in cell(source)


@pytest.mark.parametrize(
    "source", ["-", "--", "---", "$-$", "n/a", "N/A", "OOM", "\\xmark", "", "{--}", "(-)", "\\ding{55}"]
)
def test_missing_cells_give_no_claim_and_no_complaint(cell, source):
    assert cell(source) == "missing"


def test_a_footnote_mark_sets_a_number_apart(cell):
    assert cell("85.9$^\\dagger$").scope.subset == "marked †"
    assert cell("85.9").scope.subset is None


def test_unit_letters_are_kept_with_the_metric(cell):
    assert cell("86.6M").scope.metric == "accuracy (M)"


def test_percent_sign_in_the_cell_sets_the_unit(cell):
    assert cell("85.9\\%", caption="Results").unit == "percent"
    assert cell("85.9", caption="Results").unit == "raw"


@pytest.mark.parametrize("text", sorted(MISSING))
def test_every_missing_word_is_recognised(text):
    assert read_cell(cell_of(text, 1, 1)).missing


@pytest.mark.parametrize("source", ["85.2 $\\pm$ 0.3 (n=4)", "85.2 ± 0.3 {\\scriptsize (n=4/5; 1 diverged; \\#2)}"])
def test_runs_printed_in_the_cell(cell, source):
    claim = cell(source, "Accuracy over 9 runs")
    assert (claim.printed, claim.spread.printed, claim.n) == ("85.2", "0.3", 4)


def test_runs_of_zero_are_not_taken(cell):
    assert cell("85.2 (n=0)").n is None


@pytest.mark.parametrize("source", ["NaN", "nan", "inf", "-inf", "diverged", "failed"])
def test_a_value_that_is_not_finite_is_kept_as_printed(cell, source):
    assert cell(source).printed == source


def test_infinity_as_a_symbol_is_kept(cell):
    assert cell("$\\infty$").printed == "∞"


def test_dingbats_are_marks_and_not_the_numbers_of_their_place_in_the_font(latex_table):
    rows = "Method & Aug & Top-1 \\\\ \\midrule\nX & \\ding{51} & 88.1 \\\\ Y & \\ding{55} & \\ding{56} \\\\"
    result = latex_table(rows)
    assert [(claim.printed, claim.scope.subset) for claim in result.claims] == [("88.1", "Aug=✓")]
    assert result.tables[0].missing == 1


@pytest.mark.parametrize(
    "caption", ["Mean (std) over three seeds", "average (s.d.)", "Accuracy, standard deviations in brackets"]
)
def test_a_caption_that_shows_mean_and_spread_explains_brackets(cell, caption):
    claim = cell("14.5 (0.4)", caption)
    assert (claim.printed, claim.spread.printed, claim.spread.kind) == ("14.5", "0.4", "sd")


def test_a_caption_that_speaks_of_relative_gains_in_brackets_explains_them(cell):
    caption = "Accuracy (relative improvement over Default in parentheses)"
    for source in ("26.22 (10.71\\%)", "26.22 (+10.71\\%)", "26.22 (+10.71)"):
        delta = cell(source, caption).delta
        assert (delta.printed.lstrip("+"), delta.baseline, delta.relative) == ("10.71", "Default", True)


def test_a_caption_that_speaks_of_gains_in_brackets_explains_unsigned_ones(cell):
    delta = cell("26.22 (2.81)", "Accuracy (gains over Default in brackets)").delta
    assert (delta.printed, delta.baseline, delta.relative) == ("2.81", "Default", False)
