"""Markdown, HTML, CSV and the claims layout: each format's own spelling of the same things."""

from __future__ import annotations

import pytest

from benchmark.errors import BenchError, DataError, SpecError, UsageError
from leaderboard.claims.importers import FORMATS, format_of, import_file, import_text
from leaderboard.claims.importers.write import write_claims


def flat(result):
    return [(claim.printed, claim.scope.method, claim.scope.task, claim.scope.metric) for claim in result.claims]


def test_markdown_model_zoo(read):
    claims = [claim for claim in read("readme.md").claims if claim.where.table == "Table 1"]
    rows = {(claim.scope.method, claim.scope.metric): claim for claim in claims}
    best = rows["vit-base-p16_64xb64_in1k", "top-1"]
    assert (best.printed, best.bold, best.unit, best.scope.task) == ("82.37", True, "percent", "ImageNet-1k")
    assert rows["vit_large_patch16_224", "Params"].printed == "1304.33"
    assert rows["vit_large_patch16_224", "top-1"].scope.subset == "Pretrain=ImageNet-21k; marked *"
    assert rows["DeiT-III (S)", "top-1"].underline is True
    assert len(claims) == 12


def test_markdown_spreads_in_every_spelling(read):
    claims = [claim for claim in read("readme.md").claims if claim.where.table == "Table 2"]
    assert [(claim.printed, claim.spread.printed, claim.spread.kind, claim.n) for claim in claims] == [
        ("91.2", "0.3", "sd", 3), ("71.84", "0.21", "sd", 3), ("92.7", "0.1", "sd", 3), ("74.59", "0.12", "sd", 3),
        ("93.0", "0.2", "sd", 3), ("76.50", "0.3", "sd", 3),
    ]  # fmt: skip
    assert [claim.bold for claim in claims] == [False, False, True, True, True, False]


def test_markdown_transposed_with_a_metric_column(read):
    rows = [
        row
        for row, claim in zip(flat(read("readme.md")), read("readme.md").claims, strict=True)
        if claim.where.table == "Table 3"
    ]
    assert rows == [
        ("29.41", "gpt2", "WikiText-2", "perplexity"), ("28.90", "gpt2-mask", "WikiText-2", "perplexity"),
        ("0.4651", "gpt2", "LAMBADA", "accuracy"), ("0.4712", "gpt2-mask", "LAMBADA", "accuracy"),
    ]  # fmt: skip


def test_markdown_output_of_an_evaluation_harness(read):
    claim = next(claim for claim in read("readme.md").claims if claim.where.table == "Table 4")
    assert (claim.printed, claim.scope.task, claim.scope.metric, claim.spread.printed, claim.spread.kind) == (
        "0.6128", "hellaswag", "accuracy", "0.0049", "se",
    )  # fmt: skip


def test_html_table_inside_markdown(read):
    rows = [
        row
        for row, claim in zip(flat(read("readme.md")), read("readme.md").claims, strict=True)
        if claim.where.table == "Table 5"
    ]
    assert rows == [("90.1", "Default", "CIFAR-10", "top-1"), ("99.0", "Default", "CIFAR-10", "top-5")]


def test_markdown_underscores_in_names_are_no_emphasis():
    result = import_text("|model|acc|\n|-|-|\n|vit_base_patch16|1.5|\n|a_b|2.5|", "markdown")
    assert [claim.scope.method for claim in result.claims] == ["vit_base_patch16", "a_b"]


def test_markdown_without_outer_pipes_and_with_short_rows():
    result = import_text("model | CIFAR-10 | SVHN\n--- | :-: | --:\nX | 1.5\nY | 2.5 | 3.5\n", "markdown")
    assert flat(result) == [("1.5", "X", "CIFAR-10", None), ("2.5", "Y", "CIFAR-10", None), ("3.5", "Y", "SVHN", None)]


def test_html_with_omitted_end_tags_and_merged_cells(read):
    result = read("board.html")
    assert flat(result)[:3] == [
        ("82.37", "Mask a", "ImageNet-1k", "top-1"), ("96.15", "Mask a", "ImageNet-1k", "top-5"), ("70.21", "Mask a",
        "STL-10", "accuracy"),
    ]  # fmt: skip
    assert [claim.printed for claim in result.claims if claim.bold] == ["82.37", "70.21"]
    assert {claim.n for claim in result.claims if claim.where.table == "Table 1"} == {4}
    assert result.claims[0].spread.printed == "0.11"


