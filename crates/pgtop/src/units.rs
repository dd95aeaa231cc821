//! Says how numbers of the views and the header read: counts, bytes, seconds.
//!
//! Invariant: a number never reads as more digits than its column is wide, up to exabytes.

use crate::catalog::Quantity;
use crate::listing::ListCell;

const STEPS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];

/// A number in a unit.
pub(crate) fn cell(number: f64, unit: Quantity) -> ListCell {
    let text = match unit {
        Quantity::Id => number.to_string(),
        Quantity::Count => count(number),
        Quantity::Bytes => bytes(number),
        Quantity::Milliseconds => digits(number),
        Quantity::Seconds => seconds(number),
    };
    ListCell::number(number, text)
}

/// A share as percent.
pub(crate) fn percent(share: f64) -> ListCell {
    ListCell::number(share * 100.0, format!("{:.1}", share * 100.0))
}

/// Such as `0.25`, `17`, `12.3k`.
pub(crate) fn count(number: f64) -> String {
    scaled(number, 1000.0, 100_000.0)
}

/// Such as `512B`, `8.0kB`, `1.3GB`; a kB has 1,024 bytes, as in PostgreSQL.
pub(crate) fn bytes(number: f64) -> String {
    format!("{}B", scaled(number, 1024.0, 10_000.0))
}

/// Such as `0.4`, `75`, `3600`: seconds, with a tenth below 10.
pub(crate) fn seconds(seconds: f64) -> String {
    if seconds.abs() < 10.0 { format!("{seconds:.1}") } else { format!("{seconds:.0}") }
}

/// Such as `74 s`, `12 min`, `1 h 14 min`: a span of whole seconds.
pub(crate) fn span(seconds: i64) -> String {
    match seconds.max(0) {
        short @ ..120 => format!("{short} s"),
        it @ ..7200 if it % 60 == 0 => format!("{} min", it / 60),
        it @ ..7200 => format!("{} min {} s", it / 60, it % 60),
        it if it / 60 % 60 == 0 => format!("{} h", it / 3600),
        it => format!("{} h {} min", it / 3600, it / 60 % 60),
    }
}

/// Such as `3+02:10:59`: days, hours, minutes, seconds.
pub(crate) fn uptime(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{}+{hours:02}:{minutes:02}:{:02}", seconds / 86_400, seconds % 60)
}

fn scaled(number: f64, step: f64, whole_below: f64) -> String {
    if number.abs() < whole_below {
        return digits(number);
    }
    let mut rest = number;
    let mut at = 0;
    while rest.abs() >= step && at + 1 < STEPS.len() {
        rest /= step;
        at += 1;
    }
    format!("{}{}", digits(rest), STEPS[at])
}

/// Three digits that matter below 100; whole from there on.
fn digits(number: f64) -> String {
    match number.abs() {
        _ if number == number.trunc() => format!("{number:.0}"),
        size if size < 10.0 => format!("{number:.2}"),
        size if size < 100.0 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}
