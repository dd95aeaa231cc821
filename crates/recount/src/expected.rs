//! Says what a cell of a sink should hold by recount's own count, and whether a stored cell may
//! stand for it.
//!
//! Invariant: only these differences pass, for every engine alike:
//!
//! - Real numbers differ by up to 1e-9 of the size of all that was added, least and largest ones by
//!   1e-9 of themselves.
//! - A sum beyond a limit has stopped there: at half the largest `i64`, at the largest, at 1e300.
//! - A last value is that of any line of the latest time.
//!
//! Refuses: to know the engine. The page docs/operating/verify-and-replay.md names the 1e-9 of
//! sums, too.
//! `SUM_MAX` repeats `INTEGER_SUM_MAX` and `REAL_MAX` of `sinks/src/sanitise.rs`, which the
//! dialects of MySQL and PostgreSQL repeat in SQL. All change together. The largest `i64` is where
//! a window of `pipeline` stops.

use pipeline::{Column, ColumnRole};
use sinks::OwnedCell;

use crate::count::{KeyRow, Latest, MeasureValue};
use crate::shown::shown_cell;

/// Sums of real numbers that differ by less, of the size of what was added, were added in another
/// order.
const TOLERANCE: f64 = 1e-9;
/// Where PostgreSQL and MariaDB stop adding up.
const SUM_MAX: (i128, f64) = ((i64::MAX / 2) as i128, 1e300);

/// What a column should hold.
#[derive(Debug)]
pub(crate) enum ExpectedCell<'r> {
    Whole(i128),
    Real(f64, f64),
    Just(OwnedCell),
    Last(&'r Latest),
}

pub(crate) fn expected<'r>(
    column: &Column,
    kept: &'r MeasureValue,
    row: &KeyRow,
    keys: usize,
) -> ExpectedCell<'r> {
    match kept {
        MeasureValue::Count(count) => ExpectedCell::Whole(*count),
        MeasureValue::Sum(sum, size) => ExpectedCell::Real(*sum, *size),
        MeasureValue::Extreme(most) => {
            ExpectedCell::Just(most.clone().unwrap_or(OwnedCell::Absent))
        }
        MeasureValue::Last(None) => ExpectedCell::Just(OwnedCell::Absent),
        MeasureValue::Last(Some(latest)) => ExpectedCell::Last(latest),
        MeasureValue::Mean => {
            let ColumnRole::Mean { sum, count } = column.role else {
                return ExpectedCell::Just(OwnedCell::Absent);
            };
            let (sum, size) = match &row.kept[sum - keys] {
                MeasureValue::Count(sum) => (*sum as f64, sum.unsigned_abs() as f64),
                MeasureValue::Sum(sum, size) => (*sum, *size),
                _ => (0.0, 0.0),
            };
            match row.kept[count - keys] {
                MeasureValue::Count(count @ 1..) => {
                    ExpectedCell::Real(sum / count as f64, size / count as f64)
                }
                _ => ExpectedCell::Just(OwnedCell::Absent),
            }
        }
    }
}

impl ExpectedCell<'_> {
    /// Whether a cell of the sink may hold this.
    pub(crate) fn is(&self, stored: &OwnedCell) -> bool {
        match (self, stored) {
            (Self::Whole(wanted), OwnedCell::Integer(stored)) => {
                let stored = i128::from(*stored);
                [SUM_MAX.0, i128::from(i64::MAX)].iter().any(|most| {
                    *wanted == stored || (wanted.abs() > *most && stored == wanted.signum() * most)
                })
            }
            (Self::Real(wanted, size), OwnedCell::Real(stored)) => {
                let most = wanted.clamp(-SUM_MAX.1, SUM_MAX.1);
                let tolerance = if size.is_finite() { TOLERANCE * size } else { 0.0 };
                (wanted - stored).abs() <= tolerance || most == *stored
            }
            (Self::Just(OwnedCell::Real(wanted)), OwnedCell::Real(stored)) => {
                (wanted - stored).abs() <= TOLERANCE * wanted.abs()
            }
            (Self::Just(wanted), stored) => wanted == stored,
            (Self::Last(latest), stored) => latest.may_be(stored),
            _ => false,
        }
    }
}

impl std::fmt::Display for ExpectedCell<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Real(number, _) => number.fmt(f),
            Self::Just(value) => f.write_str(&shown_cell(value)),
            Self::Last(latest) => {
                f.write_str(&shown_cell(&latest.value))?;
                match latest.values() {
                    1 => Ok(()),
                    all => write!(f, " (or one of {} others of that time)", all - 1),
                }
            }
        }
    }
}
