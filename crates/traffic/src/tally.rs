//! Counts exchanges for ever in bounded memory: tables by key, and latencies over time.
//!
//! Invariants: every exchange that is added is in each table once, under its key or in the others.
//! A source without routes is counted by the first segment of its paths. Quantiles are within 1 %
//! of the latency (`metrics::Quantiles`). What has no latency is counted, but is in no quantile and
//! not in the heat map. Bounds: those of `table` and `heat_map`. A sketch of latencies takes at
//! most 18 KiB, so all tables take at most about 100 MB, and some MB where latencies are alike.
//! Never here: clocks. Times are those of the log.

mod heat_map;
mod shown;
mod table;

use std::borrow::Cow;

pub(crate) use heat_map::{BINS, HeatMap, bin_low_us};
pub(crate) use shown::{date, shown};
pub(crate) use table::{Row, Table};

use crate::owned::OwnedExchange;

/// What exchanges are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dimension {
    Route,
    Status,
    Client,
    Cache,
    Decision,
    Path,
    Host,
}

impl Dimension {
    pub(crate) const ALL: [Self; 7] = [
        Self::Route,
        Self::Status,
        Self::Client,
        Self::Cache,
        Self::Decision,
        Self::Path,
        Self::Host,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Route => "route",
            Self::Status => "status",
            Self::Client => "client",
            Self::Cache => "cache",
            Self::Decision => "decision",
            Self::Path => "path",
            Self::Host => "host",
        }
    }

    /// The key of an exchange; what the source does not say is `-`.
    fn with_key<R>(self, exchange: &OwnedExchange, found: impl FnOnce(&[u8]) -> R) -> R {
        let view = exchange.view();
        let key = match self {
            Self::Route => match exchange.route() {
                Some(route) => Some(route.as_bytes()),
                None => return found(&beginning(view.path())),
            },
            Self::Status => {
                let status = view.status.map(|status| status.to_string());
                return found(status.as_deref().unwrap_or("-").as_bytes());
            }
            Self::Client => Some(&*view.client),
            Self::Cache => view.handling.map(str::as_bytes),
            Self::Decision => view.decision.map(str::as_bytes),
            Self::Path => Some(view.path()),
            Self::Host => view.host(),
        };
        found(key.filter(|key| !key.is_empty()).unwrap_or(b"-"))
    }
}

/// What stands for the route where a source has none: `/news/*` for all below `/news/`.
fn beginning(path: &[u8]) -> Cow<'_, [u8]> {
    match path.iter().skip(1).position(|byte| *byte == b'/') {
        Some(slash) => Cow::Owned([&path[..slash + 2], b"*"].concat()),
        None if path.is_empty() => Cow::Borrowed(b"-"),
        None => Cow::Borrowed(path),
    }
}

/// What was seen.
#[derive(Debug, Clone)]
pub struct ExchangeTally {
    all: Row,
    tables: [Table; 7],
    heat_map: HeatMap,
    /// The first and the last time, in microseconds since 1970.
    span_us: Option<(u64, u64)>,
}

impl Default for ExchangeTally {
    fn default() -> Self {
        Self {
            all: Row::default(),
            tables: Dimension::ALL.map(|_| Table::default()),
            heat_map: HeatMap::default(),
            span_us: None,
        }
    }
}

impl ExchangeTally {
    /// Counts an exchange.
    pub fn add(&mut self, exchange: &OwnedExchange) {
        let view = exchange.view();
        self.all.add(&view);
        for (dimension, table) in Dimension::ALL.into_iter().zip(&mut self.tables) {
            dimension.with_key(exchange, |key| table.add(key, &view));
        }
        let Some(time) = view.times.time_us.filter(|time| *time > 0) else { return };
        let (first, last) = self.span_us.unwrap_or((time, time));
        self.span_us = Some((first.min(time), last.max(time)));
        if let Some(total) = view.times.total_us {
            self.heat_map.add(time, total);
        }
    }

    /// Returns how many exchanges were counted.
    pub fn exchanges(&self) -> u64 {
        self.all.count
    }

    pub(crate) fn all(&self) -> &Row {
        &self.all
    }

    pub(crate) fn table(&self, dimension: Dimension) -> &Table {
        &self.tables[dimension as usize]
    }

    pub(crate) fn heat_map(&self) -> &HeatMap {
        &self.heat_map
    }

    pub(crate) fn span_us(&self) -> Option<(u64, u64)> {
        self.span_us
    }
}

#[cfg(test)]
mod tests;
