//! Names the views that are read from catalogs and statistics, and says how each is asked and
//! shown.
//!
//! A view is a statement by version, the columns that tell its rows apart, and what is shown:
//! texts, gauges, and counters as what was counted since the frame before. `catalog/*.rs` has the
//! statements.
//! Invariant: a column that a statement selects has the same name in every version, so that
//! recordings of any server are shown by one table.
//! Bound: at most `ROWS_MAX` rows of a view are read.

mod engine;
mod relations;

/// Rows of a view that are read at most.
pub(crate) const ROWS_MAX: usize = 1000;

/// How a number reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Count,
    Bytes,
    Milliseconds,
    Seconds,
}

/// What a column shows of what is read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shown {
    /// The text.
    Label(&'static str),
    /// The number as it stands.
    Gauge(&'static str, Unit),
    /// How much a counter has grown in a second.
    Rate(&'static str, Unit),
    /// By how much one counter has grown for each of another.
    Each { counter: &'static str, by: &'static str, unit: Unit },
    /// A counter's growth as a share of that of all rows.
    ShareOfAll(&'static str),
    /// Of the growth of two counters, the share of the first.
    ShareOfBoth(&'static str, &'static str),
    /// One number as a share of another.
    Percent { part: &'static str, whole: &'static str },
}

/// A view of a catalog.
#[derive(Debug)]
pub(crate) struct CatalogView {
    pub(crate) name: &'static str,
    /// What tells rows apart.
    pub(crate) keys: &'static [&'static str],
    /// Titles, and what is below them.
    pub(crate) columns: &'static [(&'static str, Shown)],
    /// The column that it is sorted by at first, downwards.
    pub(crate) sort: &'static str,
    /// The oldest version that has it.
    pub(crate) from: i64,
    /// Whether it needs the extension `pg_stat_statements`.
    pub(crate) needs_extension: bool,
    /// Returns its statement for a version; the schema of the extension stands as `{schema}`.
    pub(crate) statement: fn(i64) -> String,
}

/// All of them.
pub(crate) static ALL: [&CatalogView; 7] = [
    &engine::STATEMENTS,
    &engine::INPUT_OUTPUT,
    &engine::REPLICATION,
    &engine::PROGRESS,
    &relations::DATABASES,
    &relations::TABLES,
    &relations::INDEXES,
];

/// Returns a view by its name.
pub(crate) fn view(name: &str) -> Option<&'static CatalogView> {
    ALL.into_iter().find(|view| view.name == name)
}

#[cfg(test)]
mod tests;
