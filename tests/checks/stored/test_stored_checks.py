"""Finer points of single checks of a store: severities, explanations, and what must stay silent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmark.records import CurvePoint
from leaderboard.checks.api import check_grid, check_store
from leaderboard.checks.finding import Finding, Severity
from leaderboard.checks.stored.budgets import declared
from leaderboard.reading import grid_of_store, registry_with

World = Any


def findings(world: World, id: str, **more: Any) -> list[Finding]:
    return check_store(world.store, world.loaded, only=[id], **more).findings


def only(world: World, id: str) -> Finding:
    found = findings(world, id)
    assert len(found) == 1, [finding.message for finding in found]
    return found[0]


def test_sound_store_has_no_error_and_no_warning(world: World) -> None:
    world.fill()
    report = check_store(world.store, world.loaded)
    assert [f.message for f in report.findings if f.severity is not Severity.INFO] == []
    assert report.numbers == 40


def test_cells_not_run_yet_are_a_warning_and_not_an_error(world: World) -> None:
    world.fill(leave_out=[("mask", 3), ("mask", 4)])
    finding = only(world, "DB-N")
    assert finding.severity is Severity.WARNING
    assert finding.arithmetic == "default n = 5, mask n = 3"
    assert any(e.fits and "not ended" in e.title for e in finding.explanations)


def test_equal_loss_of_seeds_in_all_rows_is_a_warning(world: World) -> None:
    failed = {"status": "failed", "finals": {}, "error": "boom"}
    world.fill({(name, 4): failed for name in ("default", "mask")})
    finding = only(world, "DB-N")
    assert finding.severity is Severity.WARNING
    assert "every row lost as many" in finding.message


def test_failure_rate_counts_every_planned_seed(world: World) -> None:
    world.fill({("mask", s): {"finals": {"loss": float("inf")}} for s in (0, 1)})
    assert only(world, "DB-NONFINITE").arithmetic == "failure rate 2/5 = 40 % (loss)"


def test_accuracies_that_agree_do_not_make_copies_of_seeds(world: World) -> None:
    world.fill({("mask", s): {"finals": {"accuracy": 91.25}} for s in range(5)})
    assert findings(world, "DB-DUPSEED") == []


def both_specs_in_one_grid(world: World) -> Any:
    """What a store looks like when it is read without its spec."""
    world.spec(strength=3.0)
    world.fill()
    world.spec(strength=2.0)
    world.fill()
    return grid_of_store(world.store, None, "compact", registry_with([world.folder / "plugin.py"]))


def test_two_specs_in_one_mean_are_an_error(world: World) -> None:
    grid = both_specs_in_one_grid(world)
    finding = check_grid(world.store, grid, only=["DB-SPECDRIFT"]).findings[0]
    assert finding.severity is Severity.ERROR
    assert "both are in this table" in finding.arithmetic


def test_two_specs_in_one_column_are_an_error(world: World) -> None:
    world.spec(rate=0.2)
    world.fill(leave_out=[("mask", seed) for seed in range(5)])
    world.spec(rate=0.1)
    world.fill(leave_out=[("default", seed) for seed in range(5)])
    grid = grid_of_store(world.store, None, "compact", registry_with([world.folder / "plugin.py"]))
    finding = check_grid(world.store, grid, only=["DB-SPECDRIFT"]).findings[0]
    assert finding.severity is Severity.ERROR
    assert "task 'toy' has 2 specs" in finding.message


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ((0.91, 88.0, 89.0, 90.0, 92.0), "toy × mask, seed 0: accuracy = 0.91 among values from 69.406 to 92"),
        ((0.88, 0.89, 0.90, 0.91, 0.92), "toy × mask, seed 0 and 4 more: accuracy = 0.88 among values"),
        ((0.1, 88.0, 89.0, 90.0, 92.0), ""),
        ((0.0, 88.0, 89.0, 90.0, 92.0), ""),
        ((0.91, 1.2, 0.8, 90.0, 92.0), ""),
    ],
)
def test_fraction_among_percentages_is_a_warning(world: World, values: tuple[float, ...], told: str) -> None:
    world.fill({("mask", seed): {"finals": {"accuracy": x}} for seed, x in enumerate(values)})
    found = findings(world, "DOMAIN")
    assert [f.severity for f in found] == ([Severity.WARNING] if told else [])
    assert all(told in f.message for f in found), found[0].message


def test_seed_that_stands_twice_in_one_mean_is_an_error(world: World) -> None:
    grid = both_specs_in_one_grid(world)
    finding = check_grid(world.store, grid, only=["DB-DUPSEED"]).findings[0]
    assert finding.severity is Severity.ERROR
    assert "seed 0, 1, 2, 3, 4 stands twice in one mean" in finding.message


def test_changed_task_is_named_with_the_field(world: World) -> None:
    world.spec(rate=0.2)
    world.fill()
    world.spec(rate=0.1)
    world.fill()
    assert "task 'toy' has 2 specs in this store: optimizer.learning_rate 0.2" in only(world, "DB-SPECDRIFT").message


def test_another_profile_is_no_drift(world: World) -> None:
    world.spec(strength=3.0, profile="paper")
    world.fill()
    world.spec(strength=2.0)
    world.fill()
    assert findings(world, "DB-SPECDRIFT") == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"code": {"commit": "b" * 40, "dirty": False}}, "commit aaaaaaaaaa (4 cells) and bbbbbbbbbb (1 cells)"),
        ({"code": {"commit": "a" * 40, "dirty": True}}, "uncommitted changes no (4 cells) and yes (1 cells)"),
        ({"threads": 4}, "threads 1 (4 cells) and 4 (1 cells)"),
        ({"cpu": "two", "machine": "arm"}, "machine x86_64 (4 cells) and arm (1 cells); CPU one"),
        (
            {"plugins": {"initializer": "d" * 64}},
            "initializer's code cccccccccc (4 cells) and dddddddddd (1 cells)",
        ),
        ({"initbench": "0.2.0"}, "code version 0.1.0 (4 cells) and 0.2.0 (1 cells)"),
    ],
)
def test_what_one_seed_was_made_with_is_told(
    world: World, origin: Callable[..., Any], changes: dict[str, Any], told: str
) -> None:
    world.fill({("mask", 4): origin(**changes)})
    finding = only(world, "DB-MIXENV")
    assert finding.severity is Severity.WARNING
    assert told in finding.message


def test_mode_and_device_are_told_but_not_stack_size_and_number_of_the_gpu(world: World) -> None:
    world.fill({("mask", 4): {"execution": "stack[2]"}, ("mask", 3): {"device": "cpu:1"}})
    assert findings(world, "DB-MIXENV") == []
    world.again(("default", 0))
    world.store.root.rename(world.folder / "first")
    world.fill({("mask", 4): {"execution": "alone", "device": "cuda:0"}})
    assert "device, execution mixed inside 1 mean" in only(world, "DB-MIXENV").message


def test_uncommitted_code_everywhere_is_a_note(world: World, origin: Callable[..., Any]) -> None:
    dirty = origin(code={"commit": "a" * 40, "dirty": True})
    world.fill({(name, seed): dirty for name in ("default", "mask") for seed in range(5)})
    assert only(world, "DB-MIXENV").severity is Severity.INFO


def test_seeds_of_one_mean_on_other_data_are_an_error(world: World, origin: Callable[..., Any]) -> None:
    one, other = origin(data={"images": "1" * 16}), origin(data={"images": "2" * 16})
    world.fill({(name, seed): one for name in ("default", "mask") for seed in range(5)} | {("mask", 4): other})
    finding = only(world, "DB-MIXENV")
    assert finding.severity is Severity.ERROR
    assert finding.message == (
        "data set images mixed inside 1 mean of toy: content 1111111111 (9 cells) and 2222222222 (1 cells)"
    )
    assert [cell.printed for cell in finding.cells] == [
        "data set images 1111111111: seeds 0, 1, 2, 3", "data set images 2222222222: seeds 4",
    ]  # fmt: skip


def test_means_of_one_column_on_other_data_are_an_error_too(world: World, origin: Callable[..., Any]) -> None:
    world.fill(
        {("default", seed): origin(data={"images": "1" * 16, "text": "3" * 16}) for seed in range(5)}
        | {("mask", seed): origin(data={"images": "2" * 16, "text": "3" * 16}) for seed in range(5)}
    )
    finding = only(world, "DB-MIXENV")
    assert finding.severity is Severity.ERROR
    assert "data set images is not the same in all means of toy: content 1111111111 (5 cells)" in finding.message


def test_cells_stored_without_a_word_about_their_data_say_nothing(world: World, origin: Callable[..., Any]) -> None:
    world.fill({("mask", seed): origin(data={"images": "1" * 16}) for seed in range(3)})
    assert findings(world, "DB-MIXENV") == []


def test_other_data_explains_other_numbers(world: World, origin: Callable[..., Any]) -> None:
    world.fill({("mask", 1): origin(data={"images": "1" * 16})})
    world.again(("mask", 1), finals={"loss": 0.5}, **origin(data={"images": "2" * 16}))
    assert "data set images 1111111111 and 2222222222" in only(world, "DB-NONDET").explanations[0].arithmetic


def test_rerun_in_another_environment_is_explained(world: World, origin: Callable[..., Any]) -> None:
    world.fill()
    world.again(("mask", 1), finals={"loss": 0.5}, execution="alone", **origin(threads=2))
    explanation = only(world, "DB-NONDET").explanations[0]
    assert explanation.fits
    assert "threads 1 and 2; execution stack and alone" in explanation.arithmetic


def test_nan_in_both_attempts_is_the_same_number(world: World) -> None:
    world.fill({("mask", 1): {"finals": {"slope": float("nan")}}})
    world.again(("mask", 1), finals={"slope": float("nan")})
    assert findings(world, "DB-NONDET") == []


def curves(finals: tuple[float, ...], last: float) -> dict[Any, Any]:
    """Every curve rises to the final and ends at `last`, shifted by the seed."""
    values = {3: 70.1, 7: finals[0], 10: last}
    return {
        ("mask", seed): {
            "finals": {"accuracy": finals[seed % len(finals)] + seed},
            "curve": tuple(CurvePoint("accuracy", step, value + seed) for step, value in values.items()),
        }
        for seed in range(5)
    }


def test_final_that_is_always_the_best_of_its_curve_is_found(world: World) -> None:
    world.fill(curves((80.25,), last=75.5))
    finding = only(world, "DB-TESTSEL")
    assert finding.severity is Severity.WARNING
    assert "accuracy is the best point of each curve, not the last (5 values)" in finding.message


def test_final_that_is_the_last_of_its_curve_passes(world: World) -> None:
    world.fill(curves((80.25,), last=80.25))
    assert findings(world, "DB-TESTSEL") == []


def test_a_number_chosen_on_test_is_an_error_where_it_ranks_and_a_note_beside_another(world: World) -> None:
    world.spec(tasks=["chosen"])
    world.fill()
    assert only(world, "DB-TESTSEL").severity is Severity.ERROR
    world.spec(tasks=["chosen_beside"])
    world.fill()
    assert only(world, "DB-TESTSEL").severity is Severity.INFO


def test_of_the_shipped_metrics_only_the_best_epoch_of_vision_is_selected_on_test() -> None:
    from benchmark.spec.load import load_experiment

    tasks = [task.task for name in ("paper", "gotu") for task in load_experiment(name).tasks if task.task]
    found = {(task.family, metric.name) for task in tasks for metric in task.metrics() if declared(metric)}
    assert found == {("vision", "best_accuracy")}


def test_curve_that_ends_early_is_incomplete(world: World) -> None:
    def ends(step: int) -> dict[str, Any]:
        return {"curve": (CurvePoint("loss", 1, 0.9), CurvePoint("loss", step, 0.5))}

    world.fill({("mask", seed): ends(6 if seed == 2 else 10) for seed in range(5)})
    assert only(world, "DB-INCOMPLETE").arithmetic == "seed 2: curve ends at step 6 of 10"


def test_diverged_cell_may_stop_early(world: World) -> None:
    world.fill({("mask", 2): {"steps_done": 6, "status": "diverged"}})
    assert findings(world, "DB-INCOMPLETE") == []


def test_chance_that_beats_everything_trained_is_a_note(world: World) -> None:
    world.fill({(name, s): {"finals": {"accuracy": 40.0 + s}} for name in ("default", "mask") for s in range(5)})
    finding = only(world, "DIR")
    assert finding.severity is Severity.INFO
    assert "'chance' (50) is better in accuracy" in finding.message


def test_primary_metric_without_direction_is_a_warning(world: World) -> None:
    world.spec(tasks=["described"])
    world.fill()
    finding = only(world, "DIR")
    assert finding.severity is Severity.WARNING
    assert finding.arithmetic == "with a direction: accuracy, loss, perplexity"


def test_task_whose_family_is_not_at_hand_is_not_blamed(world: World) -> None:
    world.fill()
    grid = grid_of_store(world.store, None, "compact", registry_with([]))
    report = check_grid(world.store, grid)
    assert [finding.message for finding in report.findings] == []
    assert "DIR" in report.tallies
    assert report.tallies["DIR"].passed == 0


def test_outliers_of_many_rows_are_one_note_with_what_chance_would_show(world: World) -> None:
    values = enumerate((90.1, 90.2, 90.3, 90.4, 70.0))
    world.fill({(name, s): {"finals": {"accuracy": x}} for s, x in values for name in ("default", "mask")})
    finding = only(world, "OUTLIER")
    assert "2 of 2 rows have a seed far from their others" in finding.message
    assert "by chance about 0 of 2 rows would" in finding.message
    assert "|70 − 90.2| = 20.2 > 3.5 × 0.1483, mean 86.2, without it 90.25" in finding.arithmetic


def test_undecided_columns_are_one_note(world: World) -> None:
    world.spec(tasks=["toy", "held_out"])
    pairs = {"default": (80.1, 79.2, 81.3, 80.4, 79.5), "mask": (79.9, 80.4, 80.1, 79.6, 80.2)}
    world.fill({(name, s): {"finals": {"accuracy": x}} for name, row in pairs.items() for s, x in enumerate(row)})
    finding = only(world, "NOISE")
    assert "in 2 columns the best is not shown to be better than the second" in finding.message
    assert "held_out: difference" in finding.arithmetic


@pytest.mark.parametrize(("values", "told"), [((90.0, 91.0, 70.0), False), ((90.0, 90.01, 70.0), True)])
def test_three_seeds_need_a_gap_of_almost_the_whole_range(world: World, values: tuple[float, ...], told: bool) -> None:
    world.spec(seeds=3)
    world.fill({("mask", seed): {"finals": {"accuracy": value}} for seed, value in enumerate(values)})
    assert any("mask" in finding.message for finding in findings(world, "OUTLIER")) is told


def test_published_numbers_of_another_scale_are_not_compared(world: World) -> None:
    world.spec(claims="arxiv-2608.00418")
    world.fill()
    report = check_store(world.store, world.loaded, only=["XT-DUP"])
    assert report.tallies["XT-DUP"].untestable == {"measured at profile compact, published at paper": 1}
