"""The choice of a mode, on made-up timings and once on real ones."""

import time

import pytest

from benchmark.train import probe
from benchmark.train.mode import ALONE, Mode
from benchmark.train.probe import decide_mode


@pytest.fixture
def timed(monkeypatch):
    """Replace the trainers by sleeps of given seconds per cell and step."""

    def use(seconds, steps=1000, compile_seconds=0.0, share=1e6):
        made = []

        def runner(built, mode, device):
            made.append(mode)
            time.sleep(compile_seconds if mode.compiled else 0)
            if mode.name not in seconds:
                raise RuntimeError("out of memory")
            return lambda count: time.sleep(count * seconds[mode.name] * mode.stack_size)

        monkeypatch.setattr(probe, "_runner", runner)
        monkeypatch.setattr(probe, "plain_step", lambda built, device: (seconds["alone"], steps))
        monkeypatch.setattr(probe, "SHARE", share)
        monkeypatch.setattr(probe, "ROUND_SECONDS", 0.005)
        monkeypatch.setattr(probe, "clock", lambda device: time.perf_counter)  # sleeping takes no process time
        monkeypatch.setattr(probe, "can_compile", lambda device: None)
        return made

    return use


def cells(toy, count):
    return [toy.cell(toy.Default(), seed) for seed in range(count)]


def test_alone_stays_when_nothing_is_faster(toy, timed):
    timed({"alone": 1e-3, "stack:4": 2e-3, "stack:8": 2e-3})
    assert decide_mode(cells(toy, 8), workers=1).mode == ALONE


def test_the_faster_stack_is_taken_and_compiling_short_work_is_not_tried(toy, timed):
    made = timed({"alone": 4e-3, "stack:4": 2e-3, "stack:8": 1e-3}, steps=10)
    decision = decide_mode(cells(toy, 8), workers=1)
    assert decision.mode == Mode.parse("stack:8")
    assert not any(mode.compiled for mode in made)
    assert "would not repay compiling" in decision.reason
    assert set(decision.timings) == {"alone", "stack:4", "stack:8"}


def test_the_stack_size_is_chosen_to_fill_the_workers(toy, timed):
    seconds = {"alone": 4e-3, **{f"stack:{size}": 1e-3 for size in range(2, 13)}}
    timed(seconds, steps=10)
    assert decide_mode(cells(toy, 10), workers=2).mode == Mode.parse("stack:5")


def test_long_work_is_compiled_once_and_taken_when_faster(toy, timed):
    made = timed({"alone": 4e-3, "stack:4": 2e-3, "stack:8": 2e-3, "compiled-stack:8": 1e-3}, steps=10**6)
    decision = decide_mode(cells(toy, 8), workers=1)
    assert decision.mode.compiled
    assert sum(mode.compiled for mode in made) == 1


def test_a_compiled_mode_that_is_slower_is_not_taken(toy, timed):
    timed({"alone": 1e-3, "stack:4": 2e-3, "stack:8": 2e-3, "compiled": 2e-3}, steps=10**6)
    assert decide_mode(cells(toy, 8), workers=1).mode == ALONE


def test_a_mode_that_cannot_run_is_left_out_with_its_reason(toy, timed):
    timed({"alone": 1e-3}, steps=10**6)
    decision = decide_mode(cells(toy, 8), workers=1)
    assert decision.mode == ALONE
    assert "stack:8 failed in the probe: RuntimeError: out of memory" in decision.reason
    assert "compiled failed in the probe" in decision.reason


def test_without_a_compiler_the_reason_says_so(toy, timed, monkeypatch):
    timed({"alone": 1e-3, "stack:4": 2e-3, "stack:8": 2e-3}, steps=10**6)
    monkeypatch.setattr(probe, "can_compile", lambda device: "no C++ compiler (g++), so nothing is compiled")
    assert "no C++ compiler" in decide_mode(cells(toy, 8), workers=1).reason


def test_a_few_cells_are_not_measured_in_stacks_larger_than_they_fill(toy, timed):
    made = timed({"alone": 1e-3, "stack:4": 2e-3})
    decide_mode(cells(toy, 2), workers=1)
    assert Mode.parse("stack:8") not in made


def test_cells_that_cannot_be_built_run_alone_and_say_why(toy):
    decision = decide_mode([toy.cell(toy.Broken(), 0)])
    assert decision.mode == ALONE
    assert decision.reason == "no model could be built: RuntimeError: no such head"


def test_work_that_does_not_repay_measuring_is_not_measured(toy, timed):
    made = timed({"alone": 1e-3}, steps=100, share=0.05)
    decision = decide_mode(cells(toy, 40), workers=2)
    assert made == []
    assert decision.mode == Mode.parse("stack:32")
    assert decision.reason == "2 s of training per worker would not repay measuring; a step takes 1.00 ms"


def test_long_steps_that_are_not_measured_run_alone(toy, timed):
    timed({"alone": 2e-2}, steps=100, share=0.05)
    assert decide_mode(cells(toy, 8), workers=1).mode == ALONE


def test_measuring_stops_at_its_share_of_the_work(toy, timed):
    made = timed({"alone": 4e-3, "stack:4": 2e-3}, steps=10**5, compile_seconds=0.0, share=0.05)
    decide_mode(cells(toy, 1), workers=1)
    assert [mode.name for mode in made][:1] == ["alone"]


def test_a_plain_step_that_raises_leaves_the_telling_to_the_cells(toy, monkeypatch):
    def broken(*_):
        raise RuntimeError("shapes do not fit")

    monkeypatch.setattr(probe, "plain_step", broken)
    decision = decide_mode(cells(toy, 2), workers=1)
    assert (decision.mode, decision.reason) == (ALONE, "a plain step failed: RuntimeError: shapes do not fit")


def test_no_cells_are_refused():
    with pytest.raises(ValueError, match="at least one cell"):
        decide_mode([])


def test_real_candidates_are_measured(toy, monkeypatch):
    monkeypatch.setattr(probe, "ROUND_SECONDS", 0.02)
    monkeypatch.setattr(probe, "SHARE", 1e6)
    decision = decide_mode(cells(toy, 4), workers=1)
    assert {"alone", "stack:4"} <= set(decision.timings)
    assert all(timing.seconds_per_cell_step > 0 for timing in decision.timings.values())
    expected = {name: timing.expected_seconds for name, timing in decision.timings.items()}
    assert expected[decision.mode.name] == min(expected.values()) <= expected["alone"]
