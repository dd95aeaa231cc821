//! Reads lines as Net::Statsd::Server 0.17 does (`Server.pm`, `handle_client_packet`).
//!
//! Kept:
//! - `,` and `=` stay in keys, `/` becomes `_` and a space becomes `-`;
//! - empty pieces at the end do not exist; any unknown type is a counter;
//! - a counter of `0` counts 1, so `line.rs` sends a plain one here;
//! - gauges know no deltas, timers know no rates.
//!
//! Not kept: a rate of 0 makes the original die, and infinities and NaN would spoil a sum; here
//! such pieces are bad. Keys are always cleaned. What users notice is in the table of
//! docs/STATSD.md.

use super::key::{IN_KEY, KeyBuffer};
use super::rate::{rate_prefix, scaled};
use super::sink::{BadReason, CountingSink, GaugeChange, SampleSink};
use crate::number;

/// Reads a line; returns how many lines that is.
pub(super) fn read(
    line: &[u8],
    keys: &mut KeyBuffer,
    to: &mut CountingSink<'_, impl SampleSink>,
) -> u64 {
    let mut pieces = split(line, b':');
    let key = pieces.next().unwrap_or_default();
    keys.text.clear();
    transliterate(key, &mut keys.text);
    to.pieces(keys, pieces, sample);
    1
}

fn sample(key: &[u8], piece: &[u8], take: &mut impl SampleSink) -> Result<(), BadReason> {
    let mut fields = split(piece, b'|');
    let text = fields.next().filter(|text| !text.is_empty()).unwrap_or(b"0");
    let kind = fields.next().filter(|kind| !kind.is_empty()).ok_or(BadReason::NoType)?;
    match kind.trim_ascii() {
        b"ms" => take.timer(key, number::perl(text).ok_or(BadReason::Value)?, 1.0),
        b"g" => take.gauge(key, GaugeChange::Set(number::perl(text).ok_or(BadReason::Value)?)),
        b"s" => take.set(key, text),
        _ => {
            let rate = fields.next().map_or(Ok(1.0), |f| rate_prefix(f).ok_or(BadReason::Rate))?;
            let value = number::perl(if text == b"0" { b"1" } else { text });
            take.counter(key, scaled(value.ok_or(BadReason::Value)?, rate)?);
        }
    }
    Ok(())
}

/// Perl's `split`: what is empty at the end is not there.
fn split(text: &[u8], at: u8) -> impl Iterator<Item = &[u8]> {
    let kept = text.iter().rposition(|byte| *byte != at).map_or(0, |last| last + 1);
    let nothing = kept == 0;
    text[..kept].split(move |byte| *byte == at).skip(usize::from(nothing))
}

/// `y{/ }{_-}s`, which also writes runs of what it changed once, and then drops the rest.
fn transliterate(key: &[u8], out: &mut Vec<u8>) {
    let mut last_changed = None;
    for byte in key {
        let changed = match byte {
            b'/' => Some(b'_'),
            b' ' => Some(b'-'),
            _ => None,
        };
        match changed {
            Some(letter) if last_changed == Some(letter) => {}
            Some(letter) => out.push(letter),
            None if IN_KEY[usize::from(*byte)] || matches!(byte, b',' | b'=') => out.push(*byte),
            None => {}
        }
        last_changed = changed;
    }
}
