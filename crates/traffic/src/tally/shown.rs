//! Writes dates and texts of a source so that they can be shown.
//!
//! Invariant: no control character of a source comes through.
//! Never here: what is counted.

use exchange::write_rfc3339;

use crate::output::escape;

/// The date with seconds.
pub(crate) fn date(time_us: u64) -> String {
    let mut text = Vec::new();
    write_rfc3339(time_us, &mut text);
    let text = String::from_utf8_lossy(&text).replacen('T', " ", 1);
    text.split('.').next().unwrap_or_default().to_owned()
}

/// Text of a source, fit to be shown.
pub(crate) fn shown(text: &[u8]) -> String {
    let mut out = Vec::with_capacity(text.len());
    escape(text, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
