//! Parses numbers with units, and moments, as people write them in files.
//!
//! A moment is RFC 3339, the time of an access log, or a number. A number's size says whether it
//! counts from the Unix epoch, and in which unit; docs/lab/report-inputs.md has the rule.
//! `load_test/trace.rs` has bounds of its own, 1e8 and 1e11 like here.
//! Invariant: what is no number is `None`, never zero. A duration may be NaN, infinite or negative;
//! `csv.rs` and `rows.rs` refuse that. A moment is finite and not negative.
//! A new word for a unit also turns columns of a CSV that end in it into steps (`headers.rs`).

/// A unit of time, as milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit(pub f64);

impl Unit {
    /// Milliseconds.
    pub(super) const MILLIS: Self = Self(1.0);
    /// Seconds.
    pub(super) const SECONDS: Self = Self(1000.0);

    /// Returns the unit that a word names.
    pub(super) fn named(word: &str) -> Option<Self> {
        let ms = match word {
            "ns" | "nano" | "nanos" | "nsec" | "nanosecond" | "nanoseconds" => 1e-6,
            "us" | "µs" | "μs" | "micro" | "micros" | "usec" | "microsec" | "microsecond"
            | "microseconds" => 1e-3,
            "ms" | "msec" | "msecs" | "milli" | "millis" | "millisecond" | "milliseconds" => 1.0,
            "s" | "sec" | "secs" | "second" | "seconds" => 1000.0,
            "m" | "min" | "minute" | "minutes" => 60_000.0,
            _ => return None,
        };
        Some(Self(ms))
    }
}

/// Returns a duration in milliseconds: a number in `unit`, or one with its own unit (`1.5s`). NaN,
/// infinity and negative numbers are returned as they are.
pub(super) fn duration_ms(text: &str, unit: Unit) -> Option<f64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return Some(number * unit.0);
    }
    let end = text.find(|character: char| character.is_alphabetic() && character != 'e')?;
    let named = Unit::named(text[end..].trim())?;
    text[..end].trim().parse::<f64>().ok().map(|number| number * named.0)
}

/// What a column of moments counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Moment {
    /// RFC 3339, or the time of an access log; or a number since the Unix epoch, by its size.
    Absolute(f64),
    /// Milliseconds since something else.
    Relative(f64),
}

/// Returns a moment: RFC 3339, an access log's time, or a number. A number without a `unit` counts
/// from the Unix epoch if it is as large as the present. Its size says whether it is in seconds,
/// milliseconds, microseconds or nanoseconds. A smaller one is relative, and in seconds.
pub(super) fn moment(text: &str, unit: Option<Unit>) -> Option<Moment> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let written = exchange::parse_rfc3339(bare.as_bytes())
        .or_else(|| exchange::parse_rfc3339(format!("{bare}Z").as_bytes()))
        .or_else(|| exchange::parse_log_time(bare.as_bytes()));
    if let Some(micros) = written {
        return Some(Moment::Absolute(micros as f64 / 1000.0));
    }
    let number = bare.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)?;
    if let Some(unit) = unit {
        let ms = number * unit.0;
        return Some(if ms > 1e11 { Moment::Absolute(ms) } else { Moment::Relative(ms) });
    }
    Some(match number {
        _ if number > 1e17 => Moment::Absolute(number / 1e6),
        _ if number > 1e14 => Moment::Absolute(number / 1e3),
        _ if number > 1e11 => Moment::Absolute(number),
        _ if number > 1e8 => Moment::Absolute(number * 1e3),
        _ => Moment::Relative(number * 1e3),
    })
}

#[cfg(test)]
mod tests;
