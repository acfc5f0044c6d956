"""Text from Parquet, and the tokenizers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.errors import DataError
from tasks.data import load_text, load_tokenizer, load_tokens
from tasks.data.prepare import prepare
from tasks.data.tokenizers import (
    END,
    ByteLevelBPE,
    ByteTokenizer,
    CharacterTokenizer,
    byte_alphabet,
    merge,
    pre_tokens,
)

EXCERPT = json.loads((Path(__file__).parent / "gpt2_excerpt.json").read_text())


def test_rows_come_back_as_they_were(stories):
    folder, rows = stories
    done = prepare("stories", folder)
    assert load_text("stories", "train") == rows
    assert load_text("stories", "validation") == rows[:5]
    report = done.meta["report"]["train"]
    assert report["empty_rows"] == 2
    assert report["misencoded_rows"] == 1
    assert report["misencoded_examples"] == [rows[-1]]
    assert done.meta["report"]["validation"]["misencoded_rows"] == 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"story": ["x"]}), r"expected a column text of strings, found story \(string\)"),
        (pa.table({"text": [1]}), r"found text \(int64\)"),
        (pa.table({"text": ["x", None]}), "row 1: expected text, found null"),
        (pa.table({"text": ["x"]}), "1 rows, expected 23"),
    ],
)
def test_other_columns_nulls_and_row_counts_are_refused(stories, table, message):
    folder, _ = stories
    pq.write_table(table, folder / "data" / "train-0.parquet")
    with pytest.raises(DataError, match=message):
        prepare("stories", folder)


def test_bytes_that_are_not_utf8_are_refused(stories):
    folder, _ = stories
    array = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    )
    pq.write_table(pa.table({"text": array}), folder / "data" / "train-0.parquet")
    with pytest.raises(DataError, match="not UTF-8"):
        prepare("stories", folder)


def test_tokens_are_rows_each_with_an_end_and_kept_for_next_time(stories):
    folder, rows = stories
    done = prepare("stories", folder)
    tokenizer = ByteTokenizer()
    tokens = load_tokens("stories", "train", tokenizer)
    assert len(tokens.starts) == len(rows) + 1
    for row, text in enumerate(rows):
        ids = tokens.ids[tokens.starts[row] : tokens.starts[row + 1]]
        assert ids[-1] == tokenizer.end
        assert tokenizer.decode(ids.tolist()) == text
    assert isinstance(tokens.ids, np.memmap)
    path = done.folder / f"train-tokens-{tokenizer.key[:16]}.npy"
    before = path.stat().st_mtime_ns
    assert load_tokens("stories", "train", tokenizer).ids.tolist() == tokens.ids.tolist()
    assert path.stat().st_mtime_ns == before


def test_tokens_that_cannot_be_kept_are_used_all_the_same(stories):
    """As when data are shared and may only be read."""
    import resource

    folder, rows = stories
    done = prepare("stories", folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, hard))
    try:
        tokens = load_tokens("stories", "train", ByteTokenizer())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(tokens.starts) == len(rows) + 1
    assert not list(done.folder.glob("*tokens*"))
    assert load_tokens("stories", "train", ByteTokenizer()).ids.tolist() == tokens.ids.tolist()
    assert list(done.folder.glob("*tokens*"))


def test_another_tokenizer_gets_its_own_tokens(stories):
    folder, rows = stories
    prepare("stories", folder)
    some, all_ = CharacterTokenizer.fit(rows[:1]), CharacterTokenizer.fit(rows)
    assert some.key != all_.key
    assert (load_tokens("stories", "train", some).ids == some.unknown).any()
    assert not (load_tokens("stories", "train", all_).ids == all_.unknown).any()


def test_characters_and_bytes_round_trip():
    text = "“naïve” 中 😀\n"
    characters = CharacterTokenizer.fit([text, "abc"])
    assert characters.decode(characters.encode(text)) == text
    assert characters.vocabulary == len(set(text + "abc")) + 2
    assert characters.decode(characters.encode("aZ")) == "a\ufffd"
    assert ByteTokenizer().decode(ByteTokenizer().encode(text)) == text


def test_merges_are_applied_by_rank_from_the_left():
    ranks = {("b", "c"): 0, ("a", "b"): 1, ("a", "bc"): 2, ("a", "a"): 3}
    assert merge("abc", ranks) == ["abc"]  # bc first, though ab comes first in the text
    assert merge("abab", ranks) == ["ab", "ab"]
    assert merge("aaa", ranks) == ["aa", "a"]
    assert merge("bca", ranks) == ["bc", "a"]
    assert merge("x", ranks) == ["x"]
    assert merge("", ranks) == []


def test_the_byte_alphabet_is_256_printable_characters():
    alphabet = byte_alphabet()
    assert len(set(alphabet)) == 256
    assert alphabet[ord("A")] == "A"
    assert alphabet[ord(" ")] == "Ġ"
    assert alphabet[ord("\n")] == "Ċ"
    assert all(letter.isprintable() and not letter.isspace() for letter in alphabet)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello world", ["Hello", " world"]),
        ("I'll say 'tis", ["I", "'ll", " say", " '", "tis"]),
        ("a  b", ["a", " ", " b"]),
        ("a \n b  ", ["a", " \n", " b", "  "]),
        ("x12 ½²", ["x", "12", " ½²"]),
        ("e\u0301 中文!", ["e", "\u0301", " 中文", "!"]),
        ("a\u200bb\x1cc\x85d", ["a", "\u200b", "b", "\x1c", "c", "\x85", "d"]),
        ("", []),
    ],
)
def test_pre_tokens(text, words):
    assert pre_tokens(text) == words


def excerpt():
    ranks = {tuple(line.split(" ")): rank for rank, line in enumerate(EXCERPT["merges"])}
    return ByteLevelBPE(EXCERPT["ids"], ranks, "excerpt")


@pytest.mark.parametrize("case", EXCERPT["texts"], ids=lambda case: ascii(case["text"][:20]))
def test_encodings_are_those_of_an_independent_implementation(case):
    tokenizer = excerpt()
    assert tokenizer.encode(case["text"]) == case["ids"]
    assert tokenizer.encode(case["text"]) == case["ids"]  # from the cache of words
    assert tokenizer.decode(case["ids"]) == case["text"]


def tokenizer_files(folder, merges="#version: 0.2\nĠ t\nh e\nĠt he\n", **changed):
    ids = {letter: number for number, letter in enumerate(byte_alphabet())}
    ids |= {"Ġt": 256, "he": 257, "Ġthe": 258, END: 259} | changed
    folder.mkdir(exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(ids))
    (folder / "merges.txt").write_text(merges)
    return folder


def test_a_tokenizer_read_from_its_files_encodes_by_hand_computed_merges(tmp_path):
    tokenizer = ByteLevelBPE.read(tokenizer_files(tmp_path / "t"))
    letter = {name: number for number, name in enumerate(byte_alphabet())}
    assert tokenizer.vocabulary == 260
    assert tokenizer.end == 259
    assert tokenizer.encode(" the the") == [258, 258]
    assert tokenizer.encode("the") == [letter["t"], 257]
    assert tokenizer.encode(END)[0] == letter["<"]
    assert tokenizer.decode([258, 259, 257]) == " thehe"


@pytest.mark.parametrize(
    ("changed", "merges", "message"),
    [
        ({"Ġt": "256"}, "", "object of token"),
        ({"Ġt": 300}, "", "ids 0 to 259"),
        ({}, "a b c\n", r"merges.txt:1: expected two tokens"),
        (
            {},
            "#version: 0.2\nq q\n",
            r"merges.txt:2: expected two tokens whose union is a token, found 'q q'",
        ),
    ],
)
def test_tokenizer_files_that_do_not_fit_are_refused(tmp_path, changed, merges, message):
    with pytest.raises(DataError, match=message):
        ByteLevelBPE.read(tokenizer_files(tmp_path / "t", merges, **changed))


def test_missing_and_malformed_tokenizer_files_are_refused(tmp_path):
    folder = tokenizer_files(tmp_path / "t")
    (folder / "vocab.json").write_text("[" * 100_000)
    with pytest.raises(DataError, match="not JSON"):
        ByteLevelBPE.read(folder)
    (folder / "vocab.json").unlink()
    with pytest.raises(DataError, match=r"vocab\.json"):
        ByteLevelBPE.read(folder)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("encoder.json", "[", "not JSON"),
        ("encoder.json", "{}", "tokens missing"),
        ("vocab.bpe", "q q\n", ":1: expected two tokens whose union is a token"),
        ("vocab.bpe", "\udcff", "cannot be read as UTF-8"),
    ],
)
def test_a_tokenizer_that_is_refused_is_named_as_the_user_named_it(bpe, name, text, message):
    (bpe / name).write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(DataError) as caught:
        prepare("bpe", bpe)
    assert str(caught.value).startswith(str(bpe / name))
    assert message in str(caught.value)


@pytest.mark.parametrize("names", [("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")])
def test_both_names_of_the_tokenizer_files_are_known(catalogue, tmp_path, names):
    catalogue({
        "name": "bpe", "title": "BPE", "kind": "tokenizer", "licence": "x", "homepage": "x",
        "splits": {"vocabulary": {"rows": 260}},
        "layouts": [{"name": "bpe", "reader": "bpe-files", "source": "x", "files": [{"path": name} for name in names]}],
    })  # fmt: skip
    folder = tokenizer_files(tmp_path / "files")
    (folder / "vocab.json").rename(folder / "x.json")
    (folder / "merges.txt").rename(folder / names[1])
    (folder / "x.json").rename(folder / names[0])
    prepare("bpe", folder)
    assert load_tokenizer("bpe").encode(" the") == [258]
