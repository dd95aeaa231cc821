//! Times as text.

/// `2026-11-21T09:48:00Z`, with a fraction only where there is one; `us` is microseconds since the
/// Unix epoch.
pub fn rfc3339(us: i64) -> String {
    let us = us.unsigned_abs();
    let mut text = Vec::new();
    exchange::write_rfc3339(us, &mut text);
    if us.is_multiple_of(1_000_000) {
        text.truncate(19);
        text.push(b'Z');
    }
    String::from_utf8(text).expect("a timestamp is ASCII")
}
