"""SQL of the index's tables and of the views a user sees."""

from __future__ import annotations

from benchmark.store.schema import sql_columns
from benchmark.store.selection import DONE_SQL, ORDER_SQL

INDEX_VERSION = 4

_COLUMNS = sql_columns()
_NAMES = ", ".join(_COLUMNS)

TABLES = f"""
create table idx.meta (key varchar primary key, value varchar);
create table idx.loaded (shard varchar primary key, cells bigint);
create table idx.records (record bigint, shard varchar, {", ".join(map(" ".join, _COLUMNS.items()))});
create table idx.final_values (record bigint, metric varchar, value double);
create table idx.curve_ends (
    record bigint, metric varchar, lowest double, highest double, last_value double, last_step bigint
);
create table idx.kept (record bigint, counts boolean);
create table idx.recorded (record bigint, recording varchar);
"""
"""Of curves only the ends are in the index: curves are most of a store, and few questions need them (see `CURVES`)."""

LOADED = (*_COLUMNS, "finals", "curve")
"""Columns of a shard that go into the index."""

LOAD = f"""
insert into idx.records select record, shard, {_NAMES} from incoming;
insert into idx.final_values
    select record, item.name, item.value from (select record, unnest(finals) as item from incoming);
insert into idx.curve_ends
    select record, point.name, min(point.value) filter (isfinite(point.value)),
        max(point.value) filter (isfinite(point.value)), arg_max(point.value, point.step), max(point.step)
    from (select record, unnest(curve) as point from incoming) group by record, point.name;
"""
"""Takes a registered table `incoming`: these columns with `record` (unique) and `shard`."""

SELECT = f"""
create or replace table idx.kept as
    with distinct_attempts as (
        select record, cell_id, attempt_id, status from idx.records
        qualify row_number() over (partition by cell_id, attempt_id order by shard, record) = 1
    )
    select record, row_number() over (partition by cell_id order by {ORDER_SQL}) = 1 as counts
    from distinct_attempts;
create or replace table idx.recorded as
    select record, recording
    from (select r.*, unnest(json_keys(recordings)) as recording from idx.records r join idx.kept using (record))
    where {DONE_SQL}
    qualify row_number() over (
        partition by cell_id, recording
        order by json_exists(recordings, '$."' || recording || '".error'), attempt_id
    ) = 1;
"""
"""One row per attempt (an attempt that lies in two files is one), with whether it counts for its cell. And one row per
cell and recording of a probe: the first attempt with numbers that has it whole, be it that one or a later one."""

_ATTEMPT = f"{', '.join(f'r.{name}' for name in _COLUMNS)}, r.shard"

_CELL = "r.cell_id, r.task, r.initializer, r.seed, r.profile"

VIEWS = f"""
create view attempts as select {_ATTEMPT}, k.counts from idx.records r join idx.kept k using (record);
create view cells as select {_ATTEMPT} from idx.records r join idx.kept k using (record) where k.counts;
create view finals as
    select {_CELL}, f.metric, f.value, isfinite(f.value) as is_finite
    from idx.final_values f join idx.kept k using (record) join idx.records r using (record) where k.counts;
create view curve_ends as
    select {_CELL}, e.metric, e.lowest, e.highest, e.last_value, e.last_step
    from idx.curve_ends e join idx.kept k using (record) join idx.records r using (record) where k.counts;
"""
"""`lowest` and `highest` are of a curve's finite values, NULL without one."""


def _of_recordings(column: str) -> str:
    """What probes recorded, of one list column: a row for each item."""
    return f"""
        select {_CELL}, c.recording, unnest(list_filter(s.{column}, lambda item: item.recording = c.recording)) as item
        from idx.recorded c join idx.records r using (record) join shard_rows s using (shard, cell_id, attempt_id)
    """


CURVES = f"""
create view probes as
    select cell_id, task, initializer, seed, profile, item.probe as probe, item.metric as metric, item.layer as layer,
        item.head as head, item.step as step, item.value as value, recording
    from ({_of_recordings("points")});
create view heat_maps as
    select cell_id, task, initializer, seed, profile, item.probe as probe, item.name as name, item.layer as layer,
        item.step as step, item.shape as shape, item.values as values, recording
    from ({_of_recordings("arrays")});
create view curves as
    select cell_id, task, initializer, seed, profile, point.name as metric, point.step as step, point.value as value
    from (
        select {_CELL}, unnest(s.curve) as point
        from idx.kept k join idx.records r using (record) join shard_rows s using (shard, cell_id, attempt_id)
        where k.counts
    )
    union all
    select cell_id, task, initializer, seed, profile, probe || '.' || metric, step, value
    from probes where layer is null;
"""
"""Takes a registered data set `shard_rows`: the columns of every shard, and `shard`. Points are taken apart after the
join, which then holds a row a cell and not one a point (0.5 against 2.4 GB for 5 million)."""

RUNS = """
create table runs (
    run_id varchar, experiment varchar, profile varchar, status varchar, started_at varchar, ended_at varchar,
    cells bigint, argv varchar, host varchar, counts varchar, environment varchar, spec varchar, source varchar
);
"""

INFO = """
create table store_info (
    schema_version bigint, index_version bigint, index_state varchar, shards bigint, segments bigint,
    attempts bigint, cells bigint, runs bigint, warnings bigint, program_version varchar
);
"""

NAMES = ("cells", "attempts", "finals", "curves", "curve_ends", "probes", "heat_maps", "runs", "store_info")
