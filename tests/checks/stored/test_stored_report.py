"""Settings of an experiment, acknowledgements, the line after a run, and the command on a store."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from benchmark.cli.check import command
from benchmark.cli.errors import guarded
from benchmark.errors import SpecError, StoreError, UsageError
from leaderboard.checks import render
from leaderboard.checks.api import check_store, store_summary
from leaderboard.checks.finding import Severity
from leaderboard.checks.registry import catalogue
from leaderboard.checks.runner import overrides_of

World = Any
OTHER_LOSS = {("mask", 0): {"finals": {"perplexity": 1.9}}}
"""A warning of PPL."""


def severities(world: World, id: str) -> list[Severity]:
    return [finding.severity for finding in check_store(world.store, world.loaded, only=[id]).findings]


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("{}", [Severity.WARNING]),
        ("{PPL: {severity: error}}", [Severity.ERROR]),
        ("{PPL: {severity: info}}", [Severity.INFO]),
        ("{PPL: {severity: 'off'}}", []),
        ("{PPL: {except: mask}}", []),
        ("{PPL: {except: [t*]}}", []),
        ("{PPL: {except: perplexity}}", []),
        ("{PPL: {except: default}}", [Severity.WARNING]),
        ("{PPL: {except: 'toy × mask'}}", []),
        ("{PPL: {except: 'toy × default'}}", [Severity.WARNING]),
    ],
)
def test_experiment_sets_severity_and_exceptions(world: World, setting: str, expected: list[Severity]) -> None:
    world.spec(checks=setting)
    world.fill(OTHER_LOSS)
    assert severities(world, "PPL") == expected


def test_check_of_notes_may_be_raised(world: World) -> None:
    values = {("mask", seed): {"finals": {"accuracy": x}} for seed, x in enumerate((90.1, 90.2, 90.3, 90.4, 70))}
    world.spec(checks="{OUTLIER: {severity: warning, except: default}}")
    world.fill(values)
    assert severities(world, "OUTLIER") == [Severity.WARNING]


@pytest.mark.parametrize(
    ("id", "change", "loose"),
    [
        ("DB-BUDGET", {("mask", seed): {"parameters": 1100} for seed in range(5)}, 1.2),
        ("OUTLIER", {("mask", s): {"finals": {"accuracy": x}} for s, x in enumerate((90, 91, 92, 93, 99))}, 9),
    ],
)
def test_threshold_decides(world: World, id: str, change: dict[Any, Any], loose: float) -> None:
    others = {("default", seed): {"finals": {"accuracy": float(seed)}} for seed in range(5)}
    world.fill(others | change)
    assert len(severities(world, id)) == 1
    world.spec(checks=f"{{{id}: {{threshold: {loose}}}}}")
    assert severities(world, id) == []


def test_threshold_of_repeated_attempts_is_a_relative_difference(world: World) -> None:
    world.fill({("mask", 1): {"finals": {"loss": 0.5}}})
    world.again(("mask", 1), finals={"loss": 0.5000001})
    assert len(severities(world, "DB-NONDET")) == 1
    world.spec(checks="{DB-NONDET: {threshold: 1e-6}}")
    assert severities(world, "DB-NONDET") == []
    world.spec(checks="{DB-NONDET: {threshold: 1e-8}}")
    assert len(severities(world, "DB-NONDET")) == 1


def test_every_threshold_there_is_has_a_test() -> None:
    assert {c.id for c in catalogue() if c.threshold is not None} == {"DB-BUDGET", "OUTLIER", "DB-NONDET"}


def test_threshold_below_zero_is_told_when_the_spec_is_read(world: World) -> None:
    with pytest.raises(SpecError, match=r"checks\.OUTLIER\.threshold"):
        world.spec(checks="{OUTLIER: {threshold: -3}}")


def test_threshold_where_there_is_none_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"'PPL' has no threshold to set; these have: .*DB-BUDGET \(1.05\)"):
        overrides_of({"ppl": {"threshold": 2}})
    for wrong in (-3, -0.1, float("inf"), float("nan")):
        with pytest.raises(
            UsageError, match=r"threshold of check 'OUTLIER' is .*; expected a finite number, 0 or more"
        ):
            overrides_of({"OUTLIER": {"threshold": wrong}})
    with pytest.raises(UsageError, match="did you mean 'OUTLIER'"):
        overrides_of({"OUTLEIR": {}})


# --- acknowledgements ----------------------------------------------------------------------------------------------


def keep(world: World, id: str, reason: str = "a plugin in which batches are averaged") -> None:
    finding = check_store(world.store, world.loaded, only=[id]).findings[0]
    text = f"ack:\n  - {{check: {id}, finding: {finding.fingerprint}, reason: {reason}}}\n"
    (world.store.root / "acknowledged.yaml").write_text(text)


def test_kept_finding_no_longer_counts(world: World) -> None:
    world.fill(OTHER_LOSS)
    keep(world, "PPL")
    report = check_store(world.store, world.loaded)
    assert report.count(Severity.WARNING) == 0
    assert "kept because a plugin in which batches" in render.text(report)


def test_text_tells_how_to_keep_a_finding(world: World) -> None:
    world.fill(OTHER_LOSS)
    report = check_store(world.store, world.loaded, only=["PPL"])
    told = " ".join(render.text(report).split())
    assert f"acknowledged.yaml: ack: [{{check: PPL, finding: {report.findings[0].fingerprint}, reason: ...}}]" in told


def test_reason_expires_when_a_number_changes(world: World) -> None:
    world.fill({("mask", 4): {"execution": "alone"}})
    keep(world, "DB-MIXENV")
    assert severities_open(world) == []
    world.store.root.rename(world.folder / "old")
    world.fill({("mask", 4): {"execution": "alone", "finals": {"loss": 0.123}}})
    (world.folder / "old" / "acknowledged.yaml").rename(world.store.root / "acknowledged.yaml")
    assert severities_open(world) == [Severity.WARNING]
    assert "has expired" in check_store(world.store, world.loaded, only=["DB-MIXENV"]).findings[0].note


def test_entry_that_matches_nothing_is_told_also_beside_one_that_does(world: World) -> None:
    world.fill(OTHER_LOSS)
    keep(world, "PPL")
    path = world.store.root / "acknowledged.yaml"
    more = "  - {check: PPL, finding: '00000000', reason: old}\n  - {check: NOPE, finding: x, reason: typo}\n"
    path.write_text(path.read_text() + more)
    report = check_store(world.store, world.loaded)
    assert report.count(Severity.WARNING) == 0
    assert len(report.unmatched) == 2
    assert "ack of PPL 00000000 (old) matches no finding" in report.unmatched[0]
    assert "no check called 'NOPE'" in report.unmatched[1]
    assert len(check_store(world.store, world.loaded, only=["DB-N"]).unmatched) == 1


def severities_open(world: World) -> list[Severity]:
    found = check_store(world.store, world.loaded, only=["DB-MIXENV"]).findings
    return [finding.severity for finding in found if finding.acknowledged is None]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- {check: PPL, finding: 1e345678, reason: x}", "1:1: expected keys"),
        ("ack: [{check: PPL, reason: x}]", "1:7: ack.0.finding: Field required"),
        ("ack:\n  - {check: PPL, finding: 1e345678, reason: ''}", "2:45: ack.0.reason"),
    ],
)
def test_wrong_file_of_reasons_is_told(world: World, text: str, told: str) -> None:
    world.fill()
    (world.store.root / "acknowledged.yaml").write_text(text)
    with pytest.raises(SpecError, match=told) as error:
        check_store(world.store, world.loaded)
    assert "1 problem in acknowledged.yaml" in str(error.value)


def test_empty_file_of_reasons_is_no_error(world: World) -> None:
    world.fill()
    (world.store.root / "acknowledged.yaml").write_text("\n")
    assert check_store(world.store, world.loaded).count(Severity.ERROR) == 0


# --- the line after a run ------------------------------------------------------------------------------------------


def test_summary_counts_and_names(world: World) -> None:
    world.fill(OTHER_LOSS | {("mask", 4): {"execution": "alone"}})
    assert store_summary(world.store, world.loaded) == (
        "Checks: 0 errors, 2 warnings (DB-MIXENV, PPL); bench check shows them"
    )


def test_summary_of_a_sound_store_is_short(world: World) -> None:
    world.fill({("mask", seed): {"finals": {"accuracy": 90.0 + seed}} for seed in range(5)})
    assert store_summary(world.store, world.loaded).startswith("Checks: 0 errors, 0 warnings")


def test_summary_never_fails(world: World) -> None:
    assert "could not be made" in store_summary(world.store)
    world.fill()
    (world.store.root / "acknowledged.yaml").write_text("- nonsense: [")
    line = store_summary(world.store, world.loaded)
    assert line.startswith("Checks: could not be made (")
    assert "\n" not in line


def test_summary_of_hundreds_of_cells_takes_less_than_a_second(world: World) -> None:
    world.spec(seeds=200)
    world.fill()
    store_summary(world.store, world.loaded)
    fastest = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        store_summary(world.store, world.loaded)
        fastest = min(fastest, time.perf_counter() - start)
    assert fastest < 1


def test_store_without_results_is_an_error_of_the_store(world: World) -> None:
    with pytest.raises(StoreError, match="no results"):
        check_store(world.store)


def test_line_stands_at_the_end_of_a_run(capsys: pytest.CaptureFixture[str], world: World) -> None:
    from benchmark.cli.run import command as run

    world.fill(OTHER_LOSS)
    with pytest.raises(SystemExit) as end:
        guarded(run, [str(world.loaded.path), "--store", str(world.store.root)])
    out = capsys.readouterr().out
    assert end.value.code in (0, None)
    assert "Checks: 0 errors, 1 warning (PPL)" in out


@pytest.mark.parametrize("format", ["html", "markdown"])
def test_report_shows_findings_in_the_store(world: World, format: str) -> None:
    from leaderboard.render.report import render
    from leaderboard.report import make_page

    world.fill(OTHER_LOSS)
    text = render(make_page(world.store, world.loaded), format)
    assert "Findings in the store" in text
    assert "40 stored numbers checked by 18 checks" in text
    assert "WARNING PPL: toy × mask, seed 0" in text


def test_report_of_the_last_run_keeps_its_settings(world: World) -> None:
    from leaderboard.report import make_page

    world.spec(checks="{PPL: {severity: error}}")
    world.fill(OTHER_LOSS)
    world.ran()
    world.loaded.path.unlink()
    page = make_page(world.store, plugins=[world.folder / "plugin.py"])
    assert page.stored_findings[0].startswith("ERROR PPL")


# --- the command ---------------------------------------------------------------------------------------------------


def ended(capsys: pytest.CaptureFixture[str], world: World, *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        guarded(command, ["--store", str(world.store.root), *args])
    told = capsys.readouterr()
    return int(end.value.code or 0), told.out, told.err


def test_command_checks_the_last_run_without_arguments(capsys: pytest.CaptureFixture[str], world: World) -> None:
    world.fill(OTHER_LOSS)
    world.ran()
    code, out, err = ended(capsys, world)
    assert (code, err) == (0, "")
    assert "PPL warning: toy × mask, seed 0" in out
    assert "40 numbers of" in out
    assert "arxiv" not in out
    assert ended(capsys, world, "--strict")[0] == 4
    assert ended(capsys, world, "--strict", "--except", "PPL", "--except", "ppl")[0] == 0


def test_error_in_the_store_ends_with_four(capsys: pytest.CaptureFixture[str], world: World) -> None:
    world.fill({("mask", 0): {"finals": {"accuracy": 101.0}}})
    world.ran()
    assert ended(capsys, world, "--only", "DOMAIN")[0] == 4


def test_settings_of_the_run_hold_for_the_store(capsys: pytest.CaptureFixture[str], world: World) -> None:
    world.spec(checks="{PPL: {severity: error}}")
    world.fill(OTHER_LOSS)
    world.ran()
    assert ended(capsys, world)[0] == 4


def test_claims_of_the_experiment_are_checked_with_the_store(capsys: pytest.CaptureFixture[str], world: World) -> None:
    world.spec(claims="arxiv-2608.00418")
    world.fill()
    world.ran()
    code, out, _ = ended(capsys, world, "--json")
    data = json.loads(out)
    assert code == 4
    assert len(data["sources"]) == 2
    assert set(data["checks"]) == {check.id for check in catalogue()}


def test_without_results_the_shipped_claims_are_checked_and_said_so(
    capsys: pytest.CaptureFixture[str], world: World
) -> None:
    code, _, err = ended(capsys, world)
    assert code == 4
    assert "no results in" in err
    assert "checked arxiv-2608.00418 only" in err


def test_exported_table_is_compared(capsys: pytest.CaptureFixture[str], world: World) -> None:
    from leaderboard.api import render_leaderboard

    world.fill(leave_out=[("mask", 4)])
    world.ran()
    table = world.folder / "table.tex"
    table.write_text(render_leaderboard(world.store, world.loaded, "latex"))
    assert ended(capsys, world, "--table", str(table), "--only", "STALE")[0] == 0
    world.again(("mask", 4))
    code, out, _ = ended(capsys, world, "--table", str(table), "--only", "STALE")
    assert code == 4
    assert "STALE error" in out


def test_table_without_results_is_a_usage_error(capsys: pytest.CaptureFixture[str], world: World) -> None:
    table = world.folder / "table.md"
    table.write_text("x")
    code, _, err = ended(capsys, world, "--table", str(table))
    assert code == 2
    assert "cannot be compared" in err


def test_machine_formats_hold_store_findings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, world: World
) -> None:
    world.fill(OTHER_LOSS)
    world.ran()
    monkeypatch.chdir(world.folder)
    assert "::warning file=results,title=PPL::toy × mask, seed 0" in ended(capsys, world, "--format", "github")[1]
    log = json.loads(ended(capsys, world, "--format", "sarif")[1])
    result = next(result for result in log["runs"][0]["results"] if result["ruleId"] == "PPL")
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "results"


def test_list_shows_all_checks(capsys: pytest.CaptureFixture[str], world: World) -> None:
    assert len(json.loads(ended(capsys, world, "--list", "--json")[1])) == 38
    assert "claims store" in ended(capsys, world, "--list")[1]


def test_documented_file_name_is_the_one_read() -> None:
    text = (Path(__file__).parents[3] / "docs" / "checks.md").read_text(encoding="utf-8")
    assert "acknowledged.yaml" in text
