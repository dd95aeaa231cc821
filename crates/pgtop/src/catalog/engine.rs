//! The views of the server itself: statements, I/O, replication, progress.
//!
//! Plain data. PostgreSQL 17 split the times of blocks in `pg_stat_statements`; 18 has bytes
//! instead of `op_bytes` in `pg_stat_io`. Before 16 there is no `pg_stat_io`; who wrote buffers is
//! shown instead, from `pg_stat_bgwriter`.

use super::progress;
use super::spec::{CatalogView, Quantity, Shown};

pub(super) static STATEMENTS: CatalogView = CatalogView {
    name: "statements",
    keys: &["userid", "dbid", "queryid", "toplevel"],
    columns: &[
        ("calls/s", Shown::Rate("calls", Quantity::Count)),
        ("time%", Shown::ShareOfAll("exec_ms")),
        ("ms/call", Shown::Each { counter: "exec_ms", by: "calls", unit: Quantity::Milliseconds }),
        ("rows/call", Shown::Each { counter: "rows", by: "calls", unit: Quantity::Count }),
        ("hit%", Shown::ShareOfBoth("blocks_hit", "blocks_read")),
        ("io ms/call", Shown::Each { counter: "io_ms", by: "calls", unit: Quantity::Milliseconds }),
        ("temp/s", Shown::Rate("temp_bytes", Quantity::Bytes)),
        ("wal/s", Shown::Rate("wal_bytes", Quantity::Bytes)),
        ("user", Shown::Label("user")),
        ("database", Shown::Label("database")),
        ("statement", Shown::Label("query")),
    ],
    sort: "time%",
    from: 130_000,
    needs_extension: true,
    statement: |version| {
        let toplevel = if version >= 140_000 { "s.toplevel" } else { "true" };
        let reset = match version {
            140_000.. => "(SELECT stats_reset FROM {schema}.pg_stat_statements_info)",
            _ => "NULL::timestamptz",
        };
        let io = match version {
            170_000.. => {
                "s.shared_blk_read_time + s.shared_blk_write_time + s.local_blk_read_time + \
                 s.local_blk_write_time"
            }
            _ => "s.blk_read_time + s.blk_write_time",
        };
        // Without texts, which lie in a file that would be read whole for each frame.
        format!(
            "SELECT s.userid::int8 AS userid, s.dbid::int8 AS dbid, s.queryid AS queryid, \
             {toplevel} AS toplevel, r.rolname AS \"user\", d.datname AS \"database\", \
             s.calls AS calls, s.total_exec_time AS exec_ms, s.rows AS rows, \
             s.shared_blks_hit AS blocks_hit, s.shared_blks_read AS blocks_read, \
             {io} AS io_ms, s.temp_blks_written * current_setting('block_size')::int8 AS \
             temp_bytes, s.wal_bytes::float8 AS wal_bytes, {reset} AS stats_reset \
             FROM {{schema}}.pg_stat_statements(false) s \
             LEFT JOIN pg_catalog.pg_roles r ON r.oid = s.userid \
             LEFT JOIN pg_catalog.pg_database d ON d.oid = s.dbid \
             ORDER BY s.total_exec_time DESC"
        )
    },
};

