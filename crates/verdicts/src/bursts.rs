//! Picks one call of each burst, for tests that take every value for a draw of its own.
//!
//! Calls that were sent together meet the same moment of the same server, and often wait for one
//! another. Eight that waited for one answer would count eight times, and two bursts would look
//! like a comb.
//! Bursts are told by the numbers of the attribute [`BURST`], which `lab`, `probe/gather.rs`,
//! writes. Session files keep its name, and a column of that name in a user's file counts, too.
//! `attributes.rs` passes it over. Without it the series is handed back as it is. Otherwise steps,
//! attributes and notes are left off.
//! Invariant: which call of a burst is picked depends on the numbers of its rows only, not on
//! times, and repeats.

use std::borrow::Cow;

use stdx::mixed;

use crate::series::{AttributeValues, Series};

/// The attribute that says which burst a call belongs to, by a number.
pub const BURST: &str = "burst";

/// Returns the series as tests of its distribution should see it: one call of each burst, drawn by
/// the number of its row. It has times and failures only.
pub fn apart(series: &Series) -> Cow<'_, Series> {
    let Some(bursts) = numbers(series) else { return Cow::Borrowed(series) };
    let mut rows: Vec<usize> = (0..series.len()).collect();
    // The first of each burst in an order that is as good as random.
    rows.sort_by_key(|row| (bursts[*row].to_bits(), mixed(*row as u64)));
    rows.dedup_by_key(|row| bursts[*row].to_bits());
    rows.sort_unstable();
    let of = |column: &[f64]| rows.iter().filter_map(|row| column.get(*row).copied()).collect();
    Cow::Owned(Series {
        name: series.name.clone(),
        total_ms: of(&series.total_ms),
        began_ms: of(&series.began_ms),
        origin_unix_ms: series.origin_unix_ms,
        left_out: series.left_out.clone(),
        ..Series::default()
    })
}

fn numbers(series: &Series) -> Option<&[f64]> {
    let attribute = series.attributes.iter().find(|attribute| attribute.name == BURST)?;
    match &attribute.values {
        AttributeValues::Numbers(numbers) if numbers.len() == series.len() => Some(numbers),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
