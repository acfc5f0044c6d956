"""Helpers for the importers' tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaderboard.claims.importers import ImportResult, import_file, import_text

TABLES = Path(__file__).parent / "tables"


@pytest.fixture(scope="session")
def read():
    """Import a fixture table, once per session."""
    known: dict[str, ImportResult] = {}

    def of(name: str) -> ImportResult:
        if name not in known:
            known[name] = import_file(TABLES / name)
        return known[name]

    return of


@pytest.fixture(scope="session")
def latex_table():
    """Import the rows of one booktabs tabular with a caption."""

    def of(rows: str, columns: int = 3, caption: str = "Accuracy (\\%)", before: str = "") -> ImportResult:
        return import_text(
            f"{before}\\begin{{table}}\\caption{{{caption}}}\\begin{{tabular}}{{l{'c' * columns}}}\n\\toprule\n{rows}\n"
            "\\bottomrule\n\\end{tabular}\\end{table}",
            "latex",
        )

    return of


@pytest.fixture(scope="session")
def cell():
    """The claim read from one LaTeX cell in an accuracy table, or the reason why none was."""

    def of(source: str, caption: str = "Accuracy (\\%)"):
        result = import_text(
            f"\\begin{{table}}\\caption{{{caption}}}\\begin{{tabular}}{{lc}} Method & CIFAR-10 \\\\ \\midrule\n"
            f"Mask & {source} \\\\\n"
            "Default & 1.5 \\\\ \\end{tabular}\\end{table}",
            "latex",
        )
        mine = [claim for claim in result.claims if claim.scope.method == "Mask"]
        return mine[0] if mine else next((item.reason for item in result.unread), "missing")

    return of
