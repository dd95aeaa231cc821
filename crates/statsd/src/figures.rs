//! Writes numbers as the two references do, and mends sums that are no numbers.
//!
//! JavaScript's form, Perl's `%.6f` and `%d`, and JSON. `%d` drops the fraction; what 64 bits do
//! not hold becomes the nearest that they do. In JSON, whole numbers below 9e15 have no point, and
//! what is not finite is `null`.
//! `finite` makes of an infinite sum the largest number of its sign, and 0 of NaN. Whoever adds up
//! counters or gauges must call it: `table` for a gauge, `flush` and `snapshot` for a counter.
//! A snapshot with another number cannot be read. `statistics` leaves such numbers of timers out.
//! Never here: reading numbers (`number.rs`).

use std::io::Write as _;

/// As JavaScript does: `100`, `0.5`, `1e+21` (ECMA-262, Number::toString).
pub(crate) fn javascript(number: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(ryu_js::Buffer::new().format(number).as_bytes());
}

/// As Perl's `%.6f`.
pub(crate) fn six_places(number: f64, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{number:.6}");
}

/// As Perl's `%d`: without its fraction.
pub(crate) fn whole(number: f64, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = write!(out, "{}", number as i64);
}

/// A sum that is a number: what grew beyond all numbers is the largest, what has no meaning is 0.
pub(crate) fn finite(sum: f64) -> f64 {
    if sum.is_nan() { 0.0 } else { sum.clamp(f64::MIN, f64::MAX) }
}

/// As JSON, whole numbers without a point, as both references print them.
pub(crate) fn json(number: f64) -> serde_json::Value {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        return (number as i64).into();
    }
    number.into()
}

#[cfg(test)]
mod tests;
