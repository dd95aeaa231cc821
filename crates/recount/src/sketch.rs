//! Checks whether a sketch that a sink holds is of exactly the values of its lines.
//!
//! Invariant: a sketch that passes answers within the documented error, and has the bytes of one
//! made here of the same values. Unique counts may be off by five standard errors, the five
//! quantiles asked for by 1.01 % and 1e-9 more. The page docs/operating/verify-and-replay.md names
//! 4 % and 1 %. An absent sketch passes only where no value came.
//! Both sketches are made by `metrics`: a mistake there shows only where it leaves the error.

use metrics::{Quantiles, Uniques};
use sinks::OwnedCell;

use crate::count::{SketchValues, real_of};

/// How far the number of different values may be off: five standard errors of HyperLogLog with
/// 2^14 registers (1.04/√2^14 each).
const UNIQUE_ERROR: f64 = 5.0 * 1.04 / 128.0;
/// How far quantiles may be off.
const QUANTILE_ERROR: f64 = 0.0101;
const QUANTILES: [f64; 5] = [0.0, 0.5, 0.9, 0.99, 1.0];

/// Whether a sketch is of exactly these values, and answers within its error.
pub(crate) fn same_sketch(values: &SketchValues, stored: &OwnedCell) -> Result<(), String> {
    let bytes = match stored {
        OwnedCell::Blob(bytes) => bytes,
        _ if values.is_empty() => return Ok(()),
        _ => return Err("is absent and should not be".to_owned()),
    };
    match values {
        SketchValues::Unique(values) => {
            let mut stored =
                Uniques::decode(bytes).map_err(|error| format!("is no sketch: {error}"))?;
            let (count, exact) = (stored.count(), values.len() as u64);
            let most = (exact as f64 * UNIQUE_ERROR).ceil() as u64;
            if count.abs_diff(exact) > most {
                return Err(format!("should be about {exact} and is {count}"));
            }
            let mut again = Uniques::default();
            values.iter().for_each(|hash| again.add_hash(*hash));
            let mut encoded = Vec::new();
            again.encode(&mut encoded);
            (encoded == *bytes).then_some(()).ok_or_else(|| {
                format!("is of other values ({count} of them) than the log's {exact}")
            })
        }
        SketchValues::Quantiles(values) => {
            let stored =
                Quantiles::decode(bytes).map_err(|error| format!("is no sketch: {error}"))?;
            let exact: u64 = values.values().sum();
            if stored.count() != exact {
                return Err(format!("should be of {exact} values and is of {}", stored.count()));
            }
            let mut again = Quantiles::default();
            values.iter().for_each(|(at, times)| again.add_times(real_of(*at), *times));
            for q in QUANTILES {
                let wanted = ranked(values, q * exact as f64);
                let is = stored.quantile(q).unwrap_or(f64::NAN);
                // What is nearer to zero than 10⁻⁹ counts as zero.
                let is_near = (is - wanted).abs() <= QUANTILE_ERROR * wanted.abs() + 1e-9;
                if !is_near {
                    return Err(format!("has quantile {q} at {is}, which should be {wanted}"));
                }
            }
            let mut encoded = Vec::new();
            again.encode(&mut encoded);
            (encoded == *bytes)
                .then_some(())
                .ok_or_else(|| "is of other values than the log's".into())
        }
    }
}

/// The smallest value that as many values as `wanted` do not exceed, but for rounding.
fn ranked(values: &std::collections::BTreeMap<i64, u64>, wanted: f64) -> f64 {
    let mut seen = 0;
    let found = values.iter().find(|(_, times)| {
        seen += **times;
        seen as f64 * (1.0 + 1e-12) >= wanted
    });
    found.map_or(f64::NAN, |(at, _)| real_of(*at))
}
