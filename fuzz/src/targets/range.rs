//! Ranges: always inside the body, never empty, and what a slow reading of the grammar says
//! (RFC 9110 §14.1.2, §14.2).

use gateway::fuzzing::{BodyRange, range};

pub(super) const TOKENS: &[&str] =
    &["bytes=", "0-", "-5", "0-0", "5-3", "100-", "bytes = 1-2", "Bytes=", "1-2,3-4", "-0"];

/// The first line is the body's length.
pub(super) fn run(input: &[u8]) {
    let (settings, line) = super::settings(input);
    let length = (super::number(settings, 0) % (1 << 40)) as usize;
    let part = range(line, length);
    if let BodyRange::Bytes(bytes) = &part {
        assert!(bytes.start < bytes.end && bytes.end <= length, "outside the body");
    }
    let Some((first, last)) = slowly(line) else {
        // More than one range and other units may be ignored, never half obeyed.
        assert_eq!(part, BodyRange::Whole, "no single range of bytes");
        return;
    };
    let length = length as u128;
    let expected = match (first, last) {
        (Some(first), Some(last)) if first > last => None,
        (Some(first), last) if first < length => {
            Some((first, last.map_or(length, |last| (last + 1).min(length))))
        }
        (None, Some(suffix)) if suffix > 0 && length > 0 => {
            Some((length.saturating_sub(suffix), length))
        }
        _ => None,
    };
    match (expected, part) {
        (Some((start, end)), BodyRange::Bytes(bytes)) => {
            assert_eq!((bytes.start as u128, bytes.end as u128), (start, end));
        }
        (None, BodyRange::Whole | BodyRange::Unsatisfiable) => {}
        (expected, part) => panic!("{part:?}, not {expected:?}"),
    }
}

/// First and last position of a single range; numbers beyond every body are cut.
fn slowly(line: &[u8]) -> Option<(Option<u128>, Option<u128>)> {
    let text = std::str::from_utf8(line).ok()?;
    let (unit, set) = text.split_once('=')?;
    let blank: &[char] = &[' ', '\t', '\n', '\r', '\x0c'];
    if !unit.trim_matches(blank).eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = set.trim_matches(blank).split_once('-')?;
    let number = |text: &str| -> Option<Option<u128>> {
        if !text.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let cut = || text.trim_start_matches('0').parse().unwrap_or(u128::from(u64::MAX));
        Some((!text.is_empty()).then(|| if text.bytes().all(|b| b == b'0') { 0 } else { cut() }))
    };
    match (number(first)?, number(last)?) {
        (None, None) => None,
        both => Some(both),
    }
}
