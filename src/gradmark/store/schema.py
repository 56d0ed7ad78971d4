"""The schema of a database of runs: one migration for each version, carried out once, in order.

A database is ours if its schema `gradmark` has the table `migration`. To change the schema, add a migration; one that
was released is never changed.
"""

SCHEMA = "gradmark"

MIGRATIONS = (
    """
    create table gradmark.machine_class (
        digest text primary key,
        name text not null,
        words text not null
    );
    -- The cells of an outline, in their order: runs of one plan have the same.
    create table gradmark.cells (
        number integer generated always as identity primary key,
        digest bytea not null unique,
        cells text not null
    );
    create table gradmark.run (
        number bigint generated always as identity primary key,
        id text not null unique,
        started text not null, -- ISO 8601, UTC
        verb text not null,
        arguments text[] not null,
        engines text[] not null,
        workloads text[] not null,
        planned bigint not null, -- cells
        processes bigint not null,
        inspected bigint not null,
        ok bigint not null,
        samples bigint not null,
        finished boolean not null,
        machine_class text not null references gradmark.machine_class,
        instance text not null,
        commit text,
        bytes bigint not null, -- of the run file,
        digest bytea not null, -- and its SHA-256
        frame bytea not null, -- the run file without its arrays, compressed by zlib
        heading text not null, -- of the outline
        cells integer not null references gradmark.cells,
        outline_version integer not null,
        uploaded timestamptz not null default now()
    );
    alter table gradmark.run alter column frame set storage external;
    create index run_started on gradmark.run (started, id);
    create index run_machine_class on gradmark.run (machine_class, started);
    -- Raw samples: the blocks of each phase in each process, with the pilots before and after each, in nanoseconds.
    create table gradmark.sample (
        run bigint not null references gradmark.run on delete cascade,
        place integer not null, -- in the run file
        cell text, -- none of the fixed work of a calibration
        process bigint,
        phase text not null,
        block_ns double precision[],
        core double precision[][],
        memory double precision[][],
        device double precision[][],
        primary key (run, place)
    );
    -- The numbers of each metric as they are shown, one for each cell of the run.
    create table gradmark.outline (
        metric text not null,
        run bigint not null references gradmark.run on delete cascade,
        entries text not null,
        primary key (metric, run)
    );
    create index outline_run on gradmark.outline (run);
    create view gradmark.number as
        select run.id as run, run.started, run.machine_class, run.instance, outline.metric,
            cell.value ->> 'engine' as engine, cell.value ->> 'workload' as workload, cell.value as cell,
            coalesce(entry.value -> 0, entry.value)::text::double precision as value
        from gradmark.outline
        join gradmark.run on run.number = outline.run
        join gradmark.cells on cells.number = run.cells
        cross join lateral jsonb_array_elements(outline.entries::jsonb) with ordinality as entry(value, place)
        join lateral jsonb_array_elements(cells.cells::jsonb) with ordinality as cell(value, place) using (place)
        where entry.value <> 'null'::jsonb;
    """,
)
VERSION = len(MIGRATIONS)
# What a run needs to be written, and what to be read.
TABLES = ("run", "sample", "outline", "cells", "machine_class")
