//! Reads times that servers have measured inside a call: the field `Server-Timing` (W3C).
//!
//! A metric with `dur` becomes a part of `wait`, called `server.NAME`; one without becomes an
//! attribute: its description, or `yes`. These names count elsewhere: `inside.rs` knows
//! `server.total`, `soak/src/lab/arm.rs` the step `server.s7`. `pieces` and `is_time` serve other
//! parsers, too.
//! Invariant: only finite times that are not negative become parts of a call. Whether parts become
//! phases is decided in `inside.rs`. Nothing is refused: what cannot be read is passed over.

use super::call::CallDetails;

/// Reads a `Server-Timing` field: a metric with `dur` is a time inside `wait`, one with a
/// description only is an attribute. Both are called `server.NAME`.
pub(crate) fn read(value: &str, made: &mut CallDetails) {
    for metric in pieces(value, ',') {
        let mut parameters = pieces(metric, ';').map(str::trim);
        let Some(name) = parameters.next().filter(|name| !name.is_empty()) else { continue };
        let name = format!("server.{name}");
        let mut described = None;
        let mut took_ms = None;
        for parameter in parameters {
            let Some((key, value)) = parameter.split_once('=') else { continue };
            match key.trim().to_ascii_lowercase().as_str() {
                "dur" => took_ms = unquoted(value).parse::<f64>().ok().filter(|ms| is_time(*ms)),
                "desc" => described = Some(unquoted(value)),
                _ => {}
            }
        }
        match (took_ms, described) {
            (Some(ms), _) => made.parts.push((name, ms)),
            (None, Some(text)) => made.names.push((name, text)),
            (None, None) => made.names.push((name, "yes".to_owned())),
        }
    }
}

/// Returns the times of a `Server-Timing` field: each metric that has one, called `server.NAME`.
pub(crate) fn times(value: &str) -> Vec<(String, f64)> {
    let mut made = CallDetails::default();
    read(value, &mut made);
    made.parts
}

/// Splits a field's value where a separator stands outside quotation marks.
pub(crate) fn pieces(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut is_quoted = false;
    let mut is_escaped = false;
    text.split(move |letter: char| {
        let splits = letter == separator && !is_quoted;
        is_quoted ^= letter == '"' && !is_escaped;
        is_escaped = letter == '\\' && is_quoted && !is_escaped;
        splits
    })
}

/// Whether a number can be milliseconds of a call.
pub(crate) fn is_time(ms: f64) -> bool {
    ms.is_finite() && ms >= 0.0
}

fn unquoted(value: &str) -> String {
    let value = value.trim();
    match value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) {
        Some(inner) => inner.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests;