def test_html_number_over_two_columns_is_listed(read):
    assert [(item.line, item.text) for item in read("board.html").unread] == [(14, "95.1")]


def test_html_script_style_and_comments_hold_no_table():
    source = (
        "<script>'<table><tr><td>m<td>acc<tr><td>x<td>1'</script><!-- <table><tr><td>a<td>2 --><style><table></style>"
    )
    assert import_text(source, "html").tables == ()


def test_csv_with_semicolons_quotes_and_a_byte_order_mark(read):
    assert flat(read("wide.csv")) == [
        ("94.20", "Default; plain", "CIFAR-10", "accuracy"), ("74.00", "Default; plain", "CIFAR-100", "accuracy"),
        ("95.66", "Mask", "CIFAR-10", "accuracy"), ("77.95", "Mask", "CIFAR-100", "accuracy"),
    ]  # fmt: skip
    assert {claim.scope.budget for claim in read("wide.csv").claims} == {"400 epochs"}


def test_tab_separated_result_file(read):
    metrics = [claim.scope.metric for claim in read("timm.tsv").claims][:4]
    assert metrics == ["top-1", "top-1 error", "top-5", "param_count"]
    assert [claim.printed for claim in read("timm.tsv").claims][3] == "1013.01"


def test_longtable_head_is_read_once(read):
    claims = [claim for claim in read("styles.tex").claims if claim.where.table == "Table 3"]
    assert [claim.printed for claim in claims] == ["5.7", "2536", "86.6", "1292", "1013.01", "1130"]


def test_parts_of_one_float_share_its_number(read):
    assert [table.name for table in read("styles.tex").tables] == [
        "Table 1",
        "Table 2",
        "Table 3",
        "Table 4 (a)",
        "Table 4 (b)",
        "Table 5",
    ]


def test_what_cannot_be_read_is_listed_with_line_and_column(read):
    items = [item for item in read("styles.tex").unread if item.table == "Table 5"]
    assert [(item.line, item.column) for item in items] == [(89, 11), (89, 24), (89, 37), (90, 8), (90, 21), (90, 44)]


def test_input_is_noted_and_not_followed():
    result = import_text(
        "\\input{tables/main}\n\\begin{tabular}{lc} Method & Acc \\\\ \\midrule X & 1.5 \\end{tabular}", "latex"
    )
    assert "tables/main" in result.notes[0]


def test_commented_rows_and_verbatim_tables_are_left_out():
    source = (
        "\\begin{verbatim}\\begin{tabular}{lc} a & b \\\\ \\midrule c & 9.9 \\end{tabular}\\end{verbatim}\n"
        "% \\begin{verbatim}\n"
        "\\begin{tabular}{lc} Method & Acc \\\\ \\midrule\n% X & 9.9 \\\\\nY & 1.5 \\\\ \\end{tabular}"
    )
    assert [claim.printed for claim in import_text(source, "latex").claims] == ["1.5"]


@pytest.mark.parametrize("suffix", [".yaml", ".csv", ".parquet"])
@pytest.mark.parametrize("name", ["paper.tex", "styles.tex", "readme.md", "board.html", "wide.csv"])
def test_written_claims_are_read_back_equal(read, tmp_path, name, suffix):
    claims = read(name).claims
    path = tmp_path / f"out{suffix}"
    write_claims(claims, path, name, ["a note\nover two lines"])
    assert import_file(path).claims == claims


def test_an_unwritable_suffix_and_too_many_claims_for_yaml_are_refused(read, tmp_path):
    claims = read("paper.tex").claims
    with pytest.raises(UsageError, match="expected one of"):
        write_claims(claims, tmp_path / "out.txt", "x")
    with pytest.raises(UsageError, match=r"\.csv or \.parquet"):
        write_claims(claims * 100, tmp_path / "out.yaml", "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.tex", "latex"), ("a.MD", "markdown"), ("a.htm", "html"), ("a.tsv", "csv"), ("a.yml", "yaml")],
)
def test_format_follows_the_suffix(tmp_path, name, format):
    assert format_of(tmp_path / name) == format


