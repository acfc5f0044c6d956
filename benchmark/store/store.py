"""The result store: what the rest of the program knows of it.

Finished cells are immutable Parquet files, written by whoever ran them; everything else can be made again from
those. No method needs a lock, so any number of processes and machines may write while others read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib import metadata
from itertools import starmap
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmark.errors import StoreError
from benchmark.records import CellRecord
from benchmark.store import checkpoints, claims, compaction, execution, heartbeats, index, runs, schema, shards, views
from benchmark.store.heartbeats import Heartbeat
from benchmark.store.layout import Layout, new_attempt_id, new_run_id
from benchmark.store.runs import RunRecord
from benchmark.store.selection import Attempt, Failure, counting, recorded
from benchmark.store.shards import DamagedError, Scan, Shard, StaleError

if TYPE_CHECKING:
    import duckdb

T = TypeVar("T")
LOOKS = 20
"""How often to look again when files vanish while they are read (another process compacts)."""


class Store:
    """A folder of results. Making one touches nothing; the folder appears with the first write.

    With `read_only` not even damaged files are moved: for looking into a store that belongs to somebody else.
    `warnings` collects what a reader should be told (damaged shards set aside, foreign files); never fatal.
    """

    def __init__(self, root: Path | str, *, read_only: bool = False) -> None:
        self.root = Path(root)
        self.layout = Layout(self.root, read_only)
        self.warnings: list[str] = []
        self._read: dict[str, list[Attempt]] = {}
        self._attempts: tuple[frozenset[str], list[Attempt]] = (frozenset(), [])
        self._index: tuple[frozenset[str], duckdb.DuckDBPyConnection] | None = None

    # --- writing -----------------------------------------------------------------------------------------------

    def write_shard(self, records: Sequence[CellRecord]) -> Path:
        """Store records for good, as one file; once this returns they survive a kill and a power cut.

        Raises StoreError (disk full, no permission, a record that cannot be stored); nothing is left behind then.
        """
        return shards.write_shard(self.layout, records)

    def save_run(self, run: RunRecord) -> None:
        """Write or replace the record of one invocation. Raises StoreError."""
        runs.save_run(self.layout, run)

    # --- planning: from the index where it is current, else from the shards, which takes no DuckDB -----------------

    def shards(self, *, verify_all: bool = False) -> Scan:
        """Every good shard. New files are hashed (all of them with `verify_all`); damaged ones go to quarantine."""
        found = shards.scan(self.layout, verify_all=verify_all)
        self._warn(found.warnings)
        return found

    def attempts(self) -> list[Attempt]:
        """The narrow columns of every attempt, each once, oldest first."""
        names = self.shards().names
        if names != self._attempts[0]:
            rows = self._ask_current(f"select {', '.join(Attempt._fields)} from attempts order by attempt_id, cell_id")
            if rows is None:
                unique = {attempt[:2]: attempt for read in self._retried(self._narrow) for attempt in read}
                rows = [unique[key] for key in sorted(unique, key=itemgetter(1, 0))]
            self._attempts = names, [*starmap(Attempt, rows)]
        return self._attempts[1]

    def counting(self) -> dict[str, Attempt]:
        """Cell id → the attempt that counts (see `benchmark.store.selection`)."""
        return counting(self.attempts())

    def finished(self) -> dict[str, str]:
        """Cell id → run id, for every cell that has numbers (finished or diverged)."""
        return {cell: attempt.run_id for cell, attempt in self.counting().items() if attempt.done}

    def recorded(self) -> dict[str, set[str]]:
        """Cell id → keys of what probes recorded of it (`benchmark.probe.Probe.key`)."""
        return recorded(self.attempts())

    def not_done(self) -> dict[str, str]:
        """Cell id → status of the last attempt, for every cell that was tried and has no numbers."""
        return {cell: attempt.status for cell, attempt in self.counting().items() if not attempt.done}

    def seconds(self, profile: str | None = None) -> dict[tuple[str, str], float]:
        """(task, initialiser) → mean wall seconds of a finished cell, of one profile or of all."""
        groups: dict[tuple[str, str], list[float]] = {}
        for attempt in self.counting().values():
            if attempt.done and profile in (None, attempt.profile):
                groups.setdefault((attempt.task, attempt.initializer), []).append(attempt.seconds)
        return {key: sum(values) / len(values) for key, values in groups.items()}

    def records(self, cell_ids: Iterable[str] | None = None, *, every_attempt: bool = False) -> list[CellRecord]:
        """Whole records with their curves, those that count or all; of the given cells or of all."""
        wanted = None if cell_ids is None else set(cell_ids)
        keep = {(a.cell_id, a.attempt_id) for a in (self.attempts() if every_attempt else self.counting().values())}
        found = {}
        for record in self._retried(self._whole):
            key = (record.cell_id, record.attempt_id)
            if key in keep and (wanted is None or record.cell_id in wanted):
                found[key] = record
        return [found[key] for key in sorted(found)]

    def failures(self) -> list[Failure]:
        """Every cell that was tried and has no numbers, with the error of its last attempt."""
        keys = {attempt[:2] for attempt in self.counting().values() if not attempt.done}
        found: dict[tuple[str, str], Failure] = {}

        def look(shard: Shard) -> None:
            for row in shards.read_table(shard.path, Failure._fields).to_pylist():
                if (row["cell_id"], row["attempt_id"]) in keys:
                    found[row["cell_id"], row["attempt_id"]] = Failure(**row)

        if keys:
            self._retried(lambda: self._each(look))
        return sorted(found.values(), key=lambda failure: (failure.task, failure.initializer, failure.seed))

    def provenance(self, cell_ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Cell id → what its counting attempt was made with; of the given cells, as far as they are here. Cells made
        with the same share one mapping."""
        wanted, parsed = set(cell_ids), cache(json.loads)
        rows = self._ask_current("select cell_id, provenance from cells")
        if rows is None:
            keys = {attempt[:2] for attempt in self.counting().values()}
            columns, rows = ("cell_id", "attempt_id", "provenance"), []

            def look(shard: Shard) -> None:
                read = zip(*shards.read_table(shard.path, columns).select(columns).to_pydict().values(), strict=True)
                rows.extend((id, text) for id, attempt, text in read if (id, attempt) in keys)

            self._retried(lambda: self._each(look))
        return {id: parsed(text) for id, text in rows if id in wanted}

    def runs(self) -> list[RunRecord]:
        """Every invocation, oldest first."""
        found, warnings = runs.load_runs(self.layout)
        self._warn(warnings)
        return found

    # --- asking ------------------------------------------------------------------------------------------------

    def connect(self) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection with the views cells, attempts, finals, curves, curve_ends, runs and store_info.

        It is a database in memory over a read-only index, with files and network out of reach: whatever is
        executed on it, the store stays as it is. Close it after use. Raises StoreError for a newer schema.
        """
        con, state, found = self._retried(lambda: self._open(self.shards()))
        con.execute(views.VIEWS)
        con.register("shard_rows", shards.dataset(found))
        con.execute(views.CURVES)
        self._add_runs(con)
        self._add_info(con, state, found)
        con.execute("set enable_external_access = false")
        con.execute("set lock_configuration = true")
        return con

    def ask(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of a query over the views cells, attempts, finals and curve_ends, for which no curve is read.

        Raises StoreError for a newer schema, duckdb.Error for a query that is none.
        """
        import duckdb

        con = self._retried(self._indexed)
        assert con is not None
        try:
            return con.cursor().execute(query, parameters).fetchall()
        except duckdb.Error as error:
            if not self.mend_index(error):
                raise
            self._warn(["the index was damaged and is rebuilt from the shards"])
            return self.ask(query, parameters)

    def _ask_current(self, query: str) -> list[tuple[Any, ...]] | None:
        """`ask`, when the index is current; None when it would have to be made."""
        return None if self._retried(lambda: self._indexed(make=False)) is None else self.ask(query)

    def _indexed(self, *, make: bool = True) -> duckdb.DuckDBPyConnection | None:
        """A connection with the views over the index; kept as long as the shards are the same."""
        found = self.shards()
        if self._index is None or self._index[0] != found.names:
            con = self._open(found)[0] if make else index.current(self.layout, found)
            if con is None:
                return None
            con.execute(views.VIEWS)
            self._index = found.names, con
        return self._index[1]

    def mend_index(self, error: Exception) -> bool:
        """Throw the index away when a query failed because it is damaged; then `connect` builds a new one.

        DuckDB compares a block's checksum only when a query needs the block, so `connect` cannot know.
        """
        self._index = None
        return index.discard_if_damaged(self.layout, error)

    def _open(self, found: Scan) -> tuple[duckdb.DuckDBPyConnection, str, Scan]:
        warnings: list[str] = []
        try:
            con, state = index.open_index(self.layout, found, warnings)
        finally:
            self._warn(warnings)
        return con, state, found

    def _add_runs(self, con: duckdb.DuckDBPyConnection) -> None:
        con.execute(views.RUNS)
        rows = []
        for run in self.runs():
            texts = [json.dumps(value, default=str) for value in (run.counts, run.environment, run.spec)]
            row: list[Any] = [run.run_id, run.experiment, run.profile, run.status, run.started_at, run.ended_at]
            rows.append([*row, len(run.cell_ids), json.dumps(run.argv), run.host, *texts, run.source])
        if rows:
            con.executemany(f"insert into runs values ({', '.join('?' * len(rows[0]))})", rows)

    def _add_info(self, con: duckdb.DuckDBPyConnection, state: str, found: Scan) -> None:
        con.execute(views.INFO)
        con.execute(
            "insert into store_info select ?, ?, ?, ?, ?, (select count(*) from attempts), "
            "(select count(*) from cells), (select count(*) from runs), ?, ?",
            [
                schema.SCHEMA_VERSION, views.INDEX_VERSION, state, len(found.shards),
                sum(shard.is_segment for shard in found.shards), len(self.warnings), _program_version(),
            ],
        )  # fmt: skip

    # --- what runs now -----------------------------------------------------------------------------------------

    def beat(self, heartbeat: Heartbeat) -> None:
        """Say how a stack is doing; never raises for a full disk."""
        heartbeats.beat(self.layout, heartbeat)

    def end_beat(self, run_id: str, stack_id: str) -> None:
        """The stack has ended; its heartbeat goes."""
        heartbeats.remove(self.layout, run_id, stack_id)

    def heartbeats(self) -> list[Heartbeat]:
        """Every heartbeat present, those of dead processes included (`is_alive`)."""
        return heartbeats.load(self.layout)

    def sweep_heartbeats(self) -> list[Heartbeat]:
        """Remove heartbeats of dead processes, and their claims; returns the heartbeats."""
        dead = heartbeats.sweep_dead(self.layout)
        claims.sweep(self.layout)
        return dead

    def claim(self, run_id: str, stack_id: str, cells: Collection[str]) -> set[str]:
        """Claim cells for a stack that has a heartbeat; returns those that others are training."""
        return claims.take(self.layout, (run_id, stack_id), cells)

    def release(self, run_id: str, stack_id: str, cells: Iterable[str]) -> None:
        """Give a stack's claims back."""
        claims.release(self.layout, (run_id, stack_id), cells)

    def checkpoints(self) -> list[checkpoints.Checkpoint]:
        """Stacks that were left half trained, the most advanced first."""
        return checkpoints.load(self.layout)

    def reached(self, cells: Collection[str]) -> tuple[int, int]:
        """How far a stack of these cells is kept half trained: cells done, steps done of the others."""
        stages = (one.stage for one in self.checkpoints() if {*one.stage.cell_ids} == {*cells})
        return max(((stage.cells_done, stage.step) for stage in stages), default=(0, 0))

    def sweep_checkpoints(self) -> None:
        """Remove checkpoints of cells that have numbers, and those nobody can want any more."""
        if self.layout.checkpoints.is_dir():
            checkpoints.sweep(self.layout, self.finished())

    # --- execution modes ---------------------------------------------------------------------------------------

    def execution(self) -> dict[str, dict[str, Any]]:
        """Shape key → the mode decided for it, with the probe's timings."""
        return execution.load(self.layout)

    def decide_execution(self, key: str, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Keep a decision unless there is one already; returns the one that holds. Raises StoreError."""
        return execution.decide(self.layout, key, entry)

    # --- upkeep ------------------------------------------------------------------------------------------------

    def compact(self, *, threshold: int = compaction.THRESHOLD) -> compaction.Compaction:
        """Gather loose shards into segments when there are more than `threshold`. Safe to kill at any moment."""
        return self._retried(lambda: compaction.compact(self.layout, self.shards(verify_all=True), threshold))

    # --- inside ------------------------------------------------------------------------------------------------

    def _narrow(self) -> list[list[Attempt]]:
        """Attempts by shard; a shard never changes, so each is read once per `Store`."""
        names = [shard.name for shard in self._each(self._remember)]
        self._read = {name: self._read[name] for name in names if name in self._read}
        return list(self._read.values())

    def _remember(self, shard: Shard) -> None:
        if shard.name not in self._read:
            table = shards.read_table(shard.path, Attempt._fields)
            columns = [table.column(name).to_pylist() for name in Attempt._fields]
            self._read[shard.name] = [Attempt(*row) for row in zip(*columns, strict=True)]

    def _whole(self) -> list[CellRecord]:
        found: list[CellRecord] = []
        self._each(lambda shard: found.extend(schema.to_records(shards.read_table(shard.path))))
        return found

    def _each(self, action: Callable[[Shard], None]) -> Sequence[Shard]:
        """Do something with every shard; one found damaged is set aside. Raises StaleError when one has gone."""
        present = self.shards().shards
        for shard in present:
            try:
                action(shard)
            except FileNotFoundError as error:
                raise StaleError from error
            except DamagedError as damage:
                self._warn([shards.quarantine(self.layout, shard.path, str(damage))])
        return present

    def _retried(self, action: Callable[[], T]) -> T:
        for _ in range(LOOKS):
            try:
                return action()
            except StaleError:
                continue
        raise StoreError(f"{self.layout.shards} keeps changing while it is read; is it being copied to or cleaned up?")

    def _warn(self, messages: Iterable[str]) -> None:
        self.warnings += [message for message in messages if message not in self.warnings]


def _program_version() -> str:
    try:
        return metadata.version("initbench")
    except metadata.PackageNotFoundError:
        return "unknown"


__all__ = ["Heartbeat", "RunRecord", "Store", "new_attempt_id", "new_run_id"]
