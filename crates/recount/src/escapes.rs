//! Undoes how texts are escaped, each way as its program writes it.
//!
//! Two ways are read by `exchange`: JSON's, and that of nginx and Apache. Invariant: what
//! `pipeline/src/decode/escape.rs` makes of a text, by other code. What is no escape stands for
//! itself. `plain/tests.rs` compares both.

use std::borrow::Cow;

use pipeline::Escape;

/// Undoes how texts are escaped.
pub(crate) type Unescape = fn(&[u8]) -> Vec<u8>;

/// The way of a template.
pub(crate) fn way(escape: Escape) -> Unescape {
    match escape {
        Escape::Json => json,
        Escape::Log => log,
        Escape::Logfmt => quoted_by_go,
        Escape::Hash => hash,
        Escape::Quotes => quotes,
        Escape::None | Escape::Plus | Escape::Percent => |raw| raw.to_vec(),
    }
}

pub(crate) fn json(raw: &[u8]) -> Vec<u8> {
    exchange::unescape_json(raw).map_or_else(|_| raw.to_vec(), Cow::into_owned)
}

pub(crate) fn log(raw: &[u8]) -> Vec<u8> {
    exchange::unescape_log(raw).into_owned()
}

/// Escapes of JSON, and `\xHH`, `\a`, `\v`; a text with any other stays as it is.
pub(crate) fn quoted_by_go(raw: &[u8]) -> Vec<u8> {
    go(raw).unwrap_or_else(|| raw.to_vec())
}

/// The same; none where there is another escape.
pub(crate) fn go(raw: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = raw;
    while !rest.is_empty() {
        // What JSON can read, up to the next escape that it does not have.
        let mut end = 0;
        while end < rest.len() && !is_of_go(&rest[end..]) {
            end += if rest[end] == b'\\' { 2 } else { 1 };
        }
        let (head, tail) = rest.split_at(end.min(rest.len()));
        out.extend_from_slice(&exchange::unescape_json(head).ok()?);
        rest = tail;
        if let [_, kind, after @ ..] = tail {
            let length = if *kind == b'x' { 2 } else { 0 };
            out.push(match kind {
                b'a' => 7,
                b'v' => 11,
                _ => two_digits(&after[..2])?,
            });
            rest = &after[length..];
        }
    }
    Some(out)
}

fn is_of_go(text: &[u8]) -> bool {
    match text {
        [b'\\', b'a' | b'v', ..] => true,
        [b'\\', b'x', digits @ ..] => digits.get(..2).and_then(two_digits).is_some(),
        _ => false,
    }
}

/// `#XX`, as HAProxy writes it.
fn hash(raw: &[u8]) -> Vec<u8> {
    marked(raw, b'#')
}

/// `%XX`, as CloudFront writes headers.
pub(crate) fn percent(raw: &[u8]) -> Vec<u8> {
    marked(raw, b'%')
}

/// A plus for a space, as IIS writes headers.
pub(crate) fn plus(raw: &[u8]) -> Vec<u8> {
    raw.split(|byte| *byte == b'+').collect::<Vec<_>>().join(&b' ')
}

/// `\"`, as Traefik writes it.
fn quotes(raw: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    for byte in raw {
        if *byte == b'"' {
            out.pop_if(|last| *last == b'\\');
        }
        out.push(*byte);
    }
    out
}

/// Two hexadecimal digits behind a mark.
fn marked(raw: &[u8], mark: u8) -> Vec<u8> {
    let mut parts = raw.split(|byte| *byte == mark);
    let mut out = parts.next().unwrap_or_default().to_vec();
    for part in parts {
        match part.get(..2).and_then(two_digits) {
            Some(byte) => {
                out.push(byte);
                out.extend_from_slice(&part[2..]);
            }
            None => {
                out.push(mark);
                out.extend_from_slice(part);
            }
        }
    }
    out
}

fn two_digits(text: &[u8]) -> Option<u8> {
    let is_one = text.iter().all(u8::is_ascii_hexdigit);
    let text = std::str::from_utf8(text).ok().filter(|_| is_one)?;
    u8::from_str_radix(text, 16).ok()
}