def test_unknown_formats_are_refused_with_a_suggestion(tmp_path):
    with pytest.raises(UsageError, match="did you mean latex"):
        format_of(tmp_path / "a.tex", "latx")
    with pytest.raises(UsageError, match="--format"):
        format_of(tmp_path / "a.docx")
    assert set(FORMATS) == {"latex", "markdown", "html", "csv", "yaml", "parquet"}


def test_a_mapping_with_an_unknown_key_is_refused_at_its_place(tmp_path):
    (tmp_path / "m.yaml").write_text("tables:\n  - rows: method\n    colums: task\n")
    (tmp_path / "a.md").write_text("|a|b|\n|-|-|\n|x|1|\n")
    with pytest.raises(SpecError, match=r"m\.yaml:3:13.*did you mean 'columns'"):
        import_file(tmp_path / "a.md", mapping=tmp_path / "m.yaml")
    (tmp_path / "m.yaml").write_text("tables:\n  - match: '('\n")
    with pytest.raises(SpecError, match=r"m\.yaml:2:12.*regular expression"):
        import_file(tmp_path / "a.md", mapping=tmp_path / "m.yaml")


def test_the_mapping_of_a_table_is_found_by_number_label_and_caption(tmp_path):
    source = "## First\n\n|a|b|\n|-|-|\n|x|1.5|\n\n## Second one\n\n|a|b|\n|-|-|\n|x|2.5|\n"
    (tmp_path / "m.yaml").write_text("tables:\n  - {match: 2, metric: WER}\n  - {match: ^table 1|first, metric: PER}\n")
    (tmp_path / "a.md").write_text(source)
    claims = import_file(tmp_path / "a.md", mapping=tmp_path / "m.yaml").claims
    assert [(claim.printed, claim.scope.metric) for claim in claims] == [("1.5", "PER"), ("2.5", "WER")]


@pytest.mark.parametrize("format", ["latex", "markdown", "html", "csv"])
def test_an_empty_file_holds_no_table(format):
    assert import_text("", format).tables == ()


def test_absent_files_folders_and_other_encodings_are_refused(tmp_path):
    with pytest.raises(DataError, match="found nothing"):
        import_file(tmp_path / "none.tex")
    with pytest.raises(DataError, match="a folder"):
        import_file(tmp_path, "latex")
    (tmp_path / "latin.md").write_bytes("|a|\n|é|".encode("latin-1"))
    with pytest.raises(DataError, match=r"latin\.md:2: expected UTF-8.*iconv"):
        import_file(tmp_path / "latin.md")


@pytest.mark.parametrize(
    ("source", "format", "message"),
    [
        ("\\newcommand{\\a}{\\a}\\begin{tabular}{l}\\a\\end{tabular}", "latex", "define themselves"),
        ("\\newcommand{\\a}[1]{#1#1#1#1#1#1#1#1}\\begin{tabular}{l}" + "\\a{" * 9 + "x" + "}" * 9 + "\\end{tabular}",
        "latex", "expand to more"),
        ("\\begin{tabular}{l}" + "&" * 500 + "1\\end{tabular}", "latex", "at most 20000 rows and 400 columns"),
        ("|a|\n|-|\n" + "|1|\n" * 20_001, "markdown", "at most 20000 rows"),
        ("<table>" + "<tr><td>1" * 20_001, "html", "at most 20000 rows"),
        ("<table>" + "<tr><td colspan=400 rowspan=20000>1" * 600, "html", "at most"),
        ("<table><tr><td>1</table>" * 501, "html", "at most 500 tables"),
        ("a," * 500, "csv", "400 columns"),
    ],
)  # fmt: skip
def test_sources_beyond_the_bounds_are_refused_with_a_message(source, format, message):
    with pytest.raises(BenchError, match=message):
        import_text(source, format)


def test_deeply_nested_groups_are_listed_not_read():
    source = (
        "\\begin{tabular}{lc} Method & Acc \\\\ \\midrule X & "
        + "{" * 100
        + "1.5"
        + "}" * 100
        + " \\\\ Y & 2.5 \\end{tabular}"
    )
    result = import_text(source, "latex")
    assert [claim.printed for claim in result.claims] == ["2.5"]
