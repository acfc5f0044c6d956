"""What probes recorded, told and drawn: means over seeds, half-lives, heat maps at both ends."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from benchmark.cli.shell import main
from benchmark.records import CellRecord, ProbeArray, ProbePoint
from benchmark.store import Store, new_attempt_id
from leaderboard.prior import HeatMap, HeatRow, read_prior
from leaderboard.render.heat import BLUE, RED, WHITE, color, heat_maps
from leaderboard.tables import build

KEY = "0123456789abcdef"
TASK = {"family": "elsewhere", "version": 1, "parameters": {}}


def record(cell, retention, key=KEY, **parameters):
    task, initializer, seed = cell.split("-")
    steps = (0, 2, 10)
    points = [
        ProbePoint(key, "retention", metric, None, None, step, value)
        for metric, values in (("retention", retention), ("mass", (0.5, 0.5, 0.5)))
        for step, value in zip(steps, values, strict=False)
    ]
    points.append(ProbePoint(key, "retention", "retention", 0, 1, 10, 99.0))  # a head's own, which no mean shows
    maps = [ProbeArray(key, "drift", "bias", 0, step, (2, 1, 2), (0.0, 1.0, -2.0, step / 10)) for step in (0, 10)]
    return CellRecord(
        cell_id=cell, attempt_id=new_attempt_id(), run_id="r", task=task, initializer=initializer,
        seed=int(seed), profile="compact", resolved={"task": TASK, "cell": cell}, status="finished",
        finals={"accuracy": 1.0},
        recordings={key: {"family": "retention", "parameters": parameters}}, points=tuple(points), arrays=tuple(maps),
    )  # fmt: skip


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "results")
    curves = [(1.0, 0.9, 0.8), (1.0, 0.7, 0.4), (1.0, 0.8, 0.6)]
    made.write_shard([record(f"parity-mask-{seed}", curve) for seed, curve in enumerate(curves)])
    made.write_shard([record("parity-default-0", ())])
    return made


def test_retention_is_told_with_its_spread_and_the_seeds_that_lost_it(store, grid):
    found = read_prior(store, grid, build(grid))
    assert found.sentences == (
        "parity × default: the start favours no pattern, so there is none to keep",
        "parity × mask: retention 0.60 ± 0.20 (n = 3) at step 10, below one half on 1 of 3 seeds (seed 1 at step 10)",
    )


def test_curves_are_means_over_seeds_of_the_metrics_asked_for(store, grid):
    (chart,) = read_prior(store, grid, build(grid)).charts
    (line,) = chart.series
    assert (chart.metric, line.name) == ("retention.retention", "mask")
    assert line.points[2] == (10, pytest.approx(0.6), pytest.approx(0.2))
    names = [chart.metric for chart in read_prior(store, grid, build(grid), metrics=["retention.*"]).charts]
    assert names == ["retention.mass", "retention.retention"]


def test_recordings_of_one_probe_are_told_apart_by_their_parameters(store, grid):
    store.write_shard([record("parity-mask-0", (1.0, 0.5, 0.1), "f" * 16, pattern="task")])
    found = read_prior(store, grid, build(grid))
    assert {chart.metric for chart in found.charts} == {"retention.retention", "(pattern = task) retention.retention"}


def test_heat_maps_are_those_of_the_first_seed_or_the_one_named(store, grid):
    maps = read_prior(store, grid, build(grid)).maps
    assert list(maps) == ["parity × default, seed 0", "parity × mask, seed 0"]
    first, last = maps["parity × mask, seed 0"]
    assert (first.name, first.step, last.step) == ("bias", 0, 10)
    assert last.maps == (HeatMap(0, 0, ((0.0, 1.0),)), HeatMap(0, 1, ((-2.0, 1.0),)))
    assert list(read_prior(store, grid, build(grid), seed=2).maps) == ["parity × mask, seed 2"]


def test_a_figure_is_well_formed_and_its_colours_share_a_scale():
    rows = [HeatRow("<b>", step, (HeatMap(0, 0, ((0.0, value),)),)) for step, value in ((0, -2.0), (10, 1.0))]
    root = ElementTree.fromstring(heat_maps("a & b", rows))
    texts = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"a & b", "layer 0, head 0", "<b>", "step 10", "2", "-2"} <= set(texts)
    assert len(list(root.iter("{http://www.w3.org/2000/svg}image"))) == 2
    assert [color(v, -2.0, 2.0) for v in (0.0, 2.0, -2.0)] == [WHITE, BLUE, RED]
    assert color(1.0, -2.0, 2.0) == (128, 168, 202)  # half way to (0, 80, 150)


def test_nothing_recorded_is_nothing_to_show(tmp_path, grid):
    store = Store(tmp_path / "results")
    found = read_prior(store, grid, build(grid))
    assert (found.sentences, found.charts, found.maps) == ((), (), {})


def plotted(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(["plot", "prior", *arguments])
    return ended.value.code, capsys.readouterr()


def test_the_verb_writes_a_page_and_prints_what_it_says(store, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, said = plotted(capsys)
    assert code == 0
    assert "parity × mask: retention 0.60 ± 0.20 (n = 3) at step 10, below one half on 1 of 3 seeds" in said.out
    assert (tmp_path / "prior.html").read_text().count("<svg") >= 2
    code, said = plotted(capsys, "--json")
    assert set(json.loads(said.out)) == {"sentences", "charts", "maps"}


def test_a_store_without_recordings_is_told_what_to_do(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Store(tmp_path / "results")
    made.write_shard([CellRecord(
        cell_id="c", attempt_id=new_attempt_id(), run_id="r", task="parity", initializer="mask", seed=0,
        profile="compact", resolved={"task": TASK}, status="finished", finals={"accuracy": 1.0},
    )])  # fmt: skip
    code, said = plotted(capsys)
    assert code == 2, said.err[-1500:]
    assert "put `probes: [drift, retention]` into the spec, then `bench run` records it" in said.err
