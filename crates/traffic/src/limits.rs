//! Bounds what is held and shown, as varnishlog's `-L`, `-T` and `-R` do, and counts what is lost.
//!
//! The time of all three is that of the log, never the clock: a log reads alike whenever it is
//! read. So a transaction without end is given up when a later one is 120 s younger. Invariant:
//! [`WatchCounts`] has every line and every transaction that was not used, under one reason each.

use std::fmt::{self, Write};

use stdx::Span;

/// What is held at most.
#[derive(Debug, Clone, Copy)]
pub struct WatchLimits {
    /// Transactions that wait for their end, or for others of their group (`-L`).
    pub incomplete_max: usize,
    /// How long they wait, in microseconds of the log (`-T`).
    pub timeout_us: u64,
    /// How many exchanges are shown in a span of the log (`-R`).
    pub rate: Option<Rate>,
}

impl Default for WatchLimits {
    fn default() -> Self {
        Self { incomplete_max: 1000, timeout_us: 120_000_000, rate: None }
    }
}

/// `-R 10/5s`: at most ten in each five seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// How many.
    pub shown_max: u64,
    /// In how many microseconds.
    pub span_us: u64,
}

impl std::str::FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no rate; write one such as 10/s, 10 or 100/5m");
        let (count, span) = text.split_once('/').unwrap_or((text, "1s"));
        let span = match span.chars().next() {
            Some(first) if first.is_ascii_digit() => span.to_owned(),
            _ => format!("1{span}"),
        };
        let shown_max = count.parse().map_err(|_| wrong())?;
        let span: Span = span.parse().map_err(|_| wrong())?;
        let span_us = u64::try_from(span.0.as_micros()).map_err(|_| wrong())?;
        if shown_max == 0 || span_us == 0 {
            return Err(wrong());
        }
        Ok(Self { shown_max, span_us })
    }
}

/// Lets through as many as a rate allows.
#[derive(Debug)]
pub(crate) struct Gauge {
    rate: Rate,
    began_us: u64,
    shown: u64,
}

impl Gauge {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, began_us: 0, shown: 0 }
    }

    /// Whether one more may be shown at a time of the log.
    pub(crate) fn admits(&mut self, now_us: u64) -> bool {
        if now_us.saturating_sub(self.began_us) >= self.rate.span_us {
            self.began_us = now_us;
            self.shown = 0;
        }
        self.shown += 1;
        self.shown <= self.rate.shown_max
    }
}

/// What was seen, and what of it was not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WatchCounts {
    /// Lines of the source.
    pub lines: u64,
    /// Requests, whether or not they were shown.
    pub requests: u64,
    /// Exchanges that were shown.
    pub shown: u64,
    /// Exchanges that `-R` kept back.
    pub over_rate: u64,
    /// Lines that are no lines of the format.
    pub unread: u64,
    /// Lines longer than a line may be.
    pub too_long: u64,
    /// Records of transactions whose beginning was not seen.
    pub strays: u64,
    /// Records beyond the bounds of a transaction.
    pub beyond: u64,
    /// Transactions whose end had not come when the source ended, or was interrupted.
    pub cut: u64,
    /// Transactions given up at `-L`.
    pub over_limit: u64,
    /// Transactions given up at `-T`.
    pub timed_out: u64,
    /// Groups that were shown without all of their transactions.
    pub partial_groups: u64,
}

impl fmt::Display for WatchCounts {
    /// What was not used, in words; empty if all was.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons = [
            (self.unread, "not of the format"),
            (self.too_long, "too long a line"),
            (self.strays, "of a transaction whose begin is not there"),
            (self.beyond, "beyond the bounds of a transaction"),
            (self.cut, "cut off before the end"),
            (self.over_limit, "given up at -L"),
            (self.timed_out, "given up at -T"),
            (self.partial_groups, "shown without the rest of its group"),
            (self.over_rate, "kept back by -R"),
        ];
        let mut text = String::new();
        for (count, reason) in reasons.into_iter().filter(|(count, _)| *count > 0) {
            let comma = if text.is_empty() { "" } else { ", " };
            write!(text, "{comma}{count} {reason}")?;
        }
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests;
