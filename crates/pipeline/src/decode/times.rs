//! Reads the times of log lines: as nginx and Apache write them, RFC 3339, milliseconds, or seconds
//! with a fraction.
//!
//! Neighbouring lines mostly share their second. So the last text is kept with what it means, and a
//! time that differs only in the seconds costs two digits.
//! Invariant: a time that was kept gives the same as reading it anew. Times are microseconds since
//! the Unix epoch; what is no time, or lies before it, is none.
//! Just 13 digits are milliseconds, any other number of digits are seconds. `recount/src/scalar.rs`
//! says the same a second time. Calendars are in `exchange` and `stdx`.

use exchange::{parse_log_time, parse_rfc3339};

use super::number::whole;

/// The length of `21/Nov/2026:03:54:12 +0000`.
pub(super) const LOG_TIME: usize = 26;
const SECONDS: std::ops::Range<usize> = 18..20;
const MICROS: u64 = 1_000_000;

/// The last times read.
#[derive(Debug, Default, Clone)]
pub struct TimeCache {
    log: Option<([u8; LOG_TIME], u64)>,
    second: Option<([u8; 19], u64)>,
}

impl TimeCache {
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

    /// Reads a time in any way that logs write it: as above, in milliseconds, or in seconds since
    /// the Unix epoch. The seconds may have a fraction.
    pub fn any(&mut self, text: &[u8]) -> Option<u64> {
        let text = text.strip_prefix(b"[").and_then(|t| t.strip_suffix(b"]")).unwrap_or(text);
        if let Ok(log) = text.try_into()
            && let Some(us) = self.log(log)
        {
            return Some(us);
        }
        if text.len() == 13
            && let Some(ms) = whole(text)
        {
            return ms.checked_mul(1000);
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
                us - two_digits(&last[SECONDS])? * MICROS + seconds * MICROS
            }
            _ => parse_log_time(text)?,
        };
        self.log = Some((*text, us));
        Some(us)
    }
}

/// Reads seconds with or without a fraction as microseconds; digits past the sixth are cut.
pub(super) fn seconds_us(text: &[u8]) -> Option<u64> {
    let (whole, fraction) = match memchr::memchr(b'.', text) {
        Some(dot) => (&text[..dot], &text[dot + 1..]),
        None => (text, &b""[..]),
    };
    let whole = self::whole(whole)?;
    let mut micros = 0;
    for place in 0..6 {
        micros = micros * 10 + u64::from(digit(fraction.get(place).copied().unwrap_or(b'0'))?);
    }
    fraction.iter().all(u8::is_ascii_digit).then_some(())?;
    whole.checked_mul(MICROS)?.checked_add(micros)
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

fn digit(byte: u8) -> Option<u8> {
    byte.is_ascii_digit().then(|| byte - b'0')
}