pub(super) static INPUT_OUTPUT: CatalogView = CatalogView {
    name: "io",
    keys: &["who", "object", "context"],
    columns: &[
        ("who", Shown::Label("who")),
        ("object", Shown::Label("object")),
        ("context", Shown::Label("context")),
        ("reads/s", Shown::Rate("reads", Quantity::Count)),
        ("read/s", Shown::Rate("read_bytes", Quantity::Bytes)),
        ("ms/read", Shown::Each { counter: "read_ms", by: "reads", unit: Quantity::Milliseconds }),
        ("writes/s", Shown::Rate("writes", Quantity::Count)),
        ("written/s", Shown::Rate("write_bytes", Quantity::Bytes)),
        ("extends/s", Shown::Rate("extends", Quantity::Count)),
        ("hits/s", Shown::Rate("hits", Quantity::Count)),
        ("fsyncs/s", Shown::Rate("fsyncs", Quantity::Count)),
    ],
    sort: "written/s",
    from: 130_000,
    needs_extension: false,
    statement: |version| {
        if version < 160_000 {
            let row = |who: &str, writes: &str, fsyncs: &str| {
                format!(
                    "SELECT '{who}' AS who, 'relation' AS object, 'normal' AS context, \
                     NULL::int8 AS reads, NULL::float8 AS read_bytes, NULL::float8 AS read_ms, \
                     {writes} AS writes, {writes} * current_setting('block_size')::float8 AS \
                     write_bytes, NULL::int8 AS extends, NULL::int8 AS hits, {fsyncs} AS fsyncs \
                     FROM pg_catalog.pg_stat_bgwriter"
                )
            };
            return [
                row("checkpointer", "buffers_checkpoint", "NULL::int8"),
                row("background writer", "buffers_clean", "NULL::int8"),
                row("backends", "buffers_backend", "buffers_backend_fsync"),
            ]
            .join(" UNION ALL ");
        }
        let bytes = |what: &str| match version {
            180_000.. => format!("{what}_bytes::float8"),
            _ => format!("{what}s * op_bytes::float8"),
        };
        format!(
            "SELECT backend_type AS who, object AS object, context AS context, reads AS reads, \
             {} AS read_bytes, read_time AS read_ms, writes AS writes, {} AS write_bytes, \
             extends AS extends, hits AS hits, fsyncs AS fsyncs, stats_reset AS stats_reset \
             FROM pg_catalog.pg_stat_io \
             WHERE coalesce(reads, writes, extends, hits, fsyncs) IS NOT NULL",
            bytes("read"),
            bytes("write")
        )
    },
};

pub(super) static REPLICATION: CatalogView = CatalogView {
    name: "replication",
    keys: &["kind", "name", "pid"],
    columns: &[
        ("kind", Shown::Label("kind")),
        ("name", Shown::Label("name")),
        ("pid", Shown::Gauge("pid", Quantity::Id)),
        ("client", Shown::Label("client")),
        ("state", Shown::Label("state")),
        ("sync", Shown::Label("sync")),
        ("sending", Shown::Gauge("sending", Quantity::Bytes)),
        ("writing", Shown::Gauge("writing", Quantity::Bytes)),
        ("flushing", Shown::Gauge("flushing", Quantity::Bytes)),
        ("replaying", Shown::Gauge("replaying", Quantity::Bytes)),
        ("lag", Shown::Gauge("lag_s", Quantity::Seconds)),
    ],
    sort: "replaying",
    from: 130_000,
    needs_extension: false,
    statement: |_| {
        let now = "CASE WHEN pg_is_in_recovery() THEN pg_last_wal_receive_lsn() \
                   ELSE pg_current_wal_lsn() END";
        let behind = |place: &str| format!("pg_wal_lsn_diff({now}, {place})::int8");
        format!(
            "SELECT 'client' AS kind, application_name AS name, pid::int8 AS pid, \
             host(client_addr) AS client, state AS state, sync_state AS sync, {} AS sending, \
             {} AS writing, {} AS flushing, {} AS replaying, \
             extract(epoch FROM replay_lag)::float8 AS lag_s FROM pg_catalog.pg_stat_replication \
             UNION ALL SELECT 'slot', slot_name::text, active_pid::int8, database::text, \
             CASE WHEN active THEN 'active' ELSE 'inactive' END, slot_type, NULL, NULL, {}, {}, \
             NULL FROM pg_catalog.pg_replication_slots",
            behind("sent_lsn"),
            behind("write_lsn"),
            behind("flush_lsn"),
            behind("replay_lsn"),
            behind("confirmed_flush_lsn"),
            behind("restart_lsn")
        )
    },
};

pub(super) static PROGRESS: CatalogView = CatalogView {
    name: "progress",
    keys: &["pid", "command"],
    columns: &[
        ("pid", Shown::Gauge("pid", Quantity::Id)),
        ("command", Shown::Label("command")),
        ("database", Shown::Label("database")),
        ("relation", Shown::Label("relation")),
        ("phase", Shown::Label("phase")),
        ("done%", Shown::Percent { part: "done", whole: "whole" }),
        ("done", Shown::Gauge("done", Quantity::Count)),
        ("whole", Shown::Gauge("whole", Quantity::Count)),
        ("unit", Shown::Label("unit")),
    ],
    sort: "done%",
    from: 130_000,
    needs_extension: false,
    statement: progress::statement,
};
