//! Says what a view of a catalog is: a statement by version, the columns that tell its rows apart,
//! and what is shown.
//!
//! Texts and gauges are shown as they stand, and of counters what was counted since the frame
//! before. A column `stats_reset` says when a row's counters began.
//! Bound: of a view `rows_max` rows are read, and the frame says so when there may be more. Where
//! there can be many, the statement puts those with the most in all first.

/// Rows of a view that are read at most.
const ROWS_MAX: usize = 1000;
/// Statements that are read at most: as many as the server keeps, unless `pg_stat_statements.max`
/// says more. So one that is busy for the first time is among them.
const STATEMENTS_MAX: usize = 5000;

/// How a number reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// A number that names something: digit by digit.
    Id,
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
    Gauge(&'static str, Quantity),
    /// How much a counter has grown.
    Growth(&'static str, Quantity),
    /// How much a counter has grown in a second.
    Rate(&'static str, Quantity),
    /// By how much one counter has grown for each of another.
    Each { counter: &'static str, by: &'static str, unit: Quantity },
    /// A counter's growth as a share of that of all rows.
    ShareOfAll(&'static str),
    /// Of the growth of two counters, the share of the first.
    ShareOfBoth(&'static str, &'static str),
    /// A counter's growth as a share of another's.
    ShareOfGrowth { part: &'static str, whole: &'static str },
    /// One number as a share of another.
    Percent { part: &'static str, whole: &'static str },
}

impl Shown {
    /// Whether it is the text of this column.
    pub(crate) fn is_label(self, wanted: &str) -> bool {
        matches!(self, Self::Label(column) if column == wanted)
    }
}

/// A view of a catalog.
#[derive(Debug)]
pub(crate) struct CatalogView {
    /// That of its `PgView`, which finds it by this name.
    pub(crate) name: &'static str,
    /// The selected columns that tell rows apart.
    pub(crate) keys: &'static [&'static str],
    /// Titles, and what is below them.
    pub(crate) columns: &'static [(&'static str, Shown)],
    /// The column that it is sorted by at first, downwards.
    pub(crate) sort: &'static str,
    /// The oldest version that has it.
    pub(crate) from: i64,
    /// Whether it needs the extension `pg_stat_statements`, whose texts `sample.rs` reads apart and
    /// adds as the column `query`.
    pub(crate) needs_extension: bool,
    /// Returns its statement for a version, without a `LIMIT`; the schema of the extension stands
    /// as `{schema}`. What is no integer, `float8`, text or `timestamptz` is cast (`value.rs`).
    pub(crate) statement: fn(i64) -> String,
}

impl CatalogView {
    /// Returns how many rows are read at most.
    pub(crate) fn rows_max(&self) -> usize {
        if self.needs_extension { STATEMENTS_MAX } else { ROWS_MAX }
    }
}
