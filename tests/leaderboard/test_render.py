"""Every format says the same, escapes what it must, and carries the digest of its data."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from benchmark.cli.leaderboard import FORMATS as CLI_FORMATS
from benchmark.errors import UsageError
from leaderboard import digest
from leaderboard.aggregate import Layout, SeedResult
from leaderboard.charts import mean_curve
from leaderboard.render import FORMATS, render
from leaderboard.render.svg import Series, line_chart
from leaderboard.tables import Published, Selection, build


def published(task, initializer, metric, values):
    found = Published("100.00", "Table 1", "arXiv:0000.00000", 1, "other scale")
    return (found,) if initializer == "mask" and metric == "accuracy" else ()


@pytest.fixture
def board(grid):
    return build(grid, Selection(), published)


def renamed(grid, old, new):
    """The grid with an initialiser called something else."""
    groups = {
        (task, new if name == old else name): dataclasses.replace(group, initializer=new if name == old else name)
        for (task, name), group in grid.groups.items()
    }
    return dataclasses.replace(
        grid, initializers=tuple(new if name == old else name for name in grid.initializers), groups=groups
    )


def changed(grid, task, initializer, seed, value):
    """The grid with one number changed."""
    group = grid.groups[task, initializer]
    results = tuple(
        dataclasses.replace(r, finals={**r.finals, "accuracy": value}) if r.seed == seed else r for r in group.seeds
    )
    return dataclasses.replace(
        grid, groups={**grid.groups, (task, initializer): dataclasses.replace(group, seeds=results)}
    )


def test_the_command_line_knows_every_format():
    assert CLI_FORMATS == FORMATS


def test_an_unknown_format_names_the_known_ones(board):
    with pytest.raises(UsageError, match="markdown"):
        render(board, "pdf")


@pytest.mark.parametrize("format", ["terminal", "markdown", "latex", "html"])
def test_every_format_shows_what_is_missing_failed_and_diverged(board, format):
    text = render(board, format)
    for words in ("1 diverged", "2 missing", "1 failed", "skipped", "compact", "computed", "published 100.00"):
        assert words in text, words
    assert "sample standard deviation (ddof = 1) over n seeds" in re.sub(r"\s+", " ", text)
    assert board.digest in text
    assert "Incomplete: 22 of 30 cells; 1 diverged, 1 failed, 6 missing." in re.sub(r"\s+", " ", text)


def test_markdown_is_a_table_github_shows(board):
    lines = [line for line in render(board, "markdown").splitlines() if line.startswith("|")]
    assert {line.count(" | ") for line in lines} == {2}
    assert lines[1] == "| :-- | --: | --: |"
    assert "| mask | **99.94 ± 0.09** (n=5; #1)<br>published 100.00 (Table 1) |" in lines[3]


def test_one_seed_has_a_badge_and_no_spread(grid):
    group = grid.groups["parity", "svd"]
    single = dataclasses.replace(group, seeds=group.seeds[:1])
    text = render(build(dataclasses.replace(grid, groups={**grid.groups, ("parity", "svd"): single})), "markdown")
    assert "| svd | 75.00 (n=1; single run) |" in text


def test_two_seeds_show_both_values_and_no_spread(grid):
    group = grid.groups["parity", "svd"]
    pair = dataclasses.replace(group, seeds=group.seeds[:2])
    text = render(build(dataclasses.replace(grid, groups={**grid.groups, ("parity", "svd"): pair})), "markdown")
    assert "| svd | 75.00, 75.10 (n=2) |" in text


def test_a_difference_without_seed_variance_is_marked(grid):
    for seed in range(5):
        grid = changed(grid, "parity", "mask", seed, 100.0)
    text = render(build(grid), "markdown")
    assert "**100.00 ± 0.00**† (n=5; #1)" in text
    assert "no seed variance: t-test undefined" in text


def test_markdown_and_latex_escape_names(grid):
    board = build(renamed(grid, "svd", "a_b|c*<d>&%$#{~^\\"))
    assert r"| a_b\|c\*\<d\>&%$#{~^\\ |" in render(board, "markdown")
    assert (
        r"a\_b|c*\textless{}d\textgreater{}\&\%\$\#\{\textasciitilde{}\textasciicircum{}\textbackslash{} &"
        in render(board, "latex")
    )


class Balanced(HTMLParser):
    """Fails on tags that do not close in order, and on anything from the network."""

    VOID = frozenset({"meta", "br", "link", "img", "input", "hr"})

    def __init__(self):
        super().__init__()
        self.open, self.rows, self.text = [], 0, []

    def handle_starttag(self, tag, attrs):
        assert not {"src", "href"} & {name for name, _ in attrs}
        self.rows += tag == "tr"
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_html_is_well_formed_alone_and_escaped(grid):
    parser = Balanced()
    parser.feed(render(build(renamed(grid, "svd", "<script>alert(1)</script>")), "html"))
    assert parser.open == []
    assert parser.rows == 6
    assert "<script>alert(1)</script>" in "".join(parser.text)


def test_csv_is_tidy_and_keeps_every_digit(board):
    rows = list(csv.DictReader(io.StringIO(render(board, "csv"))))
    mask = next(row for row in rows if (row["task"], row["initializer"], row["kind"]) == ("parity", "mask", "measured"))
    assert float(mask["mean"]) == pytest.approx(99.94)
    assert (mask["spread_kind"], mask["ddof"], mask["n"], mask["n_planned"]) == ("sd", "1", "5", "5")
    assert mask["values"] == "0=100.0;1=99.9;2=100.0;3=99.8;4=100.0"
    assert {row["kind"] for row in rows} == {"measured", "computed", "published"}
    failed = next(row for row in rows if (row["task"], row["initializer"]) == ("cyclic", "svd"))
    assert (failed["mean"], failed["n"], failed["status"]) == ("", "0", "failed=1;missing=4")


def test_json_is_strict_and_has_every_comparison(board):
    def refuse(name):
        raise AssertionError(name)

    document = json.loads(render(board, "json"), parse_constant=refuse)
    column = document["tables"][0]["columns"][0]
    assert {(pair["first"], pair["second"]) for pair in column["pairs"]} == {
        ("default", "mask"), ("default", "svd"), ("mask", "svd"),
    }  # fmt: skip
    assert document["complete"] is False
    assert document["spread"] == {"kind": "sd", "ddof": 1, "over": "seeds"}


def test_one_table_for_each_metric_asked_for(grid):
    tables = build(grid, Selection(metrics=("*",))).tables
    assert [table.title for table in tables] == ["Accuracy", "Loss"]
    with pytest.raises(UsageError, match="did you mean 'accuracy'"):
        build(grid, Selection(metrics=("acuracy",)))


def test_the_tables_of_an_experiment_choose_and_order(grid):
    layout = Layout("Both", ("cyclic",), ("mask", "default"), ("loss", "accuracy"))
    rest = Layout("The rest", initializers=tuple(set(grid.initializers) - {"mask", "default"}))
    table = build(dataclasses.replace(grid, layouts=(layout, rest))).tables[0]
    assert [(column.task, column.metric.name) for column in table.columns] == [
        ("cyclic", "loss"),
        ("cyclic", "accuracy"),
    ]
    assert [row.name for row in table.rows] == ["mask", "default"]


def test_an_empty_selection_is_refused_with_what_there_is(grid):
    with pytest.raises(UsageError, match="there are: parity, cyclic"):
        build(grid, Selection(tasks=("vision",)))


# --- digest ----------------------------------------------------------------------------------------------------


def moved(text, grid):
    found = []
    for stamp, untouched in digest.read_stamps(text):
        selection = digest_selection(stamp)
        found += digest.moved(stamp, untouched, build(grid, selection))
    return found


def digest_selection(stamp):
    return Selection(metrics=("*",)) if stamp.selection is None else Selection.from_json(stamp.selection)


CHECKED = ["markdown", "latex", "csv", "json", "html"]


@pytest.mark.parametrize("format", CHECKED)
def test_a_written_table_agrees_with_the_data_it_was_made_from(grid, board, format):
    assert moved(render(board, format), grid) == []


@pytest.mark.parametrize("format", CHECKED)
def test_a_changed_number_is_named(grid, board, format):
    sentences = moved(render(board, format), changed(grid, "parity", "mask", 1, 99.8))
    assert len(sentences) == 1
    assert sentences[0].startswith("parity / mask / accuracy: file 99.94 ")
    assert "store 99.9" in sentences[0]


@pytest.mark.parametrize("format", CHECKED)
def test_a_seed_that_arrived_later_is_named(grid, board, format):
    group = grid.groups["parity", "svd"]
    late = dataclasses.replace(group.seeds[3], status="finished", finals={"accuracy": 75.0})
    seeds = tuple(late if result.seed == 3 else result for result in group.seeds)
    later = dataclasses.replace(
        grid, groups={**grid.groups, ("parity", "svd"): dataclasses.replace(group, seeds=seeds)}
    )
    (sentence,) = moved(render(board, format), later)
    assert "n=3, 2 missing" in sentence
    assert "n=4, 1 missing" in sentence


@pytest.mark.parametrize("format", ["markdown", "latex", "html"])
def test_an_edit_by_hand_is_seen(grid, board, format):
    text = render(board, format)
    assert "99.94" in text
    sentences = moved(text.replace("99.94", "99.96", 1), grid)
    assert sentences == ["the text was edited after it was written: it is not what its stamp says"]


def test_swapped_seeds_are_seen_although_the_mean_is_the_same(grid, board):
    swapped = changed(changed(grid, "parity", "mask", 0, 99.9), "parity", "mask", 1, 100.0)
    assert "single seeds changed" in moved(render(board, "markdown"), swapped)[0]


def test_a_table_inside_other_text_is_found(grid, board):
    text = f"# Read me\n\n{render(board, 'markdown')}\nMore.\n\n{render(board, 'markdown')}"
    assert len(digest.read_stamps(text)) == 2
    assert moved(text.replace("\n", "\r\n"), grid) == []


def test_a_name_cannot_end_the_comment(grid):
    board = build(renamed(grid, "svd", "a-->b"))
    assert moved(render(board, "html"), renamed(grid, "svd", "a-->b")) == []


def test_a_file_without_a_table_is_refused():
    with pytest.raises(UsageError, match="no table of `bench leaderboard`"):
        digest.read_stamps("# nothing here")
    with pytest.raises(UsageError, match="not a JSON export"):
        digest.read_stamps('{"a": 1}')


def test_the_digest_depends_on_the_data_and_not_on_the_order(grid, board):
    turned = dataclasses.replace(
        grid, tasks=grid.tasks[::-1], initializers=grid.initializers[::-1], groups=dict(reversed(grid.groups.items()))
    )
    assert build(turned).digest == board.digest
    assert build(changed(grid, "parity", "mask", 1, math.nextafter(99.9, 100))).digest != board.digest


def test_equal_numbers_of_other_cells_have_another_digest(grid, board):
    def other_cells(group):
        seeds = tuple(dataclasses.replace(result, cell_id=f"other-{result.cell_id}") for result in group.seeds)
        return dataclasses.replace(group, seeds=seeds)

    other = dataclasses.replace(grid, groups={key: other_cells(group) for key, group in grid.groups.items()})
    assert build(other).digest != board.digest
    ((stamp, untouched),) = digest.read_stamps(render(board, "json"))
    assert digest.moved(stamp, untouched, build(grid)) == []
    assert "they are of other cells" in digest.moved(stamp, untouched, build(other))[0]


def in_modes(grid, modes):
    """The grid with every cell of parity × mask trained in one of the modes, all others alone."""
    groups = dict(grid.groups)
    for key, group in groups.items():
        named = modes if key == ("parity", "mask") else ["alone"]
        seeds = tuple(
            dataclasses.replace(result, execution=named[k % len(named)]) for k, result in enumerate(group.seeds)
        )
        groups[key] = dataclasses.replace(group, seeds=seeds)
    return dataclasses.replace(grid, groups=groups)


def test_a_column_of_more_than_one_execution_mode_is_said_to_be_one(grid):
    said = "Cells of one column were trained in more than one execution mode (alone, stack; parity)"
    assert said in render(build(in_modes(grid, ["alone", "stack[4]"])), "markdown")
    for modes in (["alone"], [""]):
        assert "execution mode" not in render(build(in_modes(grid, modes)), "markdown")
    stacks = in_modes(grid, ["stack[4]", "stack[3]"])
    kept = {key: group for key, group in stacks.groups.items() if key == ("parity", "mask")}
    one_row = dataclasses.replace(stacks, groups=kept, tasks=grid.tasks[:1], initializers=("mask",))
    assert "execution mode" not in render(build(one_row), "markdown")


# --- charts ----------------------------------------------------------------------------------------------------


def test_a_chart_is_well_formed_svg_with_a_band_and_a_key():
    series = [
        Series("mask <1>", ((0, 50.0, 1.0), (10, 90.0, 2.0), (20, 99.0, 0.5))),
        Series("default", ((0, 50.0, None), (10, None, None), (20, 75.0, None))),
    ]
    svg = line_chart(series, "2parity", "step", "accuracy")
    root = ElementTree.fromstring(svg)
    names = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "mask <1>" in names
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polygon"))) == 1
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) == 2


def test_losses_over_orders_of_magnitude_get_a_log_axis():
    svg = line_chart([Series("a", ((0, 5.0, 0.1), (1, 0.001, 0.0005)))], "t", "step", "loss")
    assert ">0.01<" in svg
    ElementTree.fromstring(svg)


@pytest.mark.parametrize("points", [((0, 1.0, None),), ((0, 0.0, 0.0), (5, 0.0, 0.0)), ((3, -2.0, 0.0),)])
def test_flat_and_single_points_can_be_drawn(points):
    svg = line_chart([Series("a", points)], "t", "step", "loss")
    assert "nan" not in svg.lower()
    ElementTree.fromstring(svg)


def test_a_chart_of_nothing_is_nothing():
    assert line_chart([Series("a", ((0, None, None),))], "t", "x", "y") == ""


def test_a_mean_curve_has_a_gap_where_a_seed_is_not_finite_or_ended():
    points = mean_curve([([0, 1, 2], [1.0, 2.0, 2.0]), ([0, 1], [3.0, math.nan])])
    assert points == ((0, 2.0, pytest.approx(math.sqrt(2))), (1, None, None), (2, None, None))


def test_a_group_counts_what_has_no_number(grid):
    assert isinstance(grid.groups["cyclic", "svd"].seeds[0], SeedResult)
    assert grid.groups["cyclic", "default"].counts("accuracy") == {"diverged": 1}
    assert grid.groups["cyclic", "default"].counts("loss") == {}


@pytest.mark.parametrize("width", [80, 100, 200])
def test_a_terminal_table_is_never_cut_nor_wider_than_the_terminal(grid, width):
    from leaderboard.render.terminal import render as render_terminal

    long = "a_name_that_is_rather_long"
    text = render_terminal(build(renamed(grid, "svd", long), None, published), show_values=True, width=width)
    assert "…" not in text
    assert long in text
    assert max(map(len, text.splitlines())) <= width


def test_an_initializer_and_a_task_that_no_table_names_are_shown_all_the_same(grid):
    first_task, *other_tasks = [task.name for task in grid.tasks]
    layout = Layout("Table 1", tasks=(first_task,), initializers=("default",))
    board = build(dataclasses.replace(grid, layouts=(layout,)))
    assert [row.name for row in board.tables[0].rows if row.kind == "measured"] == ["default", "mask", "svd"]
    assert [column.task for column in board.tables[1].columns] == other_tasks
