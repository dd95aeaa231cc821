//! Adds to a table of sketches the numbers that any program can read, such as Grafana.
//!
//! | sketch | columns beside it |
//! |---|---|
//! | `unique_X` | `unique_X_count` |
//! | `quantiles_X` | `p50_X`, `p90_X`, `p99_X` |
//!
//! They are what `events query` says of that row alone: numbers of several rows cannot be merged.
//! SQLite, MySQL and PostgreSQL write them with the merged sketch, in the transaction of the batch.
//! Invariant: whoever writes a sketch writes its numbers; a row whose sketch stays keeps them. Rows
//! that an older version wrote last lack them, or have those of an earlier sketch. A name that
//! another column has is left out.
//! Only these engines see the columns. Batches, `read_back` and `recount` know sketches alone, and
//! `sqlite/query.rs` merges those. Users' queries name the columns (docs/operating/rollups.md).
//! Kinds are told by the names that `pipeline/src/plan.rs` gives.

use std::sync::Arc;

use metrics::{Quantiles, SketchError, Uniques};
use pipeline::{CellValue, Column, ColumnRole, Kind, Table};

/// Names of the quantiles that have a column, and that queries show unless others are asked for.
pub(crate) const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)];

/// The numbers of a table's sketches.
pub(crate) struct Readable {
    /// For each sketch of the table, in the order of its columns.
    sketches: Vec<Vec<(String, Number)>>,
}

#[derive(Debug, Clone, Copy)]
enum Number {
    Unique,
    Quantile(f64),
}

impl Readable {
    /// Which numbers a table has; none without sketches.
    pub(crate) fn of(table: &Table) -> Self {
        let mut taken: Vec<String> =
            table.columns.iter().map(|column| column.name.to_ascii_lowercase()).collect();
        let mut is_free = |name: &str| {
            let name = name.to_ascii_lowercase();
            let is_free = !taken.contains(&name);
            taken.push(name);
            is_free
        };
        let sketches = table.columns.iter().filter(|column| column.role == ColumnRole::Sketch);
        let sketches = sketches.map(|column| {
            let mut numbers = match column.name.strip_prefix("quantiles_") {
                Some(field) => QUANTILES
                    .map(|(name, q)| (format!("{name}_{field}"), Number::Quantile(q)))
                    .to_vec(),
                None => vec![(format!("{}_count", column.name), Number::Unique)],
            };
            numbers.retain(|(name, _)| is_free(name));
            numbers
        });
        Self { sketches: sketches.collect() }
    }

    /// How many columns they are.
    pub(crate) fn count(&self) -> usize {
        self.sketches.iter().map(Vec::len).sum()
    }

    /// The table as engines have it: with a column for each number, behind its own. It keeps the
    /// number of a row whose sketch stays, as a sketch itself is kept.
    pub(crate) fn widened(&self, table: &Arc<Table>) -> Arc<Table> {
        if self.count() == 0 {
            return Arc::clone(table);
        }
        let numbers = self.sketches.iter().flatten().map(|(name, number)| {
            let kind = match number {
                Number::Unique => Kind::Integer,
                Number::Quantile(_) => Kind::Real,
            };
            Column { name: name.clone(), kind, role: ColumnRole::Sketch }
        });
        let columns = table.columns.iter().cloned().chain(numbers).collect();
        Arc::new(Table { name: table.name.clone(), columns })
    }

    /// Adds the numbers of the sketch at this place among the sketches, absent for an absent one.
    ///
    /// # Errors
    /// When the bytes are no sketch of that kind.
    pub(crate) fn push(
        &self,
        sketch: usize,
        bytes: Option<&[u8]>,
        numbers: &mut Vec<CellValue<'static>>,
    ) -> Result<(), SketchError> {
        let wanted = &self.sketches[sketch];
        let Some(bytes) = bytes else {
            numbers.extend(wanted.iter().map(|_| CellValue::Absent));
            return Ok(());
        };
        let mut quantiles = None;
        for (_, number) in wanted {
            numbers.push(match number {
                Number::Unique => CellValue::Integer(Uniques::decode(bytes)?.count().cast_signed()),
                Number::Quantile(q) => {
                    if quantiles.is_none() {
                        quantiles = Some(Quantiles::decode(bytes)?);
                    }
                    let value = quantiles.as_ref().and_then(|all| all.quantile(*q));
                    value.map_or(CellValue::Absent, CellValue::Real)
                }
            });
        }
        Ok(())
    }
}

/// The tables as engines have them.
pub(crate) fn widened(tables: &[Arc<Table>]) -> Vec<Arc<Table>> {
    tables.iter().map(|table| Readable::of(table).widened(table)).collect()
}

#[cfg(test)]
mod tests;
