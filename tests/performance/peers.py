"""200 trivial cells by InitBench and by its peers, in turn: what each one costs beside the work itself.

    python tests/performance/peers.py --repeats 3

A cell is 100 steps of a linear model with 5 metrics a step and 10 at the end; 8 tasks × 5 initialisers × 5 seeds, two
workers, whole processes. The peers get an environment of their own, made under --folder from the configured package
index; their cell is numpy, ours torch, whose import is counted as ours. Only ratios of one call mean anything.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from overhead import PLUGIN, bench, measured, spec

PACKAGES = ("joblib", "duckdb", "pandas", "numpy", "benchopt", "hydra-core", "hydra-joblib-launcher")

CELL = """
import numpy as np

CURVE, FINAL, STEPS = 5, 10, 100
AXES = {"slope": [float(k) for k in range(1, 9)], "factor": [1.0, 1.1, 1.2, 1.3, 1.4], "seed": [0, 1, 2, 3, 4]}


def data(slope, seed, count=64):
    x = np.random.default_rng(seed).normal(size=(count, 4))
    return x, slope * x.mean(axis=1)


def start(factor, seed):
    return np.random.default_rng(seed).normal(size=4) * factor


def step(w, x, y, rows):
    residual = x[rows] @ w - y[rows]
    return w - 0.01 * 2 * x[rows].T @ residual / len(rows)


def metrics(w, x, y, count):
    error = float(np.abs(x @ w - y).mean())
    return {f"metric{k}": error / (k + 1) for k in range(count)}


def train(slope, factor, seed):
    (x, y), held_out, draw = data(slope, seed), data(slope, seed + 1000, 16), np.random.default_rng(seed)
    w, curve = start(factor, seed), []
    for k in range(STEPS):
        w = step(w, x, y, draw.integers(0, 64, 8))
        curve += [(k, name, value) for name, value in metrics(w, *held_out, CURVE).items()]
    return curve, metrics(w, *held_out, FINAL)
"""

LOOP = """
import itertools, sys
import duckdb, joblib, pandas
from cell import AXES, train

cells = [*itertools.product(*AXES.values())]
done = joblib.Parallel(n_jobs=2)(joblib.delayed(train)(*cell) for cell in cells)
curves = pandas.DataFrame(
    [(*cell, *point) for cell, (curve, _) in zip(cells, done) for point in curve],
    columns=[*AXES, "step", "metric", "value"],
)
finals = pandas.DataFrame(
    [(*cell, *item) for cell, (_, last) in zip(cells, done) for item in last.items()],
    columns=[*AXES, "metric", "value"],
)
con = duckdb.connect(sys.argv[1])
con.execute("create table curves as select * from curves")
con.execute("create table finals as select * from finals")
table = "select slope, factor, avg(value), stddev(value) from finals where metric = 'metric0' group by all"
print(con.execute(table).df())
"""

HYDRA = """
import json
import hydra
from cell import train


@hydra.main(version_base=None, config_path=None, config_name="config")
def main(config):
    curve, finals = train(config.slope, config.factor, config.seed)
    with open("result.json", "w") as file:
        json.dump({"curve": curve, "finals": finals}, file)


from hydra.core.config_store import ConfigStore

ConfigStore.instance().store(name="config", node={"slope": 1.0, "factor": 1.0, "seed": 0})
main()
"""

BENCHOPT = {
    "objective.py": """
from benchopt import BaseObjective
from cell import FINAL, metrics


class Objective(BaseObjective):
    name = "trivial"

    def set_data(self, x, y, held_out, seed):
        self.x, self.y, self.held_out, self.seed = x, y, held_out, seed

    def get_objective(self):
        return {"x": self.x, "y": self.y, "seed": self.seed}

    def evaluate_result(self, w):
        return {"value": 0.0, **metrics(w, *self.held_out, FINAL)}

    def get_one_result(self):
        return {"w": self.x[0]}
