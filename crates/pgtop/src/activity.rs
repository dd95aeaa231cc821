//! Writes the statements that read a server's activity, by its version.
//!
//! From 13 to 18 all of it; from 9.6 to 12 the activity alone, which nobody has tried here.
//! Query texts come as bytes, cut in the server by bytes. So a text of 1 MB costs what its
//! beginning costs, and one in another database's encoding fails nothing.
//! Invariant: no statement needs more rights than `pg_monitor` has. Without them columns are NULL.
//! Never here: the views of catalogs (`catalog.rs`), and running statements (`sample.rs`).

/// The oldest version that is known in full.
pub(crate) const FULL_FROM: i64 = 130_000;
/// The newest one that statements were written for.
pub(crate) const KNOWN_TO: i64 = 189_999;

/// What can be asked once after connecting.
pub(crate) const SERVER: &str = "\
SELECT current_setting('server_version_num')::int8, current_setting('server_version'), \
pg_postmaster_start_time(), current_setting('max_connections')::int8, \
current_database(), current_user::text, \
(SELECT quote_ident(nspname) FROM pg_catalog.pg_extension \
 JOIN pg_catalog.pg_namespace n ON n.oid = extnamespace \
 WHERE extname = 'pg_stat_statements')";

/// The server as a whole, in one row.
pub(crate) fn server_facts(version: i64) -> String {
    // A standby that has replayed all of it is not behind, however long ago that was.
    let received = match version {
        ..100_000 => "pg_last_xlog_receive_location() = pg_last_xlog_replay_location()",
        _ => "pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()",
    };
    format!(
        "SELECT clock_timestamp(), pg_is_in_recovery(), \
         CASE WHEN NOT pg_is_in_recovery() THEN NULL WHEN {received} THEN 0 \
         ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8 END, \
         sum(xact_commit)::int8, sum(xact_rollback)::int8, sum(blks_read)::int8, \
         sum(blks_hit)::int8, sum(tup_returned)::int8, sum(tup_inserted)::int8, \
         sum(tup_updated)::int8, sum(tup_deleted)::int8, sum(temp_bytes)::int8, \
         sum(deadlocks)::int8, \
         greatest((SELECT max(age(transaction)) FROM pg_catalog.pg_prepared_xacts), \
         (SELECT max(greatest(age(xmin), age(catalog_xmin))) \
         FROM pg_catalog.pg_replication_slots))::int8, \
         (SELECT min(prepared) FROM pg_catalog.pg_prepared_xacts), {}, {} \
         FROM pg_catalog.pg_stat_database",
        has_role("pg_signal_backend"),
        has_role("pg_read_all_data")
    )
}

/// Whether this role has the rights of another; NULL where there is no such role.
fn has_role(role: &str) -> String {
    format!("(SELECT pg_has_role(oid, 'USAGE') FROM pg_catalog.pg_roles WHERE rolname = '{role}')")
}

/// All sessions and workers but ours. `$1` is how many bytes of a query are read; of an idle
/// session's last one 120 are enough.
pub(crate) fn sessions(version: i64) -> String {
    let from = |least: i64, column: &'static str, none: &'static str| {
        if version >= least { column } else { none }
    };
    let query_id = from(140_000, "query_id", "NULL::int8");
    let leader = from(130_000, "leader_pid", "NULL::int4");
    let kind = from(100_000, "backend_type", "'client backend'::text");
    format!(
        "SELECT pid, backend_start, query_start, usename, datname, host(client_addr), \
         application_name, xact_start, state_change, state, {kind}, wait_event_type, wait_event, \
         backend_xid::text::int8, \
         greatest(age(backend_xid), age(backend_xmin))::int8, {query_id}, {leader}, \
         substring(textsend(query) FROM 1 FOR CASE state WHEN 'idle' THEN least($1, 120) ELSE $1 \
         END) FROM pg_catalog.pg_stat_activity WHERE pid <> pg_backend_pid()"
    )
}

/// Who waits for whom, for the sessions `$1`. `pg_blocking_pids` stops the lock manager for a
/// moment, so only sessions that wait are asked about.
pub(crate) fn blocking(version: i64) -> String {
    let start = if version >= 140_000 { "l.waitstart" } else { "NULL::timestamptz" };
    format!(
        "SELECT w.pid, array_to_string(pg_blocking_pids(w.pid), ' '), \
         l.locktype || CASE WHEN l.relation IS NULL THEN '' \
         WHEN l.database = (SELECT oid FROM pg_catalog.pg_database \
         WHERE datname = current_database()) \
         THEN ' ' || l.relation::regclass::text ELSE ' ' || l.relation::text END \
         || ' ' || l.mode, {start} \
         FROM unnest($1::int4[]) AS w(pid) LEFT JOIN LATERAL (SELECT * FROM pg_catalog.pg_locks \
         AS k WHERE k.pid = w.pid AND NOT granted LIMIT 1) l ON true"
    )
}

/// The whole text of a query that still runs: `$1` to `$3` are its identity.
pub(crate) const WHOLE_TEXT: &str = "\
SELECT textsend(query), datname, \
(SELECT setting::int8 FROM pg_catalog.pg_settings WHERE name = 'track_activity_query_size') \
FROM pg_catalog.pg_stat_get_activity($1) a LEFT JOIN pg_catalog.pg_database d ON d.oid = a.datid \
WHERE a.backend_start = $2 AND a.query_start IS NOT DISTINCT FROM $3";
