//! Reads lines as statsd 0.9 does (`stats.js`, `lib/helpers.js`).
//!
//! Kept:
//! - any unknown type is a counter, and a type is checked before it is trimmed;
//! - `a:1|c:5|ms` is two samples;
//! - tags become a part of the key, in the order in which they come;
//! - a rate such as `@2e-1` passes and counts as 2.
//!
//! Not kept: some rates pass the original's check, and then crash it (`@ 1`) or make a sum infinite
//! (`@0`). Here such pieces are bad, as are numbers that are not finite. What users notice is in
//! the table of docs/STATSD.md. statsd's own tests run against this file
//! (`crates/tidegate/tests/it/statsd_suite.rs`).

use super::key::{KeyBuffer, clean};
use super::rate::{rate_prefix, scaled};
use super::sink::{BadReason, CountingSink, GaugeChange, SampleSink};
use crate::number;

/// Reads a line; returns how many lines that is: none when it is empty.
pub(super) fn read(
    line: &[u8],
    keys: &mut KeyBuffer,
    to: &mut CountingSink<'_, impl SampleSink>,
) -> u64 {
    if line.is_empty() {
        return 0;
    }
    let (text, tags) = match memchr::memmem::find(line, b"|#") {
        Some(at) => {
            let tags = &line[at + 2..];
            let end = memchr::memmem::find(tags, b"|#").unwrap_or(tags.len());
            (&line[..at], &tags[..end])
        }
        None => (line, &line[..0]),
    };
    let mut pieces = text.split(|byte| *byte == b':');
    let key = pieces.next().unwrap_or_default();
    write_key(key, tags, keys);
    to.pieces(keys, pieces, sample);
    1
}

fn write_key(key: &[u8], tags: &[u8], keys: &mut KeyBuffer) {
    let mut raw = key.to_vec();
    if !tags.is_empty() {
        for tag in tags.split(|byte| *byte == b',') {
            let start = raw.len() + 1;
            raw.push(b';');
            raw.extend_from_slice(tag);
            for (from, to) in [(b';', b'_'), (b':', b'=')] {
                if let Some(at) = memchr::memchr(from, &raw[start..]) {
                    raw[start + at] = to;
                }
            }
        }
    }
    keys.text.clear();
    if keys.is_cleaning {
        clean(&raw, b";=", &mut keys.text);
    } else {
        keys.text.extend_from_slice(String::from_utf8_lossy(&raw).as_bytes());
    }
}

fn sample(key: &[u8], piece: &[u8], take: &mut impl SampleSink) -> Result<(), BadReason> {
    let mut fields = piece.split(|byte| *byte == b'|');
    let text = fields.next().unwrap_or_default();
    let kind = fields.next().ok_or(BadReason::NoType)?;
    let rate = fields.next().map_or(Ok(1.0), |field| rate(field).ok_or(BadReason::Rate))?;
    let number = number::javascript(text);
    if kind != b"s" && number.is_none() {
        return Err(BadReason::Value);
    }
    let number = number.unwrap_or(0.0);
    if kind == b"ms" && number < 0.0 {
        return Err(BadReason::Value);
    }
    match kind.trim_ascii() {
        b"ms" => take.timer(key, number, scaled(1.0, rate)?),
        b"g" if matches!(text[0], b'+' | b'-') => {
            take.gauge(key, GaugeChange::AddUnlessZero(number))
        }
        b"g" => take.gauge(key, GaugeChange::Set(number)),
        b"s" if text.is_empty() => take.set(key, b"0"),
        b"s" => take.set(key, text),
        // In this order, so that the last digit is theirs.
        _ => take.counter(key, scaled(number * (1.0 / rate), 1.0)?),
    }
    Ok(())
}

/// Checked as a whole, then only its leading digits and points count.
fn rate(field: &[u8]) -> Option<f64> {
    number::javascript(field.strip_prefix(b"@")?)?;
    rate_prefix(field)
}
