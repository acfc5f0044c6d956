"""Numbers with their nouns."""

from __future__ import annotations

import pytest

from benchmark.wording import counted


@pytest.mark.parametrize(("count", "text"), [(0, "0 cells"), (1, "1 cell"), (2, "2 cells")])
def test_one_is_singular(count, text):
    assert counted(count, "cell") == text
    assert counted(2, "index", "indices") == "2 indices"
