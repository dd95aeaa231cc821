//! Says how far commands are: which of a command's counters counts in which phase.
//!
//! A command counts blocks in one phase, and tuples, indexes or sessions in the next. What it
//! counted before it leaves as it was, or sets to 0.
//! Invariant: `done` and `whole` are those of the phase, in the unit beside them. `whole` is NULL
//! where the command does not know it.

/// A kind of command: `pg_stat_progress_…`, and what is shown of it.
struct CommandProgress<'t> {
    table: &'t str,
    command: &'t str,
    phase: &'t str,
    /// By phase: a condition, how much is done, how much there is in all, and the unit. The first
    /// that is met counts.
    counted: &'t [[&'t str; 4]],
}

const ALWAYS: &str = "true";
const SCANNED: [&str; 4] = [ALWAYS, "heap_blks_scanned", "heap_blks_total", "blocks"];
/// Before 17 indexes are not counted.
const VACUUM: &[[&str; 4]] = &[
    ["phase LIKE '%indexes'", "indexes_processed", "indexes_total", "indexes"],
    ["phase = 'vacuuming heap'", "heap_blks_vacuumed", "heap_blks_total", "blocks"],
    SCANNED,
];

/// Returns the statement for a version.
pub(super) fn statement(version: i64) -> String {
    let vacuum = if version >= 170_000 { VACUUM } else { &VACUUM[1..] };
    let mut all = vec![
        CommandProgress { table: "vacuum", command: "'VACUUM'", phase: "phase", counted: vacuum },
        CommandProgress {
            table: "analyze",
            command: "'ANALYZE'",
            phase: "phase",
            counted: &[[ALWAYS, "sample_blks_scanned", "sample_blks_total", "blocks"]],
        },
        CommandProgress {
            table: "create_index",
            command: "command",
            phase: "phase || coalesce(': pid ' || nullif(current_locker_pid, 0), '')",
            counted: &[
                ["phase LIKE 'waiting for %'", "lockers_done", "lockers_total", "sessions"],
                ["blocks_total > 0", "blocks_done", "blocks_total", "blocks"],
                ["tuples_total > 0", "tuples_done", "tuples_total", "rows"],
                [ALWAYS, "blocks_done", "blocks_total", "blocks"],
            ],
        },
        CommandProgress {
            table: "cluster",
            command: "command",
            phase: "phase",
            counted: &[
                ["phase LIKE 'index scanning%'", "heap_tuples_scanned", "0", "rows"],
                ["phase LIKE 'writing%'", "heap_tuples_written", "heap_tuples_scanned", "rows"],
                ["phase = 'rebuilding index'", "index_rebuild_count", "0", "indexes"],
                SCANNED,
            ],
        },
        CommandProgress {
            table: "basebackup",
            command: "'BASE BACKUP'",
            phase: "phase",
            counted: &[[ALWAYS, "backup_streamed", "backup_total", "bytes"]],
        },
    ];
    if version >= 140_000 {
        all.push(CommandProgress {
            table: "copy",
            command: "command || ' ' || type",
            phase: "tuples_processed || ' rows'",
            counted: &[[ALWAYS, "bytes_processed", "bytes_total", "bytes"]],
        });
    }
    all.iter().map(CommandProgress::statement).collect::<Vec<_>>().join(" UNION ALL ")
}

impl CommandProgress<'_> {
    fn statement(&self) -> String {
        let Self { table, command, phase, counted } = self;
        let (database, relation) = match *table {
            // It is of the whole server.
            "basebackup" => ("NULL", "NULL"),
            _ => (
                "datname::text",
                "CASE WHEN datname = current_database() THEN relid::regclass::text \
                 ELSE relid::text END",
            ),
        };
        let [done, whole, unit] = [1, 2, 3].map(|at| {
            let case = counted.iter().map(|it| match at {
                3 => format!("WHEN {} THEN '{}'", it[0], it[3]),
                at => format!("WHEN {} THEN {}", it[0], it[at]),
            });
            format!("CASE {} END", case.collect::<Vec<_>>().join(" "))
        });
        format!(
            "SELECT pid::int8 AS pid, {command} AS command, {database} AS database, \
             {relation} AS relation, {phase} AS phase, {done} AS done, \
             nullif({whole}, 0) AS whole, {unit} AS unit \
             FROM pg_catalog.pg_stat_progress_{table}"
        )
    }
}
