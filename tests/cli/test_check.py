"""`bench check`: what it prints, and the exit codes that scripts rely on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from benchmark.cli.check import command, default_claims, last_spec
from benchmark.cli.errors import guarded
from benchmark.store.layout import Layout
from benchmark.store.runs import RunRecord, save_run

SOUND = """
id: sound
tables:
  - table: Table 1
    columns: task
    shared: {unit: percent, direction: max, n: 1, scope: {metric: accuracy, budget: 1 epoch}}
    header: [A]
    cells: {Default: [83.38], Mask: [85.82]}
"""
WARNED = SOUND + "text_claims: [{text: improves, method: Mask, baseline: Default}]\n"


def bench(*args: str) -> Result:
    return CliRunner().invoke(command, list(args), standalone_mode=False)


def ended(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    """Exit code and output through the program's own error boundary."""
    with pytest.raises(SystemExit) as end:
        guarded(command, list(args))
    told = capsys.readouterr()
    return int(end.value.code or 0), told.out, told.err


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    path = tmp_path / "claims.yaml"
    path.write_text(SOUND)
    return path


def test_paper_is_checked_without_arguments_and_ends_with_four(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, out, _ = ended(capsys, "--store", str(tmp_path / "none"))
    assert code == 4
    for words in (
        "85.92 in Table 3 but 85.82 in Table 5",
        "85.92 − 83.38 = 2.54",
        "87.45 in Table 1 but 87.47 in Table 4",
        "0.0029 in Table 1 but 0.02 in Table 4",
        "0.0051 in Table 1 and 0.01 in Table 4",
        "one run each",
    ):
        assert words in " ".join(out.split())
    assert "4 errors" in out.splitlines()[-1]


def test_sound_file_ends_with_zero(capsys: pytest.CaptureFixture[str], claims: Path) -> None:
    code, out, _ = ended(capsys, str(claims))
    assert code == 0
    assert out.startswith("0 errors, 0 warnings")


def test_warnings_end_with_zero_unless_strict(capsys: pytest.CaptureFixture[str], claims: Path) -> None:
    claims.write_text(WARNED)
    assert ended(capsys, str(claims), "--only", "SINGLE")[0] == 0
    assert ended(capsys, str(claims), "--only", "SINGLE", "--strict")[0] == 4


def test_excepted_check_does_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ended(capsys, "arxiv-2608.00418", "--except", "XT-DUP", "--except", "DELTA")
    assert code == 0
    assert "XT-DUP" not in out


def test_json_is_one_document(claims: Path) -> None:
    result = bench(str(claims), "arxiv-2608.00418", "--json")
    data = json.loads(result.output)
    assert data["sources"] == ["sound", "arxiv-2608.00418"]
    assert data["errors"] == 4
    assert result.return_value == 4


def test_every_format_is_printed() -> None:
    assert bench("arxiv-2608.00418", "--format", "github").output.startswith("::error file=")
    log = json.loads(bench("arxiv-2608.00418", "--format", "sarif").output)
    assert log["version"] == "2.1.0"
    assert len(log["runs"][0]["results"]) == 9


def test_coverage_tells_what_was_not_testable() -> None:
    out = bench("arxiv-2608.00418", "--coverage").output
    assert "NOISE         NOT_TESTABLE: 0 agree; 30 not testable: no spread and no number of items" in out
    assert "power:" in out


def test_checks_are_listed_and_explained() -> None:
    assert "XT-DUP" in bench("--list").output
    assert len(json.loads(bench("--list", "--json").output)) >= 30
    told = bench("--explain", "delta").output
    for heading in ("Formula:", "Source:", "Power:", "Blind spot:"):
        assert heading in told
    assert json.loads(bench("--explain", "REL%", "--json").output)["id"] == "REL"


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--only", "DETLA"], "did you mean 'DELTA'"),
        (["arxiv-2608.0418"], "did you mean 'arxiv-2608.00418'"),
        (["no-such-file.yaml"], "no such claims file"),
        (["--explain", "nonsense"], "no check called 'nonsense'"),
        (["--only", "DELTA", "--except", "delta"], "DELTA named by --only and by --except"),
        (["--json", "--format", "github"], "--json and --format github ask for two formats"),
        (["--list", "--format", "sarif"], "--list prints text or json"),
        (["EMPTY.md"], "no numbers to check in"),
    ],
)
def test_wrong_use_ends_with_two_and_says_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, args: list[str], told: str
) -> None:
    empty = tmp_path / "empty.md"
    empty.write_text("No table here.\n")
    code, _, err = ended(capsys, *(str(empty) if arg == "EMPTY.md" else arg for arg in args))
    assert code == 2
    assert told in err


