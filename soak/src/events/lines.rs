//! The lines that are written: every byte follows from the id, and so do the rows made from them.

use std::collections::BTreeMap;

use stdx::mixed;

/// Lines of one second of the log's time.
const LINES_PER_SECOND: u64 = 500;
/// Paths; each has a key of its own in every second.
const PATHS: u64 = 5;

/// The line of an id, in nginx's `combined`, with its line feed.
pub(super) fn line(id: u64) -> String {
    let second = id / LINES_PER_SECOND;
    let (hour, minute, second) = (second / 3600 % 24, second / 60 % 60, second % 60);
    format!(
        "192.0.2.7 - - [21/Nov/2026:{hour:02}:{minute:02}:{second:02} +0000] \
         \"GET {}?id={id}&k={:x} HTTP/1.1\" 200 {} \"-\" \"soak\"\n",
        path(id),
        mixed(id) >> 40,
        bytes(id)
    )
}

/// A line that is none.
pub(super) fn garbage(id: u64) -> String {
    format!("this is no line of a log {:x}\n", mixed(id))
}

fn path(id: u64) -> String {
    format!("/p/{}", mixed(id ^ 0x7061_7468) % PATHS)
}

fn bytes(id: u64) -> u64 {
    mixed(id) % 100_000
}

/// Sums over all ids, as the table `by_id` must hold them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Totals {
    /// Different ids.
    pub ids: u64,
    /// Lines counted.
    pub lines: u64,
    /// The most often an id was counted.
    pub most: u64,
    /// The largest id, or 0.
    pub last: u64,
    /// The sum of the sizes.
    pub bytes: u64,
}

/// What the first `count` ids add up to.
pub(super) fn totals(count: u64) -> Totals {
    let (most, last) = (count.min(1), count.saturating_sub(1));
    Totals { ids: count, lines: count, most, last, bytes: (0..count).map(bytes).sum() }
}

/// Path and time of a row of `by_second`.
pub(super) type Key = (String, String);

/// The values of a row of `by_second`: count, sum, min, max, and the id of the last line.
pub(super) type Row = [u64; 5];

/// The row of `by_second` that an id counts in.
pub(super) fn key(id: u64) -> Key {
    let second = id / LINES_PER_SECOND;
    let (hour, minute, second) = (second / 3600 % 24, second / 60 % 60, second % 60);
    (path(id), format!("2026-11-21 {hour:02}:{minute:02}:{second:02}"))
}

/// The rows of `by_second` after the first `count` ids.
pub(super) fn rows(count: u64) -> BTreeMap<Key, Row> {
    let mut rows: BTreeMap<Key, Row> = BTreeMap::new();
    for id in 0..count {
        let row = rows.entry(key(id)).or_insert([0, 0, u64::MAX, 0, 0]);
        let bytes = bytes(id);
        *row = [row[0] + 1, row[1] + bytes, row[2].min(bytes), row[3].max(bytes), id];
    }
    rows
}
