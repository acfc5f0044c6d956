"""Forecasting tables: whole numbers and `Avg` behind the data set are labels, and the corner names the header rows."""

from __future__ import annotations

import pytest

from leaderboard.checks.runner import check_claims
from leaderboard.claims import load
from leaderboard.claims.importers import import_text

CORNERS = {
    "stacked": r"\multicolumn{2}{c|}{Models} & \multicolumn{2}{c|}{PatchTST} & \multicolumn{2}{c}{Ours} \\"
    r"\multicolumn{2}{c|}{Metric} & MSE & MAE & MSE & MAE \\ \hline",
    "named": r"Dataset & Horizon & \multicolumn{2}{c|}{PatchTST} & \multicolumn{2}{c}{Ours} \\"
    r"& & MSE & MAE & MSE & MAE \\ \hline",
    "bare": r"& & \multicolumn{2}{c|}{PatchTST} & \multicolumn{2}{c}{Ours} \\ & & MSE & MAE & MSE & MAE \\ \hline",
}
ROWS = r"""
\multirow{3}{*}{ETTh1} & 96 & 0.394 & 0.406 & 0.378 & 0.397 \\
 & 192 & 0.440 & 0.435 & 0.429 & 0.428 \\
 & Avg & 0.417 & 0.421 & 0.404 & 0.413 \\
\multirow{3}{*}{ETTm1} & 96 & 0.394 & 0.406 & 0.378 & 0.397 \\
 & 192 & 0.440 & 0.435 & 0.429 & 0.428 \\
 & Avg & 0.417 & 0.421 & 0.404 & 0.413 \\"""
COUNT = r"\multicolumn{2}{c|}{$1^{\text{st}}$ Count} & 0 & 0 & 10 & 10 \\"


def table(corner, rows=ROWS):
    return import_text(
        rf"\begin{{table}}\caption{{Forecasting.}}\begin{{tabular}}{{c|c|cc|cc}}{CORNERS[corner]}{rows}"
        r"\end{tabular}\end{table}",
        "latex",
    )


@pytest.mark.parametrize("corner", CORNERS)
def test_horizons_and_avg_are_labels_under_their_data_set(corner):
    result = table(corner)
    assert len(result.claims) == 24
    assert not result.unread
    assert [claim.where.row for claim in result.claims[::4]] == [
        f"{name} / {part}" for name in ("ETTh1", "ETTm1") for part in ("96", "192", "Avg")
    ]
    if corner != "bare":
        assert {claim.scope.method for claim in result.claims} == {"PatchTST", "Ours"}
        assert result.claims[0].scope.task == "ETTh1 / 96"


def test_horizons_without_an_average_are_labels_under_a_corner_that_spans_them():
    rows = r"\multirow{2}{*}{ETTh1} & 96 & 0.394 & 0.406 & 0.378 & 0.397 \\ & 192 & 0.440 & 0.435 & 0.429 & 0.428 \\"
    assert {claim.scope.task for claim in table("stacked", rows).claims} == {"ETTh1 / 96", "ETTh1 / 192"}


@pytest.mark.parametrize("corner", ["stacked", "named"])
def test_a_count_of_first_places_is_a_metric_of_its_own(corner):
    counts = table(corner, ROWS + COUNT).claims[-4:]
    assert [claim.printed for claim in counts] == ["0", "0", "10", "10"]
    assert all("Count" in claim.scope.metric and claim.scope.metric != "MSE" for claim in counts)


def test_whole_numbers_behind_a_method_are_results(latex_table):
    rows = "Method & Score & A \\\\ \\midrule\nDQN & 96 & 1.5 \\\\ PPO & 192 & 2.5 \\\\ SAC & 336 & 3.5 \\\\"
    result = latex_table(rows, 2, "Returns.")
    assert [claim.printed for claim in result.claims] == ["96", "1.5", "192", "2.5", "336", "3.5"]


def test_an_average_below_the_last_group_of_rows_is_not_taken_for_that_of_the_group(tmp_path):
    """It is the mean of all four rows; where every group has its own, each is held against its group."""
    groups = (
        r"\multicolumn{3}{l}{Gym} \\ hopper & 50.0 & 60.0 \\ walker & 70.0 & 80.0 \\ %s"
        r"\multicolumn{3}{l}{Adroit} \\ pen & 10.0 & 30.0 \\ door & 20.0 & 40.0 \\ Average & %s \\"
    )
    for own, last, told in (("", "37.5 & 52.5", 0), (r"Average & 60.0 & 70.0 \\", "95.0 & 35.0", 1)):
        path = tmp_path / f"paper{told}.tex"
        body = r"Task & A & Ours \\ \hline " + groups % (own, last)
        path.write_text(
            rf"\begin{{table}}\caption{{Returns.}}\begin{{tabular}}{{lcc}}{body}\end{{tabular}}\end{{table}}"
        )
        findings = check_claims([load(str(path))], ["AVG", "AVG-RANGE"]).findings
        assert len(findings) == told


def test_an_unknown_heading_beside_the_metric_of_the_caption_in_another_word_is_a_metric(latex_table):
    rows = "Method & Error & Foo \\\\ \\midrule\nA & 20.1 & 5.0 \\\\"
    assert [claim.scope.metric for claim in latex_table(rows, 2, "Error rates.").claims][1] == "Foo"
