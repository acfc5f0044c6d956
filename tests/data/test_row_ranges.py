"""Some rows of a text data set, embedded and prepared."""

from __future__ import annotations

import pytest

from benchmark.errors import DataError
from tasks.data import load_text, load_tokens
from tasks.data.prepare import prepare
from tasks.data.tokenizers import ByteTokenizer


@pytest.mark.parametrize(("first", "count"), [(0, 3), (2, 1), (4, None), (0, None)])
def test_rows_are_those_of_the_whole_split(stories, first, count):
    folder, rows = stories
    prepare("stories", folder)
    wanted = rows[first:] if count is None else rows[first : first + count]
    assert load_text("stories", "train", first=first, count=count) == wanted
    tokens = load_tokens("stories", "train", ByteTokenizer(), first=first, count=count)
    assert ByteTokenizer().decode(tokens.ids.tolist()) == "".join(wanted)
    assert len(tokens.starts) == len(wanted) + 1


def test_each_range_keeps_its_own_tokens(stories):
    folder, _ = stories
    prepare("stories", folder)
    sizes = {len(load_tokens("stories", "train", ByteTokenizer(), count=count).ids) for count in (1, 2, None, 2)}
    assert len(sizes) == 3


def test_embedded_rows():
    rows = load_text("alice", "test")
    assert load_text("alice", "test", first=1, count=2) == rows[1:3]


@pytest.mark.parametrize(("first", "count"), [(0, 24), (23, 1), (24, None)])
def test_more_rows_than_there_are_is_an_error(stories, first, count):
    folder, _ = stories
    prepare("stories", folder)
    with pytest.raises(DataError, match="has 23 rows; expected at least 24"):
        load_text("stories", "train", first=first, count=count)
