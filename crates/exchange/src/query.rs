//! Finds one parameter in a raw query string, and decodes it; encodes values for one.
//!
//! Only `&` parts parameters. Names are compared after decoding, and the first match counts. A
//! parameter without `=` has the empty value; one that is not there gives `None`. `decoded` undoes
//! percent escapes and `+` (WHATWG URL, `application/x-www-form-urlencoded`) in any text. A
//! malformed escape stands for itself, so nothing is refused.
//! Invariant: text without `%` and `+` is borrowed, not copied. Values are bytes, and need not be
//! UTF-8.
//! The gateway finds user ids by it (`gateway/src/user.rs`), and takes them out of what is shared
//! (`gateway/src/key.rs`, `gateway/src/key/rules.rs`). A name that matches otherwise changes whose
//! answer is given. `pipeline` and `recount` both call it for `query.NAME`: `events verify` sees no
//! mistake made here.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// Returns the decoded value of the first parameter called `name`.
///
/// A parameter without `=` has the empty value.
pub fn query_value<'a>(query: &'a [u8], name: &str) -> Option<Cow<'a, [u8]>> {
    let mut rest = query;
    loop {
        let end = memchr(b'&', rest).unwrap_or(rest.len());
        let pair = &rest[..end];
        let equals = memchr(b'=', pair).unwrap_or(pair.len());
        if is_name(&pair[..equals], name) {
            return Some(decoded(pair.get(equals + 1..).unwrap_or_default()));
        }
        if end == rest.len() {
            return None;
        }
        rest = &rest[end + 1..];
    }
}

fn is_name(raw: &[u8], name: &str) -> bool {
    // Decoding never lengthens, so a shorter name cannot become equal.
    raw.len() >= name.len() && *decoded(raw) == *name.as_bytes()
}

/// Undoes percent escapes and `+`.
pub fn decoded(raw: &[u8]) -> Cow<'_, [u8]> {
    if memchr2(b'%', b'+', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&first, tail)) = rest.split_first() {
        match (first, escape(tail)) {
            (b'%', Some(byte)) => {
                out.push(byte);
                rest = &tail[2..];
            }
            (b'+', _) => {
                out.push(b' ');
                rest = tail;
            }
            _ => {
                out.push(first);
                rest = tail;
            }
        }
    }
    Cow::Owned(out)
}

/// Whether a segment of a path is this id, however it is spelled. A `+` may be a blank or itself;
/// what stands behind a dot may be a format.
pub fn is_id_in_path(segment: &[u8], id: &[u8]) -> bool {
    let is_id = |text: &[u8]| {
        let rest = text.strip_prefix(id);
        rest.is_some_and(|format| format.is_empty() || format.starts_with(b"."))
    };
    if is_id(&decoded(segment)) {
        return true;
    }
    let parts: Vec<Cow<'_, [u8]>> = segment.split(|byte| *byte == b'+').map(decoded).collect();
    parts.len() > 1 && is_id(&parts.join(&b'+'))
}

/// Returns a value as a form sends it: all but unreserved characters (RFC 3986 §2.3) are escaped.
pub fn encoded(value: &[u8]) -> String {
    let mut out = String::with_capacity(value.len());
    for &byte in value {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(byte.into());
            }
            _ => {
                out.push('%');
                for digit in [byte >> 4, byte & 15] {
                    let digit = char::from_digit(digit.into(), 16).expect("four bits");
                    out.push(digit.to_ascii_uppercase());
                }
            }
        }
    }
    out
}

fn escape(digits: &[u8]) -> Option<u8> {
    let high = char::from(*digits.first()?).to_digit(16)?;
    let low = char::from(*digits.get(1)?).to_digit(16)?;
    Some((high << 4 | low) as u8)
}

#[cfg(test)]
mod tests;
