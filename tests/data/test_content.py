"""One digest for what a data set holds here, whatever container it came in."""

from __future__ import annotations

import json

import pytest

from benchmark.errors import DataError
from tasks.data import content_digests
from tasks.data.prepare import prepare


def test_embedded_and_prepared_sets_have_a_digest_and_missing_ones_none(cifar, tmp_path):
    assert list(content_digests("digits", "mini", "alice")) == ["digits", "alice"]
    prepare("mini", cifar.tar())
    found = content_digests("digits", "mini")
    assert list(found) == ["digits", "mini"]
    assert all(len(digest) == 16 and int(digest, 16) >= 0 for digest in found.values())


def test_the_digest_is_that_of_the_content_not_of_the_container(cifar, tmp_path, monkeypatch):
    first = prepare("mini", cifar.tar()).folder
    one = content_digests("mini")
    monkeypatch.setenv("BENCH_DATA", str(tmp_path / "elsewhere"))
    assert prepare("mini", cifar.parquet()).folder.name != first.name
    assert content_digests("mini") == one


def test_other_content_has_another_digest(cifar):
    folder = prepare("mini", cifar.tar()).folder
    before = content_digests("mini")
    meta = json.loads((folder / "meta.json").read_text())
    meta["content"]["test"] = "0" * 64
    (folder / "meta.json").write_text(json.dumps(meta))
    assert content_digests("mini") != before


def test_an_unknown_data_set_has_no_digest(catalogue):
    with pytest.raises(DataError, match="no data set 'cifar999'"):
        content_digests("cifar999")
