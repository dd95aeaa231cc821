//! Detects which table of a profile file holds the profiles, and writes the SQL that reads it.
//!
//! Two layouts are read. One is key and data: `user_profiles(profile_id, data)`, where a row is a
//! profile. The other is key and flag: `user_profiles(user_id, has_profile)`. There NULL, 0,
//! `false` and an empty text mean none (`is_set`). A table with the columns of both is read as the
//! first.
//! Both are promised to users (docs/operating/profiles.md). `builder/write.rs` writes the first by
//! its default names.
//! Invariant: names are quoted, so any name is an identifier. A file is refused if SQLite's plan
//! for a look-up scans, or if no layout fits; the message says what is missing.
//! Never here: statements that read many rows, which are in `checks.rs` and `samples.rs`.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::error::ProfilesError;

/// The names of the table and columns that hold the profiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    /// The table or view; `user_profiles`.
    pub table: String,
    /// Key column of the layout with data; `profile_id`.
    pub profile_key: String,
    /// Data column; `data`. It may be absent.
    pub data: String,
    /// Key column of the layout with a flag; `user_id`.
    pub user_key: String,
    /// Flag column; `has_profile`.
    pub flag: String,
}

impl Default for Schema {
    fn default() -> Self {
        Self {
            table: "user_profiles".to_owned(),
            profile_key: "profile_id".to_owned(),
            data: "data".to_owned(),
            user_key: "user_id".to_owned(),
            flag: "has_profile".to_owned(),
        }
    }
}

/// What one file turned out to hold, as SQL.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub table: String,
    pub key: String,
    /// The column that says whether a row is a profile; an expression that is always 1 if none.
    pub flag: String,
    /// The column with the profile; NULL if none.
    pub data: String,
    /// `key, flag` of the row with key `?1`.
    pub look_up: String,
    /// `key, flag, data` of the row with key `?1`.
    pub fetch: String,
}

impl Layout {
    /// Returns the layout of the file behind `connection`.
    ///
    /// # Errors
    /// When no table fits `schema`, or a look-up would scan it.
    pub(crate) fn detect(
        connection: &Connection,
        schema: &Schema,
        path: &Path,
    ) -> Result<Self, ProfilesError> {
        let columns = columns(connection, &schema.table).map_err(ProfilesError::sqlite(path))?;
        let has = |name: &str| columns.iter().any(|column| column.eq_ignore_ascii_case(name));
        let (key, flag, data) = if has(&schema.profile_key) {
            let data = if has(&schema.data) { quoted(&schema.data) } else { "NULL".to_owned() };
            (quoted(&schema.profile_key), "1".to_owned(), data)
        } else if has(&schema.user_key) && has(&schema.flag) {
            (quoted(&schema.user_key), quoted(&schema.flag), "NULL".to_owned())
        } else {
            return Err(ProfilesError::unfit(path, schema.missing(&columns)));
        };
        let layout = Self::of(quoted(&schema.table), key, flag, data);
        if layout.scans(connection).map_err(ProfilesError::sqlite(path))? {
            let reason = format!("no index on {}; make it the PRIMARY KEY", layout.key);
            return Err(ProfilesError::unfit(path, reason));
        }
        Ok(layout)
    }

    fn of(table: String, key: String, flag: String, data: String) -> Self {
        let look_up = format!("SELECT {key}, {flag} FROM {table} WHERE {key} = ?1");
        let fetch = format!("SELECT {key}, {flag}, {data} FROM {table} WHERE {key} = ?1");
        Self { table, key, flag, data, look_up, fetch }
    }

    fn scans(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {}", self.fetch))?;
        let steps = plan.query_map([""], |row| row.get::<_, String>("detail"))?;
        let steps: Vec<String> = steps.collect::<Result<_, _>>()?;
        Ok(steps.iter().any(|step| step.starts_with("SCAN")))
    }
}

impl Schema {
    fn missing(&self, columns: &[String]) -> String {
        let wanted = format!(
            "`{0}({1}, {2})` or `{0}({3}, {4})`",
            self.table, self.profile_key, self.data, self.user_key, self.flag
        );
        if columns.is_empty() {
            format!("there is no table `{}`; a profile file holds {wanted}", self.table)
        } else {
            let found = columns.join(", ");
            format!("table `{}` has columns {found}; a profile file holds {wanted}", self.table)
        }
    }
}

/// Returns whether a row with this flag is a profile.
pub(crate) fn is_set(flag: ValueRef<'_>) -> bool {
    match flag {
        ValueRef::Null => false,
        ValueRef::Integer(number) => number != 0,
        ValueRef::Real(number) => number != 0.0,
        ValueRef::Text(text) | ValueRef::Blob(text) => {
            !text.is_empty() && text != b"0" && !text.eq_ignore_ascii_case(b"false")
        }
    }
}

/// Quotes a name, so that any name is an identifier and nothing else.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("PRAGMA table_info({})", quoted(table)))?;
    let names = statement.query_map([], |row| row.get("name"))?;
    names.collect()
}

#[cfg(test)]
mod tests;
