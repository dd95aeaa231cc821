//! Lines as statsd 0.9 reads them (`stats.js`, `lib/helpers.js`).
//!
//! Kept: any unknown type is a counter; the type is checked before it is trimmed; `a:1|c:5|ms` is
//! two samples; tags become a part of the key; a rate such as `@2e-1` passes and counts as 2.
//! Not kept: rates that pass and crash it (`@ 1`), or make a sum infinite (`@0`), are bad here.

use super::{Bad, Change, Counted, Reader, Take, clean, rate_prefix, scaled};
use crate::number;

impl Reader {
    pub(super) fn statsd(&mut self, line: &[u8], to: &mut Counted<'_, impl Take>) -> u64 {
        if line.is_empty() {
            return 0;
        }
        let (said, tags) = match memchr::memmem::find(line, b"|#") {
            Some(at) => {
                let tags = &line[at + 2..];
                let end = memchr::memmem::find(tags, b"|#").unwrap_or(tags.len());
                (&line[..at], &tags[..end])
            }
            None => (line, &line[..0]),
        };
        let mut pieces = said.split(|byte| *byte == b':');
        let key = pieces.next().unwrap_or_default();
        self.write_key(key, tags);
        self.pieces(pieces, to, sample);
        1
    }

    fn write_key(&mut self, key: &[u8], tags: &[u8]) {
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
        self.key.clear();
        if self.cleans_keys {
            clean(&raw, b";=", &mut self.key);
        } else {
            self.key.extend_from_slice(String::from_utf8_lossy(&raw).as_bytes());
        }
    }
}

fn sample(key: &[u8], piece: &[u8], take: &mut impl Take) -> Result<(), Bad> {
    let mut fields = piece.split(|byte| *byte == b'|');
    let text = fields.next().unwrap_or_default();
    let kind = fields.next().ok_or(Bad::NoType)?;
    let rate = fields.next().map_or(Ok(1.0), |field| rate(field).ok_or(Bad::Rate))?;
    let number = number::javascript(text);
    if kind != b"s" && number.is_none() {
        return Err(Bad::Value);
    }
    let number = number.unwrap_or(0.0);
    if kind == b"ms" && number < 0.0 {
        return Err(Bad::Value);
    }
    match kind.trim_ascii() {
        b"ms" => take.timer(key, number, scaled(1.0, rate)?),
        b"g" if matches!(text[0], b'+' | b'-') => take.gauge(key, Change::AddUnlessZero(number)),
        b"g" => take.gauge(key, Change::Set(number)),
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
