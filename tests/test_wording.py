"""Numbers with their nouns."""

from __future__ import annotations

import sys
import traceback

import pytest

from benchmark.wording import counted, placed_reason, reason_of


@pytest.mark.parametrize(("count", "text"), [(0, "0 cells"), (1, "1 cell"), (2, "2 cells")])
def test_one_is_singular(count, text):
    assert counted(count, "cell") == text
    assert counted(2, "index", "indices") == "2 indices"


TRACE = 'Traceback (most recent call last):\n  File "x.py", line 1, in f\n    g()\n    ^^^\n'
CHAINED = "KeyError: 'a'\n\nDuring handling of the above exception, another exception occurred:\n\n"
COMPILER = "x.Failed: backend='inductor' raised:\nInvalidCxxCompiler: no g++\n\nSet TORCHDYNAMO_VERBOSE=1 for"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("It was killed by SIGKILL.\nIt last wrote:\nall is fine", "It was killed by SIGKILL"),
        (f"It died.\nIt last wrote:\n{TRACE}ValueError: no", "It died"),
        (TRACE + "ValueError: first\nsecond\n", "ValueError: first"),
        (TRACE + CHAINED + TRACE + "ValueError: b", "ValueError: b"),
        (TRACE + COMPILER, "x.Failed: backend='inductor' raised: InvalidCxxCompiler: no g++"),
        (TRACE + "ValueError: Caught in worker 0.\nOriginal " + TRACE + "ValueError: bad", "ValueError: bad"),
        ("plain words", "plain words"),
        ("", ""),
    ],
)
def test_the_reason_says_why_it_died_not_what_was_printed_last(error, reason):
    assert reason_of(error) == reason


def test_the_reason_of_a_traceback_names_the_users_own_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text("import json\n\ndef load(text):\n    return json.loads(text)\n")
    sys.path.insert(0, str(tmp_path))
    try:
        import mine

        mine.load("{")
    except ValueError:
        reason = placed_reason(traceback.format_exc())
    finally:
        sys.path.remove(str(tmp_path))
    assert reason.startswith("json.decoder.JSONDecodeError: Expecting property name")
    assert reason.endswith(" (mine.py:4)")