""",
    "datasets/line.py": """
from benchopt import BaseDataset
from cell import AXES, data


class Dataset(BaseDataset):
    name = "line"
    parameters = {"slope": AXES["slope"], "seed": AXES["seed"]}

    def get_data(self):
        x, y = data(self.slope, self.seed)
        return {"x": x, "y": y, "held_out": data(self.slope, self.seed + 1000, 16), "seed": self.seed}
""",
    "solvers/sgd.py": """
import numpy as np
from benchopt import BaseSolver
from benchopt.stopping_criterion import NoCriterion
from cell import AXES, start, step


class Solver(BaseSolver):
    name = "sgd"
    parameters = {"factor": AXES["factor"]}
    sampling_strategy = "callback"
    stopping_criterion = NoCriterion()

    def set_objective(self, x, y, seed):
        self.x, self.y, self.seed = x, y, seed

    def run(self, callback):
        self.w, draw = start(self.factor, self.seed), np.random.default_rng(self.seed)
        while callback():
            self.w = step(self.w, self.x, self.y, draw.integers(0, 64, 8))

    def get_next(self, done):
        return done + 1

    def get_result(self):
        return {"w": self.w}
""",
}


def environment(folder: Path) -> Path:
    """The peers' interpreter; their environment is made unless it is there, and its versions are told."""
    python = folder / "env" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    told = "import sys; from importlib.metadata import version as v; print(*(f'{p} {v(p)}' for p in sys.argv[1:]))"
    subprocess.run([python, "-c", told, *PACKAGES], check=True)
    return python


def write(folder: Path, files: dict[str, str]) -> None:
    """The peers' sources."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.lstrip())


def gone(*paths: Path) -> Callable[[], None]:
    """Removes what a run leaves, so that each one begins with nothing."""

    def remove() -> None:
        for path in paths:
            if path.is_dir():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)

    return remove


def compare(folder: Path, repeats: int) -> None:
    """All in turn."""
    python = environment(folder)
    peers, ours = folder / "peers", folder / "ours"
    ours.mkdir(exist_ok=True)
    shared = {"cell.py": CELL, "loop.py": LOOP, "app.py": HYDRA}
    write(peers, {**shared, **{f"bench/{name}": text for name, text in BENCHOPT.items()}})
    path, results, made = spec(ours, 8, 5, 5), ours / "results", peers / "made"
    axes = ["slope=1.,2.,3.,4.,5.,6.,7.,8.", "factor=1.0,1.1,1.2,1.3,1.4", "seed=0,1,2,3,4"]
    run = ["run", peers / "bench", "-j", "2", "-n", "100", "-r", "1", "--no-plot", "--no-html", "--no-display"]
    within = ["env", f"PYTHONPATH={peers}", "MPLBACKEND=agg"]
    hydra = [
        python,
        peers / "app.py",
        "-m",
        "hydra/launcher=joblib",
        "hydra.launcher.n_jobs=2",
        f"hydra.sweep.dir={made}",
    ]
    mine = bench("run", path, "--plugin", PLUGIN, "--store", results, "--workers", 2)
    left = gone(peers / "loop.db", made, peers / "bench/outputs", peers / "bench/__cache__")
    rows: dict[str, tuple[Sequence[object], Callable[[], None]]] = {
        "InitBench, auto": (mine, gone(results)),
        "InitBench, stack:25": ([*mine, "--execution", "stack:25"], gone(results)),
        "joblib loop and DuckDB": ([python, peers / "loop.py", peers / "loop.db"], left),
        "benchopt -j 2": ([*within, python, "-m", "benchopt", *run], left),
        "Hydra, joblib launcher": ([*hydra, *axes], left),
    }
    for name, (words, before) in rows.items():
        measured(name, [shutil.which(str(words[0])) or str(words[0]), *map(str, words[1:])], repeats, before)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "initbench-peers")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    compare(options.folder.resolve(), options.repeats)
