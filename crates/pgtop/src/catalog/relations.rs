//! The views of what is stored: databases, and tables and indexes of the database that is
//! connected to.
//!
//! Plain data. Sizes are not asked for: they cost a system call for each file, in each frame.

use super::spec::{CatalogView, Quantity, Shown};

pub(super) static DATABASES: CatalogView = CatalogView {
    name: "databases",
    keys: &["database"],
    columns: &[
        ("database", Shown::Label("database")),
        ("sessions", Shown::Gauge("sessions", Quantity::Count)),
        ("commits/s", Shown::Rate("commits", Quantity::Count)),
        ("rollbacks/s", Shown::Rate("rollbacks", Quantity::Count)),
        ("hit%", Shown::ShareOfBoth("blocks_hit", "blocks_read")),
        ("reads/s", Shown::Rate("blocks_read", Quantity::Count)),
        ("returned/s", Shown::Rate("returned", Quantity::Count)),
        ("fetched/s", Shown::Rate("fetched", Quantity::Count)),
        ("inserted/s", Shown::Rate("inserted", Quantity::Count)),
        ("updated/s", Shown::Rate("updated", Quantity::Count)),
        ("deleted/s", Shown::Rate("deleted", Quantity::Count)),
        ("temp/s", Shown::Rate("temp_bytes", Quantity::Bytes)),
        ("deadlocks", Shown::Growth("deadlocks", Quantity::Count)),
        ("xid age", Shown::Gauge("xid_age", Quantity::Count)),
    ],
    sort: "commits/s",
    from: 130_000,
    needs_extension: false,
    statement: |_| {
        "SELECT s.datname AS database, s.numbackends AS sessions, s.xact_commit AS commits, \
         s.xact_rollback AS rollbacks, s.blks_hit AS blocks_hit, s.blks_read AS blocks_read, \
         s.tup_returned AS returned, s.tup_fetched AS fetched, s.tup_inserted AS inserted, \
         s.tup_updated AS updated, \
         s.tup_deleted AS deleted, s.temp_bytes AS temp_bytes, s.deadlocks AS deadlocks, \
         age(d.datfrozenxid)::int8 AS xid_age, s.stats_reset AS stats_reset \
         FROM pg_catalog.pg_stat_database s \
         JOIN pg_catalog.pg_database d ON d.oid = s.datid \
         ORDER BY s.xact_commit + s.xact_rollback DESC"
            .to_owned()
    },
};

pub(super) static TABLES: CatalogView = CatalogView {
    name: "tables",
    keys: &["relid"],
    columns: &[
        ("table", Shown::Label("table")),
        ("seq scans/s", Shown::Rate("seq_scans", Quantity::Count)),
        ("seq rows/s", Shown::Rate("seq_rows", Quantity::Count)),
        ("index scans/s", Shown::Rate("index_scans", Quantity::Count)),
        ("inserted/s", Shown::Rate("inserted", Quantity::Count)),
        ("updated/s", Shown::Rate("updated", Quantity::Count)),
        ("hot%", Shown::ShareOfGrowth { part: "hot", whole: "updated" }),
        ("deleted/s", Shown::Rate("deleted", Quantity::Count)),
        ("live", Shown::Gauge("live", Quantity::Count)),
        ("dead", Shown::Gauge("dead", Quantity::Count)),
        ("hit%", Shown::ShareOfBoth("blocks_hit", "blocks_read")),
        ("reads/s", Shown::Rate("blocks_read", Quantity::Count)),
        ("vacuumed", Shown::Gauge("vacuumed_s", Quantity::Seconds)),
    ],
    sort: "seq rows/s",
    from: 130_000,
    needs_extension: false,
    statement: |_| {
        "SELECT s.relid::int8 AS relid, s.schemaname || '.' || s.relname AS \"table\", \
         s.seq_scan AS seq_scans, s.seq_tup_read AS seq_rows, s.idx_scan AS index_scans, \
         s.n_tup_ins AS inserted, s.n_tup_upd AS updated, s.n_tup_hot_upd AS hot, \
         s.n_tup_del AS deleted, s.n_live_tup AS live, s.n_dead_tup AS dead, \
         coalesce(io.heap_blks_hit, 0) + coalesce(io.idx_blks_hit, 0) AS blocks_hit, \
         coalesce(io.heap_blks_read, 0) + coalesce(io.idx_blks_read, 0) AS blocks_read, \
         extract(epoch FROM clock_timestamp() - greatest(s.last_vacuum, s.last_autovacuum))\
         ::float8 AS vacuumed_s \
         FROM pg_catalog.pg_stat_user_tables s \
         JOIN pg_catalog.pg_statio_user_tables io USING (relid) \
         ORDER BY s.seq_tup_read + coalesce(s.idx_tup_fetch, 0) + s.n_tup_ins + s.n_tup_upd \
         + s.n_tup_del DESC"
            .to_owned()
    },
};

pub(super) static INDEXES: CatalogView = CatalogView {
    name: "indexes",
    keys: &["indexrelid"],
    columns: &[
        ("index", Shown::Label("index")),
        ("table", Shown::Label("table")),
        ("scans/s", Shown::Rate("scans", Quantity::Count)),
        ("entries/s", Shown::Rate("entries", Quantity::Count)),
        ("fetched/s", Shown::Rate("fetched", Quantity::Count)),
        ("hit%", Shown::ShareOfBoth("blocks_hit", "blocks_read")),
        ("reads/s", Shown::Rate("blocks_read", Quantity::Count)),
        ("scans", Shown::Gauge("scans", Quantity::Count)),
    ],
    sort: "scans/s",
    from: 130_000,
    needs_extension: false,
    statement: |_| {
        "SELECT s.indexrelid::int8 AS indexrelid, s.indexrelname AS \"index\", \
         s.schemaname || '.' || s.relname AS \"table\", s.idx_scan AS scans, \
         s.idx_tup_read AS entries, s.idx_tup_fetch AS fetched, \
         io.idx_blks_hit AS blocks_hit, io.idx_blks_read AS blocks_read \
         FROM pg_catalog.pg_stat_user_indexes s \
         JOIN pg_catalog.pg_statio_user_indexes io USING (indexrelid) \
         ORDER BY s.idx_scan DESC"
            .to_owned()
    },
};
