"""Orders and identities, averages and what explains them, and input nobody expects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaderboard.checks.finding import Finding, Severity, Verdict
from leaderboard.checks.relations import IDENTITIES
from leaderboard.checks.runner import Report, check_claims
from leaderboard.claims import load
from leaderboard.claims.model import Claim, ClaimSet, Delta, Scope, Spread, Where


def part(make: Callable[..., Claim], role: str, printed: str, **fields: object) -> Claim:
    return make(printed, **{"role": role, "group": "g", "unit": "raw", "column": role, **fields})


@pytest.mark.parametrize(
    ("roles", "verdict"),
    [
        ({"mae": "0.40", "rmse": "0.50"}, "PASS"),
        ({"mae": "0.52", "rmse": "0.50"}, "FAIL"),
        ({"mse": "0.25", "rmse": "0.50"}, "PASS"),
        ({"mse": "0.30", "rmse": "0.50"}, "PASS"),
        ({"mse": "0.20", "rmse": "0.50"}, "FAIL"),
        ({"iou": "0.50", "dice": "0.66"}, "PASS"),
        ({"iou": "0.50", "dice": "0.70"}, "FAIL"),
        ({"iou": "0.50", "dice": "0.45"}, "FAIL"),
        ({"pass@1": "0.50", "pass@10": "0.45"}, "FAIL"),
        ({"em": "80.1", "f1": "80.1"}, "PASS"),
        ({"em": "80.2", "f1": "80.1"}, "PASS"),
        ({"em": "80.3", "f1": "80.1"}, "FAIL"),
        ({"map": "41.0", "ap50": "40.1"}, "FAIL"),
        ({"sup em": "80.3", "sup f1": "80.1"}, "FAIL"),
        ({"joint em": "40.3", "joint f1": "40.1"}, "FAIL"),
        ({"joint f1": "60.3", "f1": "60.1", "sup f1": "70.0"}, "FAIL"),
        ({"joint f1": "70.3", "f1": "80.1", "sup f1": "70.0"}, "FAIL"),
        ({"joint f1": "60.1", "f1": "80.1", "sup f1": "70.0"}, "PASS"),
        ({"joint f1": "60.3", "f1": "60.1"}, "NOT_TESTABLE"),
    ],
)
def test_order_of_two_metrics(
    make: Callable[..., Claim], run: Callable[..., Report], roles: dict[str, str], verdict: str
) -> None:
    report = run("ORDER", *(part(make, role, printed) for role, printed in roles.items()))
    assert report.verdict("ORDER") == verdict


@pytest.mark.parametrize(
    ("metrics", "verdict"),
    [
        ({"R@5": "95.3", "R@10": "94.6"}, "FAIL"),
        ({"R@1": "70.1", "R@5": "95.3", "R@10": "95.3"}, "PASS"),
        ({"R@1": "96.0", "R@10": "94.6"}, "FAIL"),
        ({"Recall@20": "31.0", "Recall@50": "30.1"}, "FAIL"),
        ({"Hits@1": "0.512", "Hits@10": "0.498"}, "FAIL"),
        ({"recall_at_5": "0.512", "recall_at_10": "0.498"}, "FAIL"),
        ({"I2T R@1": "60.0", "T2I R@5": "50.0"}, "NOT_TESTABLE"),
        ({"P@1": "60.0", "P@5": "50.0"}, "NOT_TESTABLE"),
        ({"NDCG@5": "60.0", "NDCG@10": "50.0"}, "NOT_TESTABLE"),
        ({"R@50": "60.0", "R@75": "50.0"}, "NOT_TESTABLE"),
        ({"R@1, IoU=0.5": "60.0", "R@1, IoU=0.7": "50.0"}, "NOT_TESTABLE"),
    ],
)
def test_retrieval_finds_no_less_among_more(
    make: Callable[..., Claim], run: Callable[..., Report], metrics: dict[str, str], verdict: str
) -> None:
    cells = [make(text, metric=metric, method="mine", task="COCO", column=metric) for metric, text in metrics.items()]
    assert run("ORDER", *cells).verdict("ORDER") == verdict


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("ANS-EM", "ANS-F1"),
        ("Answer EM", "Answer F1"),
        ("Sup EM", "Sup F1"),
        ("Supporting facts EM", "Supporting facts F1"),
        ("Joint EM", "Joint F1"),
        ("JOINT-EM", "ANS-EM"),
        ("joint_em", "sup_em"),
        ("% Test Accuracy", "% Train Accuracy"),
    ],
)
def test_order_is_read_from_the_names_of_metrics(
    make: Callable[..., Claim], run: Callable[..., Report], less: str, more: str
) -> None:
    def said(a: str, b: str) -> Verdict:
        cells = [make(text, metric=metric, method="mine", column=metric) for metric, text in ((less, a), (more, b))]
        return run("ORDER", *cells).verdict("ORDER")

    assert said("50.1", "60.2") is Verdict.PASS
    assert said("60.2", "50.1") is Verdict.FAIL


def test_accuracy_at_one_and_five_is_told_once(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    cells = [make(text, metric=metric, method="mine") for metric, text in (("acc@1", "96.0"), ("acc@5", "94.6"))]
    single(run("ORDER", *cells))


def test_slip_is_the_nearest_and_has_no_leading_zero(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    finding = single(run("ORDER", part(make, "top1", "82.10"), part(make, "top5", "81.97")))
    told = next(e.arithmetic for e in finding.explanations if e.title.startswith("a slip"))
    assert told == "82.10 for 81.20 or 81.10 or 80.10"
    small = single(run("ORDER", part(make, "top1", "0.82"), part(make, "top5", "0.79")))
    assert any(e.arithmetic.startswith("0.82 for 0.80 or 0.7") for e in small.explanations)


def test_squared_error_of_one_run_is_exactly_the_square(make: Callable[..., Claim], run: Callable[..., Report]) -> None:
    assert (
        run("ORDER", part(make, "mse", "0.30", n=1), part(make, "rmse", "0.50", n=1)).verdict("ORDER") is Verdict.FAIL
    )


def test_joint_exact_match_has_a_least_value(make: Callable[..., Claim], run: Callable[..., Report]) -> None:
    def joint(printed: str) -> Report:
        roles = {"joint em": printed, "em": "80.0", "sup em": "70.0"}
        return run("ORDER", *(part(make, role, text, unit="percent") for role, text in roles.items()))

    assert joint("50.0").verdict("ORDER") is Verdict.PASS
    assert joint("49.0").verdict("ORDER") is Verdict.FAIL
    assert joint("71.0").verdict("ORDER") is Verdict.FAIL


@pytest.mark.parametrize(
    ("loss", "ppl", "n", "verdict"),
    [
        ("3.871", "47.99", None, "PASS"),
        ("3.950", "59.94", None, "FAIL"),
        ("3.044", "18.99", None, "FAIL"),
        ("3.044", "21.03", None, "NOT_TESTABLE"),
        ("3.950", "59.94", 3, "PASS"),
        ("3.950", "59.94", 1, "FAIL"),
    ],
)
def test_perplexity_of_unstated_runs_is_that_of_one_run_or_a_little_more(
    make: Callable[..., Claim], run: Callable[..., Report], loss: str, ppl: str, n: int | None, verdict: str
) -> None:
    report = run("PPL", part(make, "loss", loss, n=n), part(make, "perplexity", ppl, n=n))
    assert report.verdict("PPL") == verdict
    said = [e.title for finding in report.findings for e in finding.explanations if e.fits and "Jensen" in e.title]
    assert bool(said) == ((ppl, n) == ("59.94", None))


def three_parts(make: Callable[..., Claim], printed: str, sized: bool = False) -> list[Claim]:
    """An average of 30, 80 and 80."""
    values = (("a", "30.0", 10), ("b", "80.0", 12), ("c", "80.0", 13))
    parts = [part(make, "part", text, task=task, items=items if sized else None) for task, text, items in values]
    return [part(make, "average", printed), *parts]


@pytest.mark.parametrize(
    ("printed", "explanation"),
    [("55.0", "parts left out"), ("57.7", "the geometric mean"), ("51.4", "the harmonic mean")],
)
def test_other_mean_that_fits_is_named(
    make: Callable[..., Claim],
    run: Callable[..., Report],
    single: Callable[[Report], Finding],
    printed: str,
    explanation: str,
) -> None:
    finding = single(run("AVG", *three_parts(make, printed)))
    assert explanation in [e.title for e in finding.explanations if e.fits]
    assert finding.severity is Severity.WARNING


def test_average_on_another_scale_is_named(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    finding = single(run("AVG-RANGE", *three_parts(make, "0.633")))
    assert str(finding.explanations[0]) == "a fraction beside parts in percent: 0.633 × 100"


@pytest.mark.parametrize(("printed", "sized"), [("63.3", False), ("63.3", True), ("65.7", True)])
def test_equal_weights_and_sizes_are_both_sound(
    make: Callable[..., Claim], run: Callable[..., Report], printed: str, sized: bool
) -> None:
    assert run("AVG", *three_parts(make, printed, sized)).verdict("AVG") is Verdict.PASS


def test_nested_mean_is_named(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    values = (("MNLI m", "80.0"), ("MNLI mm", "84.0"), ("QNLI", "90.0"))
    claims = [part(make, "part", text, task=task) for task, text in values]
    finding = single(run("AVG", part(make, "average", "86.0"), *claims))
    assert finding.severity is Severity.WARNING
    assert any(e.fits and "mean of means" in e.title for e in finding.explanations)


def test_average_column_is_recognised_by_its_heading(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    shared = {"method": "mine", "metric": "acc", "row": "mine", "unit": "percent"}
    claims = [
        make(text, task=task, column=task, **shared) for task, text in (("A", "80.0"), ("B", "84.0"), ("Avg.", "83.0"))
    ]
    assert single(run("AVG", *claims)).severity is Severity.WARNING
    claims[-1] = make("82.0", task="Avg.", column="Avg.", **shared)
    assert run("AVG", *claims).findings == []


def row_of(make: Callable[..., Claim], *cells: tuple[str, str, str | None]) -> list[Claim]:
    """Cells (task, text, metric) of one row."""
    return [
        make(text, task=task, column=task, method="mine", row="mine", metric=metric) for task, text, metric in cells
    ]


def test_best_and_median_are_no_parts_of_a_mean(make: Callable[..., Claim], run: Callable[..., Report]) -> None:
    seeds = [("Seed 0", "81.2", "acc"), ("Seed 1", "81.6", "acc"), ("Seed 2", "80.9", "acc"), ("Mean", "81.2", "acc")]
    others = [("Best", "81.6", "acc"), ("Median", "81.2", "acc"), ("Min.", "80.9", "acc"), ("Std", "0.4", "acc")]
    assert run("AVG", *row_of(make, *seeds)).verdict("AVG") is Verdict.PASS
    assert run("AVG", *row_of(make, *seeds, *others)).verdict("AVG") is Verdict.PASS


def test_average_beside_a_cell_with_two_numbers_stays_in_their_range(
    make: Callable[..., Claim], run: Callable[..., Report], single: Callable[[Report], Finding]
) -> None:
    def glue(average: str, *more: tuple[str, str, str | None]) -> list[Claim]:
        pair = [("MRPC", "91.0", "F1"), ("MRPC", "87.7", "accuracy"), ("SST-2", "94.4", None)]
        return row_of(make, *pair, ("Average", average, None), *more)

    assert single(run("AVG-RANGE", *glue("95.2"))).severity is Severity.WARNING
    assert run("AVG-RANGE", *glue("91.9")).verdict("AVG-RANGE") is Verdict.PASS
    assert run("AVG-RANGE", *glue("92.0", ("QNLI", "94.5", None))).findings == []
    assert run("AVG", *glue("91.9")).verdict("AVG") is Verdict.PASS
    assert run("AVG", *glue("92.8", ("QNLI", "94.5", None))).verdict("AVG") is Verdict.PASS


def test_average_out_of_range_is_told_once(make: Callable[..., Claim]) -> None:
    claims = ClaimSet(id="t", claims=tuple(three_parts(make, "90.0")))
    assert [f.check for f in check_claims([claims], ["AVG", "AVG-RANGE"]).findings] == ["AVG-RANGE"]
    assert check_claims([claims], ["AVG"]).findings == []


def test_acknowledgement_line_silences_the_finding_it_was_printed_for(tmp_path: Path) -> None:
    shipped = load("arxiv-2608.00418")
    text = Path(shipped.path).read_text(encoding="utf-8")
    found = check_claims([shipped], ["XT-DUP"])
    lines = [f.as_json()["acknowledge"] for f in found.findings if f.severity is Severity.ERROR]
    entries = [line.removeprefix("ack: [").removesuffix("]").replace("...", "erratum") for line in lines]
    path = tmp_path / "kept.yaml"
    path.write_text(f"{text}\nack: [{', '.join(entries)}]\n", encoding="utf-8")
    assert check_claims([load(path)], ["XT-DUP"]).count(Severity.ERROR) == 0


ODD = st.one_of(
    st.sampled_from(["", "-", "nan", "1e400", "9" * 60, "0", "-0", "0.0", "1e-39", "1e39", "−5", "100", "+", "1,000"]),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str),
    st.text(max_size=6),
)
OTHERS = ("precision", "recall", "average", "part", "loss", "perplexity", "mse", "accuracy", "error", "sd", "variance")
ROLES = st.sampled_from([*sorted({role for entry in IDENTITIES for role in entry.roles}), *OTHERS])


@st.composite
def odd_claims(draw: st.DrawFn) -> Claim:
    names = st.sampled_from([None, "A", "B", "accuracy", "perplexity", "test"])
    return Claim(
        printed=draw(ODD),
        scope=Scope(task=draw(names), metric=draw(names), method=draw(names), split=draw(names), budget=draw(names)),
        where=Where(table=draw(st.sampled_from(["T1", "T2"])), row=draw(st.sampled_from(["", "r"]))),
        unit=draw(st.sampled_from(["percent", "fraction", "raw", "nats", "perplexity"])),
        rounding=draw(st.sampled_from(["nearest", "double", "truncated"])),
        direction=draw(st.sampled_from(["max", "min", "unknown"])),
        n=draw(st.sampled_from([None, 1, 2, 5])),
        items=draw(st.sampled_from([None, 1, 2, 100, 10**30])),
        spread=draw(
            st.one_of(st.none(), st.builds(Spread, printed=ODD, kind=st.sampled_from(["sd", "se", "unknown"])))
        ),
        values=tuple(draw(st.lists(ODD, max_size=3))),
        delta=draw(st.one_of(st.none(), st.builds(Delta, printed=ODD, baseline=names, relative=st.booleans()))),
        bold=draw(st.sampled_from([None, True, False])),
        role=draw(st.none() | ROLES),
        group=draw(st.sampled_from([None, "g"])),
    )


@settings(max_examples=300, deadline=None)
@given(st.lists(odd_claims(), max_size=8))
def test_no_input_makes_a_check_fall_over(claims: list[Claim]) -> None:
    report = check_claims([ClaimSet(id="odd", claims=tuple(claims))])
    assert report.numbers >= len(claims)
