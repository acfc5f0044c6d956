"""Which tables a LaTeX source prints and what they are called; broken sources lose nothing without a word."""

from __future__ import annotations

import pytest

from leaderboard.claims.importers import import_text


def tabular(number: str) -> str:
    return f"\\begin{{tabular}}{{lc}} Method & Top-1 \\\\ \\hline A & {number} \\\\ \\end{{tabular}}"


def table(number: str, caption: str = "x") -> str:
    return f"\\begin{{table}}\\caption{{{caption}}}{tabular(number)}\\end{{table}}\n"


def names(source: str) -> dict[str, str]:
    return {claim.printed: claim.where.table for claim in import_text(source, "latex").claims}


@pytest.mark.parametrize(
    "hidden",
    [
        "\\iffalse\n{}\\fi\n",
        "\\iffalse {} \\iftrue x \\fi {}\\fi\n",
        "\\iffalse {} \\else kept \\fi ",
        "% \\iffalse\n% {}\n",
    ],
)
def test_tables_in_a_false_branch_are_not_printed(hidden):
    source = table("71.0") + hidden.replace("{}", table("98.0").strip()) + table("72.0")
    assert names(source) == {"71.0": "Table 1", "72.0": "Table 2"}


def test_an_unclosed_false_branch_hides_nothing():
    assert names("\\iffalse\n" + table("71.0")) == {"71.0": "Table 1"}


def test_other_conditionals_and_verbatim_false_branches_hide_nothing():
    source = f"\\ifdraft {table('71.0')}\\fi \\begin{{verbatim}}\\iffalse\\end{{verbatim}}{table('72.0')}\\fi"
    assert names(source) == {"71.0": "Table 1", "72.0": "Table 2"}


def test_a_captioned_float_whose_rows_are_elsewhere_takes_its_number():
    source = table("71.0") + "\\begin{table}\\caption{x}\\input{tables/foo}\\end{table}" + table("72.0")
    assert names(source) == {"71.0": "Table 1", "72.0": "Table 3"}


def test_a_table_without_caption_beside_captioned_ones_has_no_number():
    source = table("71.0") + tabular("80.0") + table("72.0")
    assert names(source) == {"71.0": "Table 1", "80.0": "unnumbered table in line 2", "72.0": "Table 2"}


def test_tables_are_counted_where_none_has_a_caption():
    assert names(tabular("71.0") + tabular("72.0")) == {"71.0": "Table 1", "72.0": "Table 2"}


def test_subcaptions_in_minipages_make_parts_of_one_table():
    part = "\\begin{{minipage}}{{.5\\textwidth}}{}\\subcaption{{{}}}\\end{{minipage}}"
    parts = part.format(tabular("71.0"), "CIFAR-10") + part.format(tabular("72.0"), "SVHN")
    source = f"\\begin{{table*}}{parts}\\caption{{All}}\\end{{table*}}" + table("73.0")
    assert names(source) == {"71.0": "Table 1 (a)", "72.0": "Table 1 (b)", "73.0": "Table 2"}
    assert [claim.scope.task for claim in import_text(source, "latex").claims] == ["CIFAR-10", "SVHN", None]


def test_a_brace_that_is_never_closed_swallows_no_rows():
    source = (
        "\\begin{table}\\caption{Top-1}\\begin{tabular}{lcc} Method & SVHN & B1 \\\\ \\hline\n"
        "A & 81.0 & {82.0 \\\\\nB & 83.0 & 99.0 \\\\ \\end{tabular}\\end{table}"
    )
    result = import_text(source, "latex")
    assert [claim.printed for claim in result.claims] == ["81.0", "82.0", "83.0", "99.0"]
    assert result.tables[0].notes == ("line 2: a brace that is never closed was left out",)


def test_a_table_that_never_ends_is_noted():
    result = import_text("x\n\\begin{tabular}{cc} a & 1.0 \\\\ b & 2.0", "latex")
    assert result.claims == ()
    assert result.notes == ("\\begin{tabular} in line 2 has no \\end and was not read",)
