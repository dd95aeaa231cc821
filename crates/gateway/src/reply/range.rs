//! Decides which part of a stored body a request gets (`Range`, RFC 9110 §13.1.5, §14.2).
//!
//! Invariant: a part lies within the body, and is one range. It is for a GET of a stored 200 whose
//! body names no decision. Several ranges at once, or a malformed one, get the whole body, as the
//! RFC allows. A range that begins beyond the body is `Unsatisfiable`. An `If-Range` that is not
//! equal to the stored tag or date gives the whole body. One more rule of `If-Range` is in
//! `respond`: a date gives the whole body where an encoding would be sent. Never here: the statuses
//! 206 and 416 (`respond`), ranges of responses that are not stored: the upstream answers them.

use std::ops::Range;

use http1::Head;

use cache::Entry;

/// The part of a body that a request gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyRange {
    /// The whole body.
    Whole,
    /// These bytes.
    Bytes(Range<usize>),
    /// Nothing: the range is beyond the body.
    Unsatisfiable,
}

/// Decides which part of a stored body a request gets.
pub(crate) fn part(head: &Head<'_>, entry: &Entry) -> BodyRange {
    let mut lines = head.all("range");
    let Some(line) = lines.next() else { return BodyRange::Whole };
    let whole = head.method() != "GET"
        || entry.status != 200
        || entry.decision_at.is_some()
        || lines.next().is_some()
        || head.get("if-range").is_some_and(|condition| !is_current(condition, entry));
    if whole { BodyRange::Whole } else { parse(line, entry.body.len()) }
}

/// Reads a `Range` of a body of `length` bytes. Anything but a single range of bytes is ignored.
pub fn parse(line: &[u8], length: usize) -> BodyRange {
    let Some((first, last)) = bounds(line) else { return BodyRange::Whole };
    match (first, last) {
        (None, None) => BodyRange::Whole,
        (Some(first), Some(last)) if first > last => BodyRange::Whole,
        (Some(first), _) if first >= length => BodyRange::Unsatisfiable,
        (Some(first), last) => {
            BodyRange::Bytes(first..last.map_or(length, |last| last.saturating_add(1).min(length)))
        }
        (None, Some(suffix)) if suffix == 0 || length == 0 => BodyRange::Unsatisfiable,
        (None, Some(suffix)) => BodyRange::Bytes(length.saturating_sub(suffix)..length),
    }
}

/// Returns the two numbers around the hyphen.
fn bounds(line: &[u8]) -> Option<(Option<usize>, Option<usize>)> {
    let equals = line.iter().position(|b| *b == b'=')?;
    let (unit, set) = (line[..equals].trim_ascii(), line[equals + 1..].trim_ascii());
    if !unit.eq_ignore_ascii_case(b"bytes") {
        return None;
    }
    let hyphen = set.iter().position(|b| *b == b'-')?;
    Some((number(&set[..hyphen])?, number(&set[hyphen + 1..])?))
}

/// Reads a number that may be missing. A number that is too large saturates.
fn number(text: &[u8]) -> Option<Option<usize>> {
    if text.is_empty() {
        return Some(None);
    }
    text.iter().all(u8::is_ascii_digit).then(|| {
        let digit = |digit: &u8| usize::from(digit - b'0');
        let push = |sum: usize, digit| sum.saturating_mul(10).saturating_add(digit);
        Some(text.iter().map(digit).fold(0, push))
    })
}

/// Whether the part that the client has belongs to the stored body. Tags are compared strongly, and
/// dates must be equal.
fn is_current(condition: &[u8], entry: &Entry) -> bool {
    let validator = match condition.first() {
        Some(b'"') => &entry.etag,
        _ => &entry.last_modified,
    };
    validator.as_deref() == Some(condition)
}

#[cfg(test)]
mod tests;
