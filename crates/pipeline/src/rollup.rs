//! Describes a rollup as it is counted: which lines count, by which key, and what is kept of them.
//!
//! Here are also the rules that a configuration is read by: types of fields, names of columns, time
//! buckets, and the columns under way. They decide tables that exist. `column_name` must leave only
//! letters, digits and underscores: `sinks` quotes names and escapes nothing.
//! Plain data; `plan` builds and checks it. Key parts and measures must stand in the order of the
//! table's columns, because `window` lays rows out so. A measure whose column is there already is
//! not added. A `Last` must follow its `LastTime`, because `window/measure.rs` looks one cell back.
//! A new field is text unless `kind_of` says otherwise. A bucket is named in `bucket`, in
//! `nearest_bucket` and in `BUCKETS` of `sinks/src/sqlite/query.rs`. The doc comment of `fields`
//! in `config` repeats `RAW`. A new measure also goes into `recount/src/count.rs`;
//! `recount/src/compare.rs` passes over the third column of `PLACE`.
//! Never here: adding up (`window`), and merging rows that are stored (`batch::ColumnRole`,
//! `sinks`).

use std::sync::Arc;

use exchange::{DefinedKind, FieldName, Filter};

use crate::batch::{Column, ColumnRole, Kind, Table};

/// One part of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum KeyPart {
    /// The value of a field. A line without it has the empty text, or does not count when the
    /// column holds numbers.
    Field(FieldName, Kind),
    /// The time of the line, rounded down to this many microseconds.
    Bucket(i64),
}

/// What is kept of the lines of a key, in the order of the table's columns after the key.
#[derive(Debug, Clone, PartialEq)]
pub enum Measure {
    /// The number of lines.
    Count,
    /// The number of lines that have the field.
    CountOf(FieldName),
    /// The sum of a field.
    Sum(FieldName, Kind),
    /// The smallest value of a field.
    Min(FieldName, Kind),
    /// The largest value of a field.
    Max(FieldName, Kind),
    /// The value of a field in the latest line.
    Last(FieldName, Kind),
    /// The time of the latest line that has the field.
    LastTime(FieldName),
    /// Nothing: the engine divides.
    Mean,
}

/// A sketch that is kept of the lines of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum SketchOf {
    /// The different values of a field.
    Unique(FieldName),
    /// The quantiles of a field.
    Quantiles(FieldName),
}

/// Columns of a single event that say where its line stands.
pub(crate) const PLACE: [(&str, Kind); 4] = [
    ("node", Kind::Text),
    ("source", Kind::Text),
    ("file", Kind::Text),
    ("file_offset", Kind::Integer),
];

/// Fields of single events, unless others are wanted.
pub(crate) const RAW: [&str; 16] = [
    "time",
    "id",
    "method",
    "host",
    "path",
    "query",
    "status",
    "bytes_in",
    "bytes_out",
    "client_ip",
    "user",
    "route",
    "decision",
    "cache",
    "ranked_by",
    "total",
];

/// A rollup: one table in one sink, and one beside it for its sketches.
#[derive(Debug, Clone)]
pub struct Rollup {
    /// Lines that it counts; none: all.
    pub filter: Option<Filter>,
    /// The key.
    pub key: Vec<KeyPart>,
    /// What is kept.
    pub measures: Vec<Measure>,
    /// The table.
    pub table: Arc<Table>,
    /// Fields of single events, when rows are those: after the columns that say where the line
    /// stands ([`PLACE`]). Then there is no key and no measure.
    pub raw: Vec<(FieldName, Kind)>,
    /// What is kept that no engine can add up.
    pub sketches: Vec<SketchOf>,
    /// The table of sketches, when there are any: the key, `node`, and a column for each.
    pub sketch_table: Option<Arc<Table>>,
}

impl Rollup {
    /// The same of fewer lines, into tables whose names begin with `prefix`.
    #[must_use]
    pub fn part(&self, prefix: &str, lines: Option<&Filter>) -> Self {
        let filter = match (self.filter.clone(), lines) {
            (Some(filter), Some(lines)) => Some(filter.and(lines.clone())),
            (filter, lines) => filter.or_else(|| lines.cloned()),
        };
        let named = |table: &Arc<Table>| {
            let name = format!("{prefix}{}", table.name);
            Arc::new(Table { name, columns: table.columns.clone() })
        };
        let (table, sketch_table) = (named(&self.table), self.sketch_table.as_ref().map(named));
        Self { filter, table, sketch_table, ..self.clone() }
    }

    /// The tables it delivers to.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        std::iter::once(&self.table).chain(&self.sketch_table)
    }
}

/// The columns of a rollup while its configuration is read.
#[derive(Debug, Default)]
pub(crate) struct RollupColumns {
    pub(crate) key: Vec<KeyPart>,
    pub(crate) measures: Vec<Measure>,
    pub(crate) columns: Vec<Column>,
}

impl RollupColumns {
    pub(crate) fn key(&mut self, name: String, kind: Kind, part: KeyPart) {
        self.key.push(part);
        self.columns.push(Column { name, kind, role: ColumnRole::Key });
    }

    /// Adds a measure and returns the place of its column; one of that name is there only once.
    pub(crate) fn measure(
        &mut self,
        name: String,
        kind: Kind,
        role: ColumnRole,
        measure: Measure,
    ) -> usize {
        if let Some(at) = self.columns.iter().position(|column| column.name == name) {
            return at;
        }
        self.measures.push(measure);
        self.columns.push(Column { name, kind, role });
        self.columns.len() - 1
    }
}

/// The microseconds of a bucket that may stand in `by`.
pub(crate) fn bucket(name: &str) -> Option<i64> {
    let seconds = match name {
        "second" => 1,
        "minute" => 60,
        "hour" => 3600,
        "day" => 86_400,
        _ => return None,
    };
    Some(seconds * 1_000_000)
}

/// The bucket of time that a name begins, or that begins the name, such as `minute` for `minutes`.
pub(crate) fn nearest_bucket(name: &str) -> Option<&'static str> {
    let is_near =
        |bucket: &&str| name.starts_with(*bucket) || (name.len() >= 3 && bucket.starts_with(name));
    ["second", "minute", "hour", "day"].into_iter().find(is_near)
}

/// The type of a field's column.
pub(crate) fn kind_of(field: &FieldName) -> Kind {
    match field {
        FieldName::Time => Kind::Time,
        FieldName::Status
        | FieldName::BytesIn
        | FieldName::BytesOut
        | FieldName::Phase(_)
        | FieldName::Total => Kind::Integer,
        FieldName::Propensity => Kind::Real,
        FieldName::Defined(field) => match field.kind {
            DefinedKind::Text => Kind::Text,
            DefinedKind::Integer => Kind::Integer,
            DefinedKind::Real => Kind::Real,
        },
        _ => Kind::Text,
    }
}

/// Whether a field is text that never reads as a number.
pub(crate) fn is_never_number(field: &FieldName) -> bool {
    use FieldName::*;
    let of_request = matches!(field, Method | Scheme | Host | Path | Query | UserAgent | Referer);
    let of_us = matches!(field, Id | Route | Decision | DecisionDetail | Cache | Upstream);
    of_request || of_us || matches!(field, RankedBy | FetchedBy | Model | ClientIp | User)
}

/// The type of a field that is added up or compared: text is read as a real number.
pub(crate) fn number_of(field: &FieldName) -> Kind {
    match kind_of(field) {
        Kind::Text => Kind::Real,
        kind => kind,
    }
}

/// A name as SQL takes it: every character but letters and digits becomes an underscore.
pub(crate) fn column_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
