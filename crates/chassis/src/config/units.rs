//! Knows which keys are lengths of time, shares or sizes, and how such a value is written.
//!
//! serde only knows that their values are text. So `ttl = 60` would be answered by "expected text",
//! which leads to `ttl = "60"` and the next error. Invariant: a form is given for a key of the
//! tables below, and for one whose name ends in `timeout`, `bytes`, `bytes_max` or `bytes_min`.
//! Other keys get none. The tables hold for the sections of all crates, by the last part of a key.
//! A new key for a length of time or a share, in any crate, needs a row here, unless its name ends
//! as above. A size has no row: its name must end so. A name with two meanings, such as `window`,
//! is compared as the whole dotted key. The form must be one that the reader of the key accepts.
//! Never here: reading the values (`stdx`), and whether they are in bounds.

/// Keys that are lengths of time, beside those that end in `timeout`.
const SPANS: [&str; 16] = [
    "age",
    "age_max",
    "every",
    "flush",
    "half_life",
    "hit_for_miss",
    "hold",
    "interval",
    "latency",
    "lease",
    "max_age",
    "pause",
    "stale",
    "stale_if_error",
    "sync",
    "ttl",
];

/// Keys that are shares.
const SHARES: [&str; 5] = ["errors", "hold_out", "rollout", "share", "shrink_max"];

/// What the text of a key says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    /// A length of time.
    Span,
    /// A share.
    Share,
    /// A size.
    Size,
}

/// Returns what the text of a dotted key says, where it is one of these.
pub fn value_form(key: &str) -> Option<ValueForm> {
    let name = key.rsplit('.').next().unwrap_or(key);
    // `[profiles] window` is a length of time, `health.window` a count, which is no text.
    if SPANS.contains(&name) || name.ends_with("timeout") || key == "profiles.window" {
        return Some(ValueForm::Span);
    }
    if SHARES.contains(&name) {
        return Some(ValueForm::Share);
    }
    let is_size = ["bytes", "bytes_max", "bytes_min"].iter().any(|end| name.ends_with(end));
    is_size.then_some(ValueForm::Size)
}

/// Returns how the value of a dotted key is written, for one who wrote a bare number.
pub(super) fn written(key: &str, number: &str) -> Option<String> {
    let value: f64 = number.parse().ok().filter(|value| *value >= 0.0)?;
    let is_whole = value.fract() == 0.0;
    match value_form(key)? {
        ValueForm::Span => {
            let span = if is_whole { format!("{value}s") } else { format!("{}ms", value * 1000.0) };
            Some(format!("a length of time, such as \"{span}\""))
        }
        ValueForm::Share => {
            let percent = if is_whole { value } else { value * 100.0 };
            (percent <= 100.0).then(|| format!("a share, such as \"{percent}%\""))
        }
        ValueForm::Size => Some(format!("a size, such as \"{number}B\" or \"64MB\"")),
    }
}
