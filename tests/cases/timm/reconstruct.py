"""Rebuild the table that results-imagenet-a.csv is compared with, from that file alone.

Each row prints its top-1 difference and its change of rank, so its place and its top-1 in the other table follow. That
table is sorted by top-1, then top-5 (results/generate_csv_results.py), so among rows that tie on top-1 the top-5 values
must fall with the rank. The printed top-5 differences imply the right values in the wrong rows: sorting them within
each tie gives every row its own. Ranks of rows that tie on ImageNet-A itself are exchangeable; they are exchanged until
all 1,555 places are distinct and every place lies in the range of its top-1.

    python tests/cases/timm/reconstruct.py

writes results-imagenet-a-baseline.csv. Exchanges that fit as well leave 859 to 861 rows wrong; with the published
results-imagenet-a-clean.csv it is 860, so a solution with 860 is written.
"""

from __future__ import annotations

import csv
import random
from collections import Counter, defaultdict
from itertools import combinations
from pathlib import Path

HERE = Path(__file__).parent
EXTRA_FROM = 1040
"""The other table holds one model more than this one prints a difference for, from about this place on."""


def thousandths(text: str) -> int:
    return round(float(text) * 1000)


def read() -> list[dict[str, str]]:
    with (HERE / "results-imagenet-a.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


class Puzzle:
    """Which place in the other table each row has."""

    def __init__(self, rows: list[dict[str, str]]) -> None:
        self.rows = rows
        self.moves = {i: int(row["rank_diff"]) for i, row in enumerate(rows) if row["rank_diff"]}
        self.top1 = {i: self.implied(i, "top1") for i in self.moves}
        self.top5 = {i: self.implied(i, "top5") for i in self.moves}
        self.ties: dict[int, list[int]] = defaultdict(list)
        for i in self.moves:
            self.ties[self.top1[i]].append(i)
        self.range: dict[int, tuple[int, int]] = {}
        start = 0
        for value in sorted(self.ties, reverse=True):
            stop = start + len(self.ties[value])
            self.range[value] = (start, stop + (start > EXTRA_FROM))
            start = stop
        self.rank = {i: i for i in self.moves}
        self.used = Counter(self.place(i) for i in self.moves)

    def implied(self, i: int, metric: str) -> int:
        """The other table's value, which is a count of 10,000 images."""
        return round(thousandths(self.rows[i][metric]) - thousandths(self.rows[i][f"{metric}_diff"]), -1)

    def place(self, i: int) -> int:
        return self.rank[i] + self.moves[i]

    def outside(self, i: int, place: int) -> int:
        low, high = self.range[self.top1[i]]
        return max(low - place, place - high + 1, 0)

    def cost(self, i: int, j: int) -> int:
        a, b = self.place(i), self.place(j)
        return 3 * (self.outside(i, a) + self.outside(j, b)) + (self.used[a] > 0) + (self.used[b] > 0) + (a == b)

    def exchange(self, i: int, j: int, chance: random.Random) -> None:
        """Exchange two ranks if that fits better, sometimes if it fits as well."""
        self.used.subtract([self.place(i), self.place(j)])
        before = self.cost(i, j)
        self.rank[i], self.rank[j] = self.rank[j], self.rank[i]
        after = self.cost(i, j)
        if after > before or (after == before and chance.random() > 0.1):
            self.rank[i], self.rank[j] = self.rank[j], self.rank[i]
        self.used.update([self.place(i), self.place(j)])

    def solve(self, seed: int) -> None:
        chance = random.Random(seed)
        own: dict[str, list[int]] = defaultdict(list)
        for i in self.moves:
            own[self.rows[i]["top1"]].append(i)
        for _ in range(20):
            for same in own.values():
                for i, j in combinations(same, 2):
                    self.exchange(i, j, chance)

    def consistent(self) -> bool:
        places = [self.place(i) for i in self.moves]
        return len(set(places)) == len(places) and not any(self.outside(i, self.place(i)) for i in self.moves)

    def baseline(self) -> dict[int, int]:
        """Row → its own top-5 in the other table."""
        right = {}
        for rows in self.ties.values():
            ordered = sorted(rows, key=self.place)
            right.update(zip(ordered, sorted((self.top5[i] for i in rows), reverse=True), strict=True))
        return right

    def wrong(self) -> int:
        right = self.baseline()
        return sum(self.top5[i] != right[i] for i in self.moves)


def chosen(wrong: int = 860, seeds: int = 20) -> Puzzle:
    """The first consistent solution with that many wrong rows, the number the published file gives."""
    for seed in range(seeds):
        puzzle = Puzzle(read())
        puzzle.solve(seed)
        if puzzle.consistent() and puzzle.wrong() == wrong:
            return puzzle
    raise SystemExit(f"no consistent solution with {wrong} wrong rows in {seeds} tries")


def main() -> None:
    puzzle = chosen()
    right = puzzle.baseline()
    with (HERE / "results-imagenet-a-baseline.csv").open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["model", "img_size", "top1", "top5"])
        for i in sorted(puzzle.moves, key=puzzle.place):
            row = puzzle.rows[i]
            writer.writerow([row["model"], row["img_size"], f"{puzzle.top1[i] / 1000:.3f}", f"{right[i] / 1000:.3f}"])


if __name__ == "__main__":
    main()
