//! Registers the functions that SQLite has for what Tidegate keeps: sketches merged over a group.
//!
//! | function | answers |
//! |---|---|
//! | `tidegate_unique(blob)` | the number of different values of all sketches of the group |
//! | `tidegate_quantile(blob, q)` | their quantile `q` (0 to 1), absent when there is no value |
//! | `tidegate_last(value, time)` | the value of the row with the largest time, which is text |
//!
//! All are aggregates: over one row they answer for that row. An absent sketch adds nothing, an
//! absent time never wins. A blob that is no sketch fails the query.
//! `sqlite/query.rs` calls all three, and knows unique counts by the name. Operators' queries call
//! the first two (docs/operating/rollups.md, help of `events query`). So a name or a meaning that
//! is there stays.
//! Elsewhere: merging rows of a delivery (`sqlite/sketches.rs`). Other programs that open the file
//! do not have these functions.

use metrics::{Quantiles, Uniques};
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::Value;
use rusqlite::{Connection, Error, Result};

/// Makes the functions known to a connection.
pub(super) fn register(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8;
    connection.create_aggregate_function("tidegate_unique", 1, flags, Unique)?;
    connection.create_aggregate_function("tidegate_quantile", 2, flags, Quantile)?;
    connection.create_aggregate_function("tidegate_last", 2, flags, Last)
}

struct Unique;

impl Aggregate<Uniques, i64> for Unique {
    fn init(&self, _: &mut Context<'_>) -> Result<Uniques> {
        Ok(Uniques::default())
    }

    fn step(&self, context: &mut Context<'_>, all: &mut Uniques) -> Result<()> {
        if let Some(bytes) = context.get_raw(0).as_blob_or_null()? {
            all.merge(Uniques::decode(bytes).map_err(broken)?);
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, all: Option<Uniques>) -> Result<i64> {
        Ok(all.map_or(0, |mut all| all.count().cast_signed()))
    }
}

struct Quantile;

impl Aggregate<(Quantiles, f64), Option<f64>> for Quantile {
    fn init(&self, _: &mut Context<'_>) -> Result<(Quantiles, f64)> {
        Ok((Quantiles::default(), 0.0))
    }

    fn step(&self, context: &mut Context<'_>, (all, q): &mut (Quantiles, f64)) -> Result<()> {
        *q = context.get(1)?;
        if let Some(bytes) = context.get_raw(0).as_blob_or_null()? {
            all.merge(&Quantiles::decode(bytes).map_err(broken)?);
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, all: Option<(Quantiles, f64)>) -> Result<Option<f64>> {
        Ok(all.and_then(|(all, q)| all.quantile(q)))
    }
}

struct Last;

impl Aggregate<(Value, Value), Value> for Last {
    fn init(&self, _: &mut Context<'_>) -> Result<(Value, Value)> {
        Ok((Value::Null, Value::Null))
    }

    fn step(&self, context: &mut Context<'_>, last: &mut (Value, Value)) -> Result<()> {
        let time: Value = context.get(1)?;
        let is_later = match (&time, &last.1) {
            (Value::Text(time), Value::Text(last)) => time >= last,
            (Value::Null, _) => false,
            (_, last) => *last == Value::Null,
        };
        if is_later {
            *last = (context.get(0)?, time);
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, last: Option<(Value, Value)>) -> Result<Value> {
        Ok(last.map_or(Value::Null, |(value, _)| value))
    }
}

fn broken(error: metrics::SketchError) -> Error {
    Error::UserFunctionError(Box::new(error))
}
