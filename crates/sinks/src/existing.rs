//! Checks whether rows can go into a table that is there, and tells which columns it lacks.
//!
//! SQLite, MySQL and PostgreSQL describe their tables for it. Also here: names too long for an
//! engine.
//! Invariant: a table with keys that passes has a unique index of exactly these, or upserts would
//! double rows. Columns of ours have the right types, and no other column needs a value. The right
//! types are those of the engine's `Dialect`. Where the type of text changes there, the old one
//! joins `also` or `also_in_keys`, or tables of older versions are refused. For other kinds nothing
//! accepts an old type: `lacks` would have to.
//! Not checked: other unique indexes, `CHECK`s, triggers, how long text may be, and `NOT NULL` on
//! columns of ours. An insert may still be refused for these.
//! Refuses: to change a column that is there. The engines' `prepare` adds missing columns.

use pipeline::{Column, ColumnRole, Kind, Table};

use crate::sql::Dialect;

/// A table as the engine describes it.
#[derive(Debug, Default)]
pub(crate) struct ExistingTable {
    pub columns: Vec<ExistingColumn>,
    /// The columns of each unique index, the primary key's among them.
    pub uniques: Vec<Vec<String>>,
}

/// A column as the engine describes it.
#[derive(Debug)]
pub(crate) struct ExistingColumn {
    pub name: String,
    /// Its type, as the engine writes it.
    pub kind: String,
    /// An insert must give it a value.
    pub is_required: bool,
    /// How many characters fit, where that is said.
    pub characters_max: Option<usize>,
}

impl ExistingTable {
    pub(crate) fn column(&self, name: &str) -> Option<&ExistingColumn> {
        self.columns.iter().find(|found| found.name.eq_ignore_ascii_case(name))
    }

    /// The columns of `table` that are to be added; `key_text` is the type of text in keys.
    ///
    /// # Errors
    /// Why rows of `table` cannot go into this one.
    pub(crate) fn lacks<'t>(
        &self,
        table: &'t Table,
        dialect: &Dialect,
        key_text: &str,
    ) -> Result<Vec<&'t Column>, String> {
        let name = &table.name;
        for column in &table.columns {
            let (wanted, also) = match (column.role, column.kind) {
                (ColumnRole::Key, Kind::Text) => (key_text, dialect.also_in_keys),
                (_, Kind::Text) => (dialect.types[column.kind as usize], dialect.also),
                (_, kind) => (dialect.types[kind as usize], &[][..]),
            };
            self.check(table, column, wanted, also)?;
        }
        for found in &self.columns {
            let is_ours = table.columns.iter().any(|c| c.name.eq_ignore_ascii_case(&found.name));
            if found.is_required && !is_ours {
                let other = &found.name;
                return Err(format!(
                    "table `{name}` has a column `{other}` that may not be empty, and the rollup \
                     has none of that name; hint: give it a default, or the rollup another name"
                ));
            }
        }
        let keys = &table.columns[..table.keys()];
        if !keys.is_empty() && !self.uniques.iter().any(|unique| is_same(unique, keys)) {
            let keys: Vec<&str> = keys.iter().map(|key| key.name.as_str()).collect();
            return Err(format!(
                "table `{name}` has no primary key or unique index of exactly `{}`; hint: give \
                 the rollup another name, or move the table away",
                keys.join("`, `")
            ));
        }
        Ok(table.columns.iter().filter(|c| self.column(&c.name).is_none()).collect())
    }

    fn check(
        &self,
        table: &Table,
        column: &Column,
        wanted: &str,
        also: &[&str],
    ) -> Result<(), String> {
        let (table, name) = (&table.name, &column.name);
        let Some(found) = self.column(name) else {
            if column.role != ColumnRole::Key {
                return Ok(());
            }
            return Err(format!(
                "table `{table}` has no column `{name}`, which is part of the key; hint: give the \
                 rollup another name, or move the table away"
            ));
        };
        let kind = found.kind.to_ascii_lowercase();
        if also.contains(&kind.as_str()) || kind.eq_ignore_ascii_case(wanted) {
            return Ok(());
        }
        Err(format!(
            "column `{name}` of table `{table}` is `{kind}`, and `{}` is needed; hint: give the \
             rollup another name, or move the table away",
            wanted.to_ascii_lowercase()
        ))
    }
}

fn is_same(unique: &[String], keys: &[Column]) -> bool {
    let has = |key: &Column| unique.iter().any(|name| name.eq_ignore_ascii_case(&key.name));
    unique.len() == keys.len() && keys.iter().all(has)
}

/// Refuses names that the engine would cut: two could become one.
pub(crate) fn check_names(table: &Table, bytes_max: usize) -> Result<(), String> {
    let names = std::iter::once(&table.name).chain(table.columns.iter().map(|c| &c.name));
    match names.into_iter().find(|name| name.len() > bytes_max) {
        Some(name) => Err(format!("the name `{name}` has more than {bytes_max} bytes")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
