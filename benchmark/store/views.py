"""SQL of the index's tables and of the views a user sees."""

from __future__ import annotations

from benchmark.store.selection import ORDER_SQL

INDEX_VERSION = 1

TABLES = """
create table idx.meta (key varchar primary key, value varchar);
create table idx.loaded (shard varchar primary key, cells bigint);
create table idx.records (
    record bigint, shard varchar, cell_id varchar, attempt_id varchar, run_id varchar, task varchar,
    initializer varchar, seed bigint, profile varchar, status varchar, error varchar, started_at varchar,
    seconds double, steps_planned bigint, steps_done bigint, parameters bigint, execution varchar, device varchar,
    resolved varchar, provenance varchar
);
create table idx.final_values (record bigint, metric varchar, value double);
create table idx.curve_points (record bigint, metric varchar, step bigint, value double);
create table idx.kept (record bigint, counts boolean);
"""

LOAD = """
insert into idx.records
    select record, shard, cell_id, attempt_id, run_id, task, initializer, seed, profile, status, error, started_at,
        seconds, steps_planned, steps_done, parameters, execution, device, resolved, provenance
    from incoming;
insert into idx.final_values
    select record, item.name, item.value from (select record, unnest(finals) as item from incoming);
insert into idx.curve_points
    select record, item.name, item.step, item.value from (select record, unnest(curve) as item from incoming);
"""
"""Takes a registered table `incoming`: a shard's columns with `record` (unique) and `shard`."""

SELECT = f"""
create or replace table idx.kept as
    with distinct_attempts as (
        select record, cell_id, attempt_id, status from idx.records
        qualify row_number() over (partition by cell_id, attempt_id order by shard, record) = 1
    )
    select record, row_number() over (partition by cell_id order by {ORDER_SQL}) = 1 as counts
    from distinct_attempts;
"""
"""One row per attempt (an attempt that lies in two files is one), with whether it counts for its cell."""

_ATTEMPT = """r.cell_id, r.attempt_id, r.run_id, r.task, r.initializer, r.seed, r.profile, r.status, r.error,
        r.started_at, r.seconds, r.steps_planned, r.steps_done, r.parameters, r.execution, r.device, r.resolved,
        r.provenance, r.shard"""

_CELL = "r.cell_id, r.task, r.initializer, r.seed, r.profile"

VIEWS = f"""
create view attempts as select {_ATTEMPT}, k.counts from idx.records r join idx.kept k using (record);
create view cells as select {_ATTEMPT} from idx.records r join idx.kept k using (record) where k.counts;
create view finals as
    select {_CELL}, f.metric, f.value, isfinite(f.value) as is_finite
    from idx.final_values f join idx.kept k using (record) join idx.records r using (record) where k.counts;
create view curves as
    select {_CELL}, c.metric, c.step, c.value
    from idx.curve_points c join idx.kept k using (record) join idx.records r using (record) where k.counts;
"""

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

NAMES = ("cells", "attempts", "finals", "curves", "runs", "store_info")
