"""Write metafile.csv from the metafiles of a release of mmpretrain.

    python tests/cases/mmpretrain/extract.py CONFIGS

CONFIGS is the folder `configs` of the repository, or `mmpretrain/.mim/configs` of the wheel. Families are those of
readme.csv. Accuracies are copied as printed; parameters and FLOPs, printed as whole numbers, get their decimal point
six and nine places further left, so that they are in the units of the README, no digit dropped. A row is called by
its config file, and by its model too where several models share one.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

HERE = Path(__file__).parent
COLUMNS = ("family", "dataset", "row", "model", "top1", "top5", "params", "flops")


def families() -> list[str]:
    """Those of readme.csv, in its order."""
    with (HERE / "readme.csv").open(newline="") as stream:
        return list(dict.fromkeys(row["family"] for row in csv.DictReader(stream)))


def named(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows of a family, each with a name of its own."""
    configs = Counter(row["row"] for row in rows)
    return [row if configs[row["row"]] == 1 else {**row, "row": f"{row['row']} @ {row['model']}"} for row in rows]


def rows(path: Path) -> Iterator[dict[str, str]]:
    """One row for each accuracy a metafile states."""
    family = path.parent.name
    for model in YAML(typ="base").load(path)["Models"]:
        results = model.get("Results")  # a list, or the text null
        for result in results if isinstance(results, list) else []:
            metrics = result.get("Metrics") or {}
            if "Top 1 Accuracy" in metrics:
                yield {
                    "family": family,
                    "dataset": result["Dataset"],
                    "row": model["Config"].removeprefix(f"configs/{family}/").removesuffix(".py"),
                    "model": model["Name"],
                    "top1": metrics["Top 1 Accuracy"],
                    "top5": metrics.get("Top 5 Accuracy", ""),
                    "params": shifted(model, "Parameters", 6),
                    "flops": shifted(model, "FLOPs", 9),
                }


def shifted(model: dict[str, Any], name: str, places: int) -> str:
    """A count in millions or billions, every digit kept; empty when the metafile does not give it."""
    printed = model["Metadata"].get(name)
    return f"{Decimal(printed).scaleb(-places):f}" if printed else ""


def main(configs: Path) -> None:
    with (HERE / "metafile.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for family in families():
            writer.writerows(named(list(rows(configs / family / "metafile.yml"))))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
