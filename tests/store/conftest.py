import math
from pathlib import Path

import pytest

from benchmark.identity import hash_resolved
from benchmark.records import CellRecord, CurvePoint
from benchmark.store import Store, new_attempt_id


def make_record(number: int = 0, **changes) -> CellRecord:
    resolved = {"identity_version": 1, "profile": "compact", "seed": number, "task": "2parity"}
    values = {
        "cell_id": hash_resolved(resolved),
        "attempt_id": new_attempt_id(),
        "run_id": "run-1",
        "task": "2parity",
        "initializer": "mask",
        "seed": number,
        "profile": "compact",
        "resolved": resolved,
        "status": "finished",
        "finals": {"loss": 0.1 * number, "accuracy": 75.0, "slope": math.nan},
        "curve": tuple(CurvePoint("loss", step, 1 / (step + 1)) for step in range(4)),
        "started_at": "2026-01-01T00:00:00+00:00",
        "seconds": 2.0,
        "provenance": {"commit": "abc", "dirty": False},
    }
    return CellRecord(**{**values, **changes})


@pytest.fixture
def record():
    return make_record


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")
