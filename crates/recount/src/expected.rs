//! What a cell of a sink should hold, by what was counted.
//!
//! Invariant: only what an engine may rightly hold otherwise is tolerated: real numbers that were
//! added in another order, and sums that stop at an engine's largest number.

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
        MeasureValue::Extreme(held) => {
            ExpectedCell::Just(held.clone().unwrap_or(OwnedCell::Absent))
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
    pub(crate) fn is(&self, held: &OwnedCell) -> bool {
        match (self, held) {
            (Self::Whole(wanted), OwnedCell::Integer(held)) => {
                let held = i128::from(*held);
                [SUM_MAX.0, i128::from(i64::MAX)].iter().any(|most| {
                    *wanted == held || (wanted.abs() > *most && held == wanted.signum() * most)
                })
            }
            (Self::Real(wanted, size), OwnedCell::Real(held)) => {
                let most = wanted.clamp(-SUM_MAX.1, SUM_MAX.1);
                (wanted - held).abs() <= TOLERANCE * size || most == *held
            }
            (Self::Just(OwnedCell::Real(wanted)), OwnedCell::Real(held)) => {
                (wanted - held).abs() <= TOLERANCE * wanted.abs()
            }
            (Self::Just(wanted), held) => wanted == held,
            (Self::Last(latest), held) => latest.may_be(held),
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
