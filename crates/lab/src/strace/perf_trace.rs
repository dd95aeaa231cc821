//! Parses one line of `perf trace`.
//!
//! `     0.453 ( 0.002 ms): name/tid openat(dfd: CWD, filename: 0xabc) = 3`
//! The first number is milliseconds since the start, the second how long the call took. A call that
//! was not finished when another line came has no second number; its end is a line of its own:
//! `10.453 (10.002 ms): name/tid  ... [continued]: read()) = 5`.
//! Never here: other tools of perf.

use memchr::{memchr, memrchr};

use super::line::{StraceLine, TraceEvent, TracedCall, leading_number};

/// Parses a line; nothing where it has another form.
pub(super) fn parse(line: &[u8]) -> Option<StraceLine<'_>> {
    let text = line.trim_ascii_start();
    let (start, rest) = number_before(text, b" (")?;
    let close = memchr(b')', rest)?;
    let (duration, rest) = (rest[..close].trim_ascii(), rest[close + 1..].strip_prefix(b": ")?);
    let took_ns = duration.strip_suffix(b" ms").and_then(|text| millis(text.trim_ascii()));
    let slash = memchr(b'/', rest)?;
    let pid = u32::try_from(leading_number(&rest[slash + 1..])?).ok()?;
    let digits = rest[slash + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = rest[slash + 1 + digits..].trim_ascii_start();
    let (is_end, rest) = match rest.strip_prefix(b"... [continued]: ") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let open = memchr(b'(', rest)?;
    let (name, rest) = (&rest[..open], &rest[open + 1..]);
    let equals = memrchr(b'=', rest);
    let (args, result) = match equals {
        Some(at) => (rest[..at].trim_ascii_end(), rest[at + 1..].trim_ascii()),
        None => (rest, &b""[..]),
    };
    // The end of a call repeats no arguments: `read()) = 5`.
    let args = if is_end { b"" } else { args.strip_suffix(b")").unwrap_or(args) };
    let call = TracedCall { name, args, result, took_ns };
    let event = match (is_end, took_ns) {
        (true, _) => TraceEvent::Resumed(call),
        (false, Some(_)) => TraceEvent::Call(call),
        (false, None) => TraceEvent::Unfinished { name, args },
    };
    Some(StraceLine { pid: Some(pid), time_us: Some(start / 1000), event })
}

/// The nanoseconds of milliseconds in front of a mark, and what follows that.
fn number_before<'l>(text: &'l [u8], mark: &[u8]) -> Option<(u64, &'l [u8])> {
    let end = memchr::memmem::find(&text[..text.len().min(32)], mark)?;
    Some((millis(&text[..end])?, &text[end + mark.len()..]))
}

/// Nanoseconds of `10.453` milliseconds.
fn millis(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let value: f64 = text.parse().ok()?;
    (0.0..1e12).contains(&value).then(|| (value * 1e6).round() as u64)
}

#[cfg(test)]
mod tests;