def test_bad_claims_file_is_not_called_a_spec(capsys: pytest.CaptureFixture[str], claims: Path) -> None:
    claims.write_text("id: x\nclaim: []\n")
    code, _, err = ended(capsys, str(claims))
    assert code == 2
    assert "1 problem in the claims:" in err
    assert bench(str(claims.with_name("none")), "--list", "--json", "--format", "json").return_value == 0


def ran(store: Path, claims: Path, **spec: object) -> None:
    save_run(
        Layout(store), RunRecord("run-1", started_at="2026-01-01T00:00:00Z", spec={"claims": [str(claims)], **spec})
    )


def test_claims_of_the_last_run_are_the_default(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, claims: Path
) -> None:
    ran(tmp_path / "store", claims)
    code, out, _ = ended(capsys, "--store", str(tmp_path / "store"))
    assert code == 0
    assert "2 numbers of sound" in out


def test_experiment_may_raise_lower_or_drop_a_check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, claims: Path
) -> None:
    claims.write_text(WARNED)
    for checks, code in (({}, 0), ({"SINGLE": {"severity": "error"}}, 4), ({"SINGLE": {"severity": "off"}}, 0)):
        ran(tmp_path / "store", claims, checks=checks)
        assert ended(capsys, "--store", str(tmp_path / "store"), "--only", "SINGLE")[0] == code
    ran(tmp_path / "store", claims, checks={"SINGLE": {"severity": "error", "except": ["Ma*"]}})
    assert ended(capsys, "--store", str(tmp_path / "store"), "--only", "SINGLE")[0] == 0


def test_damaged_run_record_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "damaged.json").write_text("{")
    assert default_claims(last_spec(tmp_path)) == ("arxiv-2608.00418",)


def test_tables_of_a_latex_file_are_checked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    paper = tmp_path / "paper.tex"
    paper.write_text(LATEX)
    code, out, _ = ended(capsys, str(paper))
    told = " ".join(out.split())
    assert code == 4
    assert "F-BOUND error: F1 29.4 exceeds 2 × 12.5 = 25" in told
    assert "85.92 in Table 1 but 85.82 in Table 2" in told
    assert "the printed difference agrees with 85.82 only" in told


LATEX = r"""
\begin{table} \caption{Top-1 accuracy (\%).}
\begin{tabular}{lc}
\toprule Method & ImageNet-100 \\ \midrule
Default & 83.38 \\ Mask & \textbf{85.92} \\ \bottomrule
\end{tabular} \end{table}
\begin{table} \caption{Ablation, top-1 accuracy (\%).}
\begin{tabular}{lc}
\toprule Method & ImageNet-100 \\ \midrule
Default & 83.38 \\ Fixed mask & 81.78 \\ Mask & \textbf{85.82} (+2.44) \\ \bottomrule
\end{tabular} \end{table}
\begin{table}
\begin{tabular}{lccc}
Method & Precision & Recall & F1 \\ \hline
A & 34.0 & 12.5 & 29.4 \\ B & 85.5 & 80.2 & 82.8 \\
\end{tabular} \end{table}
"""
