//! Sets of bytes as ranges of offsets.
//!
//! Invariant: what comes out is sorted, without empty ranges, and no two touch.

use std::ops::Range;

/// Joins ranges that touch or overlap.
pub(super) fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// What is left of a range without others.
pub(super) fn without(whole: Range<u64>, others: Vec<Range<u64>>) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut at = whole.start;
    for other in joined(others) {
        if other.start > at {
            left.push(at..other.start.min(whole.end));
        }
        at = at.max(other.end);
    }
    if at < whole.end {
        left.push(at..whole.end);
    }
    joined(left)
}

/// How many bytes ranges have that do not overlap.
pub(super) fn bytes(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|range| range.end - range.start).sum()
}

#[cfg(test)]
mod tests;
