//! Writes times as RFC 3339 text in UTC, with a fraction always or only where there is one.
//!
//! Times before 1970 are not told apart from those after: the sign is dropped. `exchange` formats,
//! and parses.

/// `2026-11-21T09:48:00Z`, with a fraction only where there is one; `us` is microseconds since the
/// Unix epoch.
pub(crate) fn rfc3339(us: i64) -> String {
    let us = us.unsigned_abs();
    let mut text = Vec::new();
    exchange::write_rfc3339(us, &mut text);
    if us.is_multiple_of(1_000_000) {
        text.truncate(19);
        text.push(b'Z');
    }
    String::from_utf8(text).expect("a timestamp is ASCII")
}

/// `2026-11-21T09:48:00.000000Z`, always with its fraction: where times are compared as text, one
/// without would come after all of its second, since `.` sorts before `Z`.
pub(crate) fn rfc3339_exact(us: i64) -> String {
    let mut text = Vec::with_capacity(27);
    exchange::write_rfc3339(us.unsigned_abs(), &mut text);
    String::from_utf8(text).expect("a timestamp is ASCII")
}
