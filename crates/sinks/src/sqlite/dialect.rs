//! Says what SQLite writes differently in SQL, and binds cells to its statements.
//!
//! Times are bound as RFC 3339 text, in keys without a fraction of zero. Text is bound as its
//! bytes, which need not be UTF-8. Sums have no bound here; SQLite turns whole ones that overflow
//! into real numbers.
//! Stored keys have these forms, so a key that is bound otherwise gets a second row. A changed type
//! in `types` makes `existing.rs` refuse the tables of older versions. Only for text can `also` and
//! `also_in_keys` name the old one.

use std::time::Duration;

use pipeline::{CellValue, ColumnRole, Table};
use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::sql::{self, Dialect};
use crate::time::{rfc3339, rfc3339_exact};

/// How long another process may hold the database.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) const DIALECT: Dialect = Dialect {
    quote: '"',
    types: ["TEXT", "INTEGER", "REAL", "TEXT", "BLOB"],
    incoming: ("excluded.", ""),
    on_conflict: " ON CONFLICT ({keys}) DO UPDATE SET ",
    least_greatest: ("MIN", "MAX"),
    also: &[],
    also_in_keys: &[],
    computed: "VIRTUAL",
    sums_stop_at: None,
};

/// Inserts one row, merged into the one of the same key.
pub(super) fn insert(table: &Table) -> String {
    let places = vec!["?"; sql::stored(table).count()].join(", ");
    DIALECT.merge(table, &format!("VALUES ({places})"))
}

/// A cell of a column with a role, as SQLite takes it.
pub(super) struct BoundCell<'a>(pub CellValue<'a>, pub ColumnRole);

impl ToSql for BoundCell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            CellValue::Absent => ToSqlOutput::Borrowed(ValueRef::Null),
            CellValue::Integer(number) => ToSqlOutput::Borrowed(ValueRef::Integer(number)),
            CellValue::Real(number) => ToSqlOutput::Borrowed(ValueRef::Real(number)),
            CellValue::Time(us) if self.1 == ColumnRole::Key => ToSqlOutput::from(rfc3339(us)),
            CellValue::Time(us) => ToSqlOutput::from(rfc3339_exact(us)),
            CellValue::Blob(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
            CellValue::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text)),
        })
    }
}
