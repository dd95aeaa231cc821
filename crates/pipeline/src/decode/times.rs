//! Reads the times of log lines: as nginx and Apache write them, RFC 3339, milliseconds, or seconds
//! with a fraction.
//!
//! Neighbouring lines mostly share their second. So the last text is kept with what it means, and a
//! time that differs only in the seconds costs two digits.
//! Invariant: a time that was kept gives the same as reading it anew. Times are microseconds since
//! the Unix epoch; what is no time, or lies before it or past the year 9999, is none.
//! Just 13 digits are milliseconds, 16 microseconds, 19 nanoseconds, any other number of digits
//! are seconds. A configured format takes the place of all of these. `recount/src/moment.rs`
//! says the same a second time. Calendars are in `exchange` and `stdx`.

use std::sync::Arc;

use exchange::{parse_log_time, parse_rfc3339};

use super::number::{digit, seconds_us, whole};
use super::time_format::TimeFormat;

/// The length of `21/Nov/2026:03:54:12 +0000`.
pub(super) const LOG_TIME: usize = 26;
const SECONDS: std::ops::Range<usize> = 18..20;
const MICROS: u64 = 1_000_000;
/// The end of the year 9999, in microseconds since the Unix epoch.
const END_US: u64 = 253_402_300_800 * MICROS;

/// The last times read.
#[derive(Debug, Default, Clone)]
pub struct TimeCache {
    log: Option<([u8; LOG_TIME], u64)>,
    second: Option<([u8; 19], u64)>,
    /// How times are written, where it is in none of the usual ways.
    format: Option<Arc<TimeFormat>>,
}

impl TimeCache {
    /// A cache for times of such a format, or of the usual ones.
    pub(super) fn new(format: Option<Arc<TimeFormat>>) -> Self {
        Self { format, ..Self::default() }
    }

    /// Reads `21/Nov/2026:03:54:12 +0000` as microseconds since the Unix epoch.
    #[inline]
    pub fn log(&mut self, text: &[u8; LOG_TIME]) -> Option<u64> {
        match &self.log {
            Some((last, us)) if last == text => Some(*us),
            _ => self.new_log(text),
        }
    }

    /// Reads an RFC 3339 time.
    pub fn rfc3339(&mut self, text: &[u8]) -> Option<u64> {
        if let (Some((last, us)), Some(head)) = (&self.second, text.first_chunk())
            && last == head
            && let Some(micros) = utc_micros(&text[19..])
        {
            return Some(us + micros);
        }
        let us = parse_rfc3339(text)?;
        if let (Some(head), Some(micros)) = (text.first_chunk(), utc_micros(&text[19..])) {
            self.second = Some((*head, us - micros));
        }
        Some(us)
    }

    /// Reads a time by the configured format.
    pub(super) fn configured(&self, text: &[u8]) -> Option<u64> {
        self.format.as_ref()?.read(text).filter(|us| *us < END_US)
    }

    /// Reads a time in the way that is configured. Without one, in any way that logs write it: as
    /// above, or as a number since the Unix epoch. Seconds may have a fraction.
    pub fn any(&mut self, text: &[u8]) -> Option<u64> {
        let us = match &self.format {
            Some(format) => format.read(text),
            None => self.usual(text),
        };
        us.filter(|us| *us < END_US)
    }

    fn usual(&mut self, text: &[u8]) -> Option<u64> {
        let text = text.strip_prefix(b"[").and_then(|t| t.strip_suffix(b"]")).unwrap_or(text);
        if let Ok(log) = text.try_into()
            && let Some(us) = self.log(log)
        {
            return Some(us);
        }
        if let Some(number) = whole(text).filter(|_| text.len() >= 13) {
            return match text.len() {
                13 => number.checked_mul(1000),
                16 => Some(number),
                19 => Some(number / 1000),
                _ => number.checked_mul(MICROS),
            };
        }
        self.rfc3339(text).or_else(|| seconds_us(text))
    }

    fn new_log(&mut self, text: &[u8; LOG_TIME]) -> Option<u64> {
        let us = match &self.log {
            Some((last, us))
                if last[..SECONDS.start] == text[..SECONDS.start]
                    && last[SECONDS.end..] == text[SECONDS.end..] =>
            {
                let seconds = two_digits(&text[SECONDS]).filter(|seconds| *seconds <= 60)?;
                let us = us - two_digits(&last[SECONDS])? * MICROS + seconds * MICROS;
                Some(us).filter(|us| *us < END_US)?
            }
            _ => parse_log_time(text)?,
        };
        self.log = Some((*text, us));
        Some(us)
    }
}

/// Reads `.123456Z`.
fn utc_micros(text: &[u8]) -> Option<u64> {
    let [b'.', digits @ .., b'Z'] = text else { return None };
    if digits.len() != 6 {
        return None;
    }
    whole(digits)
}

fn two_digits(text: &[u8]) -> Option<u64> {
    Some(u64::from(digit(text[0])?) * 10 + u64::from(digit(text[1])?))
}

#[cfg(test)]
mod tests;
