//! Reads times of the command line: a date and as much of a time of day as matters.
//!
//! What is missing is taken as the beginning, and a time without an offset is in UTC. A full RFC
//! 3339 time keeps its offset. Numbers must be written in full: `2026-11-2` is no time.
//! Invariant: times are microseconds since the Unix epoch, and `between` is never empty. Without
//! bounds it is all of time. `events replay` and `events export` read times by `micros`, `lab
//! report` and `explain` by `moment`. `events query` has a reader of its own, also of spans such as
//! `6h`, and uses `micros` to choose what it copies.

use std::ops::Range;

use anyhow::{Result, anyhow, bail, ensure};
use stdx::Span;

/// What follows a time that was written in part.
const REST: &str = "0000-01-01T00:00:00";

/// Microseconds since the Unix epoch of a time such as `2026-11-21` or `2026-11-21T09:48`.
///
/// # Errors
/// When it is none.
pub(crate) fn micros(text: &str) -> Result<u64> {
    let whole = match REST.get(text.len()..) {
        // What is missing must begin where a number ends.
        Some(rest) if rest.is_empty() || rest.starts_with(['-', 'T', ':']) => {
            format!("{text}{rest}Z")
        }
        _ => text.to_owned(),
    };
    let or_utc = || exchange::parse_rfc3339(format!("{whole}Z").as_bytes());
    match exchange::parse_rfc3339(whole.as_bytes()).or_else(or_utc) {
        Some(micros) => Ok(micros),
        None => bail!("`{text}` is no time; write one such as 2026-11-21 or 2026-11-21T09:48"),
    }
}

/// A time, or how long ago it was, such as `6h`, in microseconds since the Unix epoch.
///
/// # Errors
/// When it is neither.
pub(crate) fn moment(text: &str) -> Result<u64> {
    match text.parse::<Span>() {
        Ok(ago) => Ok(stdx::unix_micros().saturating_sub(ago.0.as_micros() as u64)),
        Err(_) => micros(text).map_err(|_| {
            anyhow!("`{text}` is neither a span such as 15m nor a time such as 2026-11-21T09:48")
        }),
    }
}

/// The times of `--since` and `--until`, in microseconds since the Unix epoch.
///
/// # Errors
/// When one is no time, or nothing is between them.
pub(super) fn between(since: Option<&str>, until: Option<&str>) -> Result<Range<u64>> {
    let from = since.map_or(Ok(0), micros)?;
    let to = until.map_or(Ok(u64::MAX), micros)?;
    let words = || (since.unwrap_or_default(), until.unwrap_or_default());
    ensure!(from < to, "nothing is between `--since {}` and `--until {}`", words().0, words().1);
    Ok(from..to)
}

#[cfg(test)]
mod tests;
