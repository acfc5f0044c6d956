import os
from pathlib import Path

import pytest

from benchmark.errors import StoreError
from benchmark.store import Store, compaction


def everything(store: Store) -> list[str]:
    return [repr(record) for record in Store(store.root).records(every_attempt=True)]


@pytest.fixture
def full(store, record):
    for i in range(7):
        store.write_shard([record(2 * i), record(2 * i + 1, status="failed")])
    return store


def test_few_shards_are_left_alone(full):
    assert full.compact() == compaction.Compaction()
    assert len(full.shards().shards) == 7


def test_compaction_keeps_every_attempt_exactly(full, monkeypatch):
    monkeypatch.setattr(compaction, "SEGMENT_SHARDS", 3)
    before = everything(full)
    assert full.compact(threshold=5) == compaction.Compaction(shards=7, segments=3, cells=14)
    assert everything(full) == before
    assert all(shard.is_segment for shard in full.shards().shards)
    assert full.connect().execute("select shards, segments, attempts from store_info").fetchall() == [(3, 3, 14)]
    assert full.compact(threshold=0) == compaction.Compaction()


def test_new_shards_join_a_compacted_store(full, record):
    full.compact(threshold=0)
    full.write_shard([record(1)])
    assert len(full.finished()) == 8


def test_killed_before_the_originals_go_counts_nothing_twice(full, monkeypatch):
    before = everything(full)

    def killed(segment, keys):
        raise KeyboardInterrupt

    monkeypatch.setattr(compaction, "_check", killed)
    with pytest.raises(KeyboardInterrupt):
        full.compact(threshold=0)
    assert len(full.shards().shards) == 8
    assert everything(full) == before
    assert full.connect().execute("select count(*) from attempts").fetchall() == [(14,)]
    assert full.connect().execute("select count(*) from finals").fetchall() == [(14 * 3,)]


def test_a_segment_that_lacks_a_cell_is_thrown_away_and_the_originals_stay(full, monkeypatch):
    before = everything(full)
    honest = compaction._row_groups
    monkeypatch.setattr(
        compaction, "_row_groups", lambda group, keys: (table.slice(1) for table in honest(group, keys))
    )
    with pytest.raises(StoreError, match="originals were kept"):
        full.compact(threshold=0)
    assert len(full.shards().shards) == 7
    assert everything(full) == before


def test_a_full_disk_leaves_the_originals_and_no_remains(full, monkeypatch):
    before = everything(full)

    def full_disk(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compaction, "file_digest", full_disk)
    with pytest.raises(StoreError, match="No space left on device"):
        full.compact(threshold=0)
    assert everything(full) == before
    assert list(full.layout.shards.glob(".*")) == []


def test_a_shard_damaged_after_it_was_verified_does_not_enter_a_segment(full):
    victim = full.shards().shards[0].path
    stat = victim.stat()
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    os.utime(victim, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    full.compact(threshold=0)
    assert len(full.attempts()) == 12
    assert [path.name for path in full.layout.quarantine.glob("*.parquet")] == [victim.name]


def test_a_reader_that_started_before_compaction_looks_again(full, monkeypatch):
    from benchmark.store import shards

    reader, honest, done = Store(full.root), shards.read_table, []

    def compact_first(path: Path, columns=None):
        if not done:
            done.append(True)
            full.compact(threshold=0)
        return honest(path, columns)

    monkeypatch.setattr(shards, "read_table", compact_first)
    assert len(reader.finished()) == 7


def test_originals_that_another_process_compacted_away_are_no_error(full, monkeypatch):
    honest = compaction._check

    def meanwhile(segment, keys):
        honest(segment, keys)
        next(full.layout.shards.glob("2*.parquet")).unlink()

    monkeypatch.setattr(compaction, "_check", meanwhile)
    full.compact(threshold=0)
    assert len(full.attempts()) == 14
