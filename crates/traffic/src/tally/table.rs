//! Counts exchanges by a key.
//!
//! Bound: [`KEYS_MAX`] keys of [`KEY_BYTES_MAX`] bytes; the first ones stay. Whatever has another
//! key is counted in the others, under [`OTHERS`]. Keys that begin alike for so long are one.
//! Invariant: the counts of all rows and of the others make all that was added.

use std::collections::HashMap;

use metrics::Quantiles;

use super::shown::shown;
use crate::view::View;

pub(crate) const KEYS_MAX: usize = 1000;
const KEY_BYTES_MAX: usize = 256;
/// The key of what has no row of its own.
pub(crate) const OTHERS: &str = "(others)";
/// Longer latencies count as this one: a day.
const LATENCY_US_MAX: u64 = 86_400_000_000;

/// What is known of the exchanges of a key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    pub(crate) count: u64,
    /// Answers with a status of 500 or more.
    pub(crate) errors: u64,
    pub(crate) bytes_out: u64,
    /// In microseconds.
    pub(crate) latencies: Quantiles,
}

impl Row {
    pub(crate) fn add(&mut self, view: &View<'_>) {
        self.count += 1;
        self.errors += u64::from(view.status.is_some_and(|status| status >= 500));
        self.bytes_out = self.bytes_out.saturating_add(view.bytes.bytes_out.unwrap_or(0));
        if let Some(total) = view.times.total_us {
            self.latencies.add(total.min(LATENCY_US_MAX) as f64);
        }
    }

    /// A quantile of the latency, in milliseconds.
    pub(crate) fn quantile_ms(&self, q: f64) -> Option<f64> {
        self.latencies.quantile(q).map(|us| us / 1000.0)
    }
}

/// Rows by key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table {
    rows: HashMap<Box<[u8]>, Row>,
    others: Row,
}

impl Table {
    pub(super) fn add(&mut self, key: &[u8], view: &View<'_>) {
        let key = &key[..key.len().min(KEY_BYTES_MAX)];
        if let Some(row) = self.rows.get_mut(key) {
            return row.add(view);
        }
        if self.rows.len() == KEYS_MAX {
            return self.others.add(view);
        }
        self.rows.entry(key.into()).or_default().add(view);
    }

    /// The rows with their keys as they are shown, the most frequent first, and the others last.
    pub(crate) fn rows(&self) -> Vec<(String, &Row)> {
        let mut rows: Vec<(String, &Row)> =
            self.rows.iter().map(|(key, row)| (shown(key), row)).collect();
        rows.sort_by(|(key, row), (other_key, other)| {
            other.count.cmp(&row.count).then_with(|| key.cmp(other_key))
        });
        if self.others.count > 0 {
            rows.push((OTHERS.to_owned(), &self.others));
        }
        rows
    }
}
