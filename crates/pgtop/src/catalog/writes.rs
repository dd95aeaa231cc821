//! The view of what the server writes by itself: checkpoints, buffers and WAL, a row for each
//! counter.
//!
//! Plain data. A row is there from the version on that counts it, and until the one that stops to.
//! PostgreSQL 14 counts WAL. 17 moved checkpoints to `pg_stat_checkpointer`, and leaves the buffers
//! that backends write to the view of I/O. 18 did so with the times of WAL.
//! The counters of a row have one time of reset, so each of the three sources has rows of its own.

use super::spec::{CatalogView, Quantity, Shown};

pub(super) static WRITES: CatalogView = CatalogView {
    name: "writes",
    keys: &["what"],
    columns: &[
        ("what", Shown::Label("what")),
        ("count", Shown::Growth("count", Quantity::Count)),
        ("count/s", Shown::Rate("count", Quantity::Count)),
        ("bytes", Shown::Growth("bytes", Quantity::Bytes)),
        ("bytes/s", Shown::Rate("bytes", Quantity::Bytes)),
        ("ms", Shown::Growth("ms", Quantity::Milliseconds)),
        ("count in all", Shown::Gauge("count", Quantity::Count)),
        ("bytes in all", Shown::Gauge("bytes", Quantity::Bytes)),
    ],
    sort: "bytes/s",
    from: 130_000,
    needs_extension: false,
    statement: |version| {
        let mut all = checkpoints(version);
        all.push(buffers("background writer", "buffers_clean", "NULL", "bgwriter"));
        if version < 170_000 {
            all.push(buffers("backends", "buffers_backend", "NULL", "bgwriter"));
        }
        if version >= 140_000 {
            // Without `track_wal_io_timing` the server leaves them at 0.
            let ms = match version {
                180_000.. => "NULL",
                _ => {
                    "CASE WHEN current_setting('track_wal_io_timing')::bool \
                     THEN wal_write_time + wal_sync_time END"
                }
            };
            all.push(row("WAL records", ["wal_records", "wal_bytes", ms], "wal"));
            all.push(row("full pages in WAL", ["wal_fpi", "NULL", "NULL"], "wal"));
            all.push(row(
                "times WAL buffers were full",
                ["wal_buffers_full", "NULL", "NULL"],
                "wal",
            ));
        }
        all.join(" UNION ALL ")
    },
};

fn checkpoints(version: i64) -> Vec<String> {
    let event = |what, count, table| row(what, [count, "NULL", "NULL"], table);
    if version < 170_000 {
        let ms = "checkpoint_write_time + checkpoint_sync_time";
        return vec![
            event("checkpoints by time", "checkpoints_timed", "bgwriter"),
            event("checkpoints on request", "checkpoints_req", "bgwriter"),
            buffers("checkpoints", "buffers_checkpoint", ms, "bgwriter"),
        ];
    }
    let mut all = vec![
        event("checkpoints by time", "num_timed", "checkpointer"),
        event("checkpoints on request", "num_requested", "checkpointer"),
        event("restartpoints by time", "restartpoints_timed", "checkpointer"),
        event("restartpoints on request", "restartpoints_req", "checkpointer"),
        event("restartpoints that were done", "restartpoints_done", "checkpointer"),
        buffers("checkpoints", "buffers_written", "write_time + sync_time", "checkpointer"),
    ];
    if version >= 180_000 {
        all.push(event("checkpoints that were done", "num_done", "checkpointer"));
    }
    all
}

fn buffers(who: &str, count: &str, ms: &str, table: &str) -> String {
    let bytes = format!("{count} * current_setting('block_size')::float8");
    row(&format!("buffers by {who}"), [count, &bytes, ms], table)
}

fn row(what: &str, [count, bytes, ms]: [&str; 3], table: &str) -> String {
    format!(
        "SELECT '{what}' AS what, {count} AS count, ({bytes})::float8 AS bytes, \
         ({ms})::float8 AS ms, stats_reset AS stats_reset FROM pg_catalog.pg_stat_{table}"
    )
}
