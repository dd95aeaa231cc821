//! Reads labelled tab-separated values (ltsv.org) with the labels recommended there.
//!
//! These labels are read; all others are skipped:
//!
//! - `time`, as in `combined`, brackets optional, or RFC 3339;
//! - `req`, or `method`, `uri`, `protocol`; `vhost`, `referer`, `ua`, `reqsize`;
//! - `status`, `size`, `reqtime` (seconds), `reqtime_microsec`;
//! - `host` (the client's address), `user`, `id`.
//!
//! `-` and the empty value mean absent. Of labels that set one field the last wins; a target
//! without `?` leaves the query of one before it. A `host` that is no address is absent. Escapes
//! are undone as in `combined.rs`.
//! Refuses: a line without `time` or `status`, or with neither `uri` nor `req`. Also a part without
//! a colon, and a number, time or `id` that is none. The error names the byte where that part
//! begins, or the end of the line.
//! Only `lab`, tests and fuzzing call it. `lab` knows an access log by it: what decodes is one. The
//! delivery reads LTSV in `pipeline/src/decode/ltsv.rs`, `events verify` in
//! `recount/src/formats.rs` (`labelled`). There, other labels are variables of nginx, or fields
//! `var.NAME`.

use std::borrow::Cow;

use memchr::memchr;

use crate::combined::{fill_request, fill_target, lossy, parse, parse_time, present, unescaped};
use crate::exchange::Exchange;
use crate::line::{DecodeError, DecodeReason};
use crate::time;

/// Reads one line, with or without its line feed.
///
/// # Errors
/// The first place that is not as the format wants it.
pub fn decode(line: &[u8]) -> Result<Exchange<'_>, DecodeError> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let mut exchange = Exchange::default();
    let mut seen = (false, false, false);
    let mut at = 0;
    for part in line.split(|byte| *byte == b'\t') {
        if !part.is_empty() {
            let colon = memchr(b':', part).ok_or_else(|| expected(at, "`label:value`"))?;
            let (label, value) = (&part[..colon], unescaped(&part[colon + 1..]));
            if let Some(value) = present(value) {
                read_value(label, value, &mut exchange).map_err(|what| expected(at, what))?;
                seen.0 |= label == b"time";
                seen.1 |= label == b"status";
                seen.2 |= matches!(label, b"uri" | b"req");
            }
        }
        at += part.len() + 1;
    }
    let missing = [("time", seen.0), ("status", seen.1), ("uri", seen.2)];
    match missing.into_iter().find(|(_, seen)| !seen) {
        Some((name, _)) => {
            Err(DecodeError { offset: line.len(), reason: DecodeReason::Missing(name) })
        }
        None => Ok(exchange),
    }
}

fn read_value<'a>(
    label: &[u8],
    value: Cow<'a, [u8]>,
    exchange: &mut Exchange<'a>,
) -> Result<(), &'static str> {
    match label {
        b"time" => exchange.time_us = any_time(&value).ok_or("a time")?,
        b"host" => exchange.client_ip = parse(&value),
        b"user" => exchange.user = Some(value),
        b"req" => fill_request(value, exchange),
        b"method" => exchange.method = lossy(value),
        b"uri" => fill_target(value, exchange),
        b"protocol" => {
            let version = value.strip_prefix(b"HTTP/").unwrap_or(&value);
            exchange.version = Cow::Owned(String::from_utf8_lossy(version).into_owned());
        }
        b"vhost" => exchange.host = Some(value),
        b"status" => exchange.status = parse(&value).ok_or("a status")?,
        b"size" => exchange.bytes_out = parse(&value).ok_or("a whole number")?,
        b"reqsize" => exchange.bytes_in = parse(&value).ok_or("a whole number")?,
        b"referer" => exchange.referer = Some(value),
        b"ua" => exchange.user_agent = Some(value),
        b"reqtime_microsec" => exchange.total_us = parse(&value).ok_or("a whole number")?,
        b"reqtime" => {
            let seconds: f64 = parse(&value).ok_or("seconds")?;
            exchange.total_us = (seconds * 1e6).round() as u64;
        }
        b"id" => {
            let text = std::str::from_utf8(&value).map_err(|_| "hexadecimal digits")?;
            exchange.id = u128::from_str_radix(text, 16).map_err(|_| "hexadecimal digits")?;
        }
        _ => {}
    }
    Ok(())
}

fn any_time(text: &[u8]) -> Option<u64> {
    let inside = text.strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]")).unwrap_or(text);
    parse_time(inside).or_else(|| time::parse(inside))
}

fn expected(offset: usize, what: &'static str) -> DecodeError {
    DecodeError { offset, reason: DecodeReason::Expected(what) }
}

#[cfg(test)]
mod tests;
