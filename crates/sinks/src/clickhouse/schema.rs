//! Writes ClickHouse's tables and views for old and new servers, and asks what a server can do.
//!
//! Old servers lack tokens, or times finer than seconds (then times are cut to seconds). A rollup
//! with keys has a table of deltas and a view. Rows without keys go straight into the rollup's
//! table.
//! Invariant: the view merges each column as its role says: sum, min, max, latest, mean as a
//! quotient. Sketches come as an array of all that are stored.
//! Refuses: to look at tables and views that are there. So a changed definition reaches new ones
//! only; rows that no longer fit an old table are refused by the server.
//! The columns of the two tables of our own are the members of `BatchPart` and `CheckpointRow`
//! (`clickhouse.rs`). Under another name of `CHECKPOINTS` nothing was delivered yet, and rows count
//! twice. `engine` knows the count by its name `count`, which `pipeline/src/plan.rs` gives.
//! `WINDOW` stands in docs/operating/sinks.md, too. `fine_time` cuts the text of
//! `exchange::write_rfc3339` by position.

use pipeline::{Column, ColumnRole, Kind, Table};
use serde::Deserialize;

use super::http::HttpConnection;
use crate::attempt::AttemptError;
use crate::json::WriteTime;

/// Batches, whole, until they are applied.
pub(super) const BATCHES: &str = "tidegate_batches";
/// Checkpoints; the one with the largest sequence is the one that counts.
pub(super) const CHECKPOINTS: &str = "tidegate_checkpoints";
/// How many inserts into a table the server remembers.
const WINDOW: &str = "non_replicated_deduplication_window = 10000";

/// What a server can do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Abilities {
    /// It forgets an insert whose token it has seen.
    pub has_tokens: bool,
    /// It has times finer than seconds.
    has_fine_times: bool,
}

#[derive(Debug, Deserialize)]
struct CountRow {
    found: u64,
}

impl Abilities {
    /// Asks the server.
    pub(super) fn ask(connection: &HttpConnection) -> Result<Self, AttemptError> {
        let has = |table: &str, name: &str| {
            let query = format!("SELECT count() AS found FROM {table} WHERE name = '{name}'");
            let rows: Vec<CountRow> = connection.select(&query)?;
            Ok::<_, AttemptError>(rows.iter().any(|row| row.found > 0))
        };
        let has_tokens = has("system.settings", "insert_deduplication_token")?;
        Ok(Self::new(has_tokens, has("system.data_type_families", "DateTime64")?))
    }

    /// A server that can do this.
    pub(super) fn new(has_tokens: bool, has_fine_times: bool) -> Self {
        Self { has_tokens, has_fine_times }
    }

    /// How times are written for it.
    pub(super) fn time(self) -> WriteTime {
        if self.has_fine_times { fine_time } else { plain_time }
    }

    /// The tables that are not a rollup's.
    pub(super) fn service_tables(self) -> [String; 2] {
        let settings = self.settings();
        [
            format!(
                "CREATE TABLE IF NOT EXISTS {BATCHES} (node String, source String, \
                 sequence UInt64, attempt UInt64, part UInt32, position String, target String, \
                 rows String) ENGINE = MergeTree() ORDER BY (node, source, sequence, part)\
                 {settings}"
            ),
            format!(
                "CREATE TABLE IF NOT EXISTS {CHECKPOINTS} (node String, source String, \
                 sequence UInt64, position String) ENGINE = ReplacingMergeTree(sequence) \
                 ORDER BY (node, source){settings}"
            ),
        ]
    }

    /// A rollup's table of deltas and the view that adds them up.
    pub(super) fn create(self, table: &Table) -> Vec<String> {
        let stored = crate::sql::stored(table)
            .map(|column| format!("`{}` {}", column.name, self.type_of(column)));
        let stored: Vec<String> = stored.collect();
        let keys: Vec<String> = keys(table).map(|key| format!("`{key}`")).collect();
        let order = if keys.is_empty() { "tuple()".to_owned() } else { keys.join(", ") };
        let create = format!(
            "CREATE TABLE IF NOT EXISTS `{}` ({}) ENGINE = {} ORDER BY ({order}){}",
            target(table),
            stored.join(", "),
            engine(table),
            self.settings()
        );
        if keys.is_empty() { vec![create] } else { vec![create, view(table)] }
    }

