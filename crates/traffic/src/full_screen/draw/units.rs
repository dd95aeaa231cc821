//! Writes times, latencies and sizes as short texts.
//!
//! Invariants: pure, and any value will do.
//! Never here: colours, widths and places.

use exchange::write_rfc3339;
use screen::number;

/// `1.234`
pub(in crate::full_screen) fn milliseconds(us: u64) -> String {
    format!("{}.{:03}", us / 1000, us % 1000)
}

/// The time of day with milliseconds.
pub(super) fn time_of_day(time_us: u64) -> String {
    let mut text = Vec::new();
    write_rfc3339(time_us, &mut text);
    let text = String::from_utf8_lossy(&text);
    let time = text.split_once('T').map_or(&*text, |(_, time)| time);
    time.chars().take("00:00:00.000".len()).collect()
}

/// A latency in milliseconds, or `-`.
pub(super) fn latency(ms: Option<f64>) -> String {
    ms.map_or_else(|| "-".to_owned(), number::time)
}

/// Bytes as `999`, `1.2k`, `34M`.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let mut size = count as f64;
    let mut unit = 0;
    while size >= 999.5 && unit + 1 < UNITS.len() {
        size /= 1000.0;
        unit += 1;
    }
    let places = usize::from(unit > 0 && size < 9.95);
    format!("{size:.places$}{}", UNITS[unit])
}