    fn settings(self) -> String {
        if self.has_tokens { format!(" SETTINGS {WINDOW}") } else { String::new() }
    }

    fn type_of(self, column: &Column) -> String {
        let kind = match column.kind {
            Kind::Text | Kind::Blob => "String",
            Kind::Integer => "Int64",
            Kind::Real => "Float64",
            Kind::Time if self.has_fine_times => "DateTime64(6, 'UTC')",
            Kind::Time => "DateTime('UTC')",
        };
        match column.role {
            ColumnRole::Key | ColumnRole::Sum | ColumnRole::Sketch => kind.to_owned(),
            _ => format!("Nullable({kind})"),
        }
    }
}

/// Where the rows of a table go.
pub(super) fn target(table: &Table) -> String {
    if table.keys() > 0 { format!("{}_deltas", table.name) } else { table.name.clone() }
}

/// A string as SQL takes it.
pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Deltas of sums are added up while they are merged. That drops rows whose sums are all 0, so one
/// of them must be the count.
fn engine(table: &Table) -> &'static str {
    let measures = || crate::sql::stored(table).filter(|column| column.role != ColumnRole::Key);
    let is_sum = |column: &Column| column.role == ColumnRole::Sum;
    let is_summing = table.keys() > 0 && measures().all(is_sum);
    match is_summing && measures().any(|column| column.name == "count") {
        true => "SummingMergeTree()",
        false => "MergeTree()",
    }
}

/// Inner names stand between the table's and the view's, which are the same: otherwise the server
/// takes the name in `sum(count) AS count` for the sum.
fn view(table: &Table) -> String {
    let name = |at: usize| &table.columns[at].name;
    let mut inner = Vec::new();
    let mut outer = Vec::new();
    for (at, column) in table.columns.iter().enumerate() {
        let column_name = &column.name;
        match column.role {
            ColumnRole::Mean { sum, count } => {
                outer.push(format!("_{sum} / nullIf(_{count}, 0) AS `{column_name}`"));
                continue;
            }
            ColumnRole::Key => inner.push(format!("`{column_name}` AS _{at}")),
            ColumnRole::Sum => inner.push(format!("sum(`{column_name}`) AS _{at}")),
            ColumnRole::Min => inner.push(format!("min(`{column_name}`) AS _{at}")),
            ColumnRole::Max => inner.push(format!("max(`{column_name}`) AS _{at}")),
            ColumnRole::Last { time } => {
                inner.push(format!("argMax(`{column_name}`, `{}`) AS _{at}", name(time)));
            }
            ColumnRole::Sketch | ColumnRole::Plain => {
                inner.push(format!("groupArray(`{column_name}`) AS _{at}"))
            }
        }
        outer.push(format!("_{at} AS `{column_name}`"));
    }
    let keys: Vec<String> = keys(table).map(|key| format!("`{key}`")).collect();
    format!(
        "CREATE VIEW IF NOT EXISTS `{}` AS SELECT {} FROM (SELECT {} FROM `{}` GROUP BY {})",
        table.name,
        outer.join(", "),
        inner.join(", "),
        target(table),
        keys.join(", ")
    )
}

fn keys(table: &Table) -> impl Iterator<Item = &str> {
    table.columns[..table.keys()].iter().map(|column| column.name.as_str())
}

/// `"2026-11-21 09:48:00.000000"`
fn fine_time(us: i64, out: &mut Vec<u8>) {
    let start = out.len() + 1;
    out.push(b'"');
    exchange::write_rfc3339(us.unsigned_abs(), out);
    out[start + 10] = b' ';
    // The `Z`.
    out.pop();
    out.push(b'"');
}

/// `"2026-11-21 09:48:00"`
fn plain_time(us: i64, out: &mut Vec<u8>) {
    let start = out.len() + 1;
    fine_time(us, out);
    out.truncate(start + 19);
    out.push(b'"');
}
