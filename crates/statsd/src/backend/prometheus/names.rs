//! Turns statsd's names into Prometheus' alphabet (its documentation, "Data model").
//!
//! Whatever is not a letter or digit of ASCII becomes `_`. An empty name, or one with a leading
//! digit, gets a `_` before it. Label names may not begin with `__`, which is Prometheus' own. `le`
//! and `quantile` mean something else there and become `tag_le` and `tag_quantile`. Values of
//! labels are only escaped.
//! Invariant: labels come sorted and each once, so one set of tags has one text. Only values of a
//! tag that is there twice keep their order. `series.rs` finds series by this text, and decides
//! where different names become one.
//! `munin.rs` names its fields by a hash of the same text, and Munin keeps history by these names.
//! So another order or escape ends that history. `munin/page.rs` reads the escapes.

use std::fmt::Write as _;

use super::super::tags;

/// Returns the name of a family without the end that its kind asks for, and its labels.
///
/// Labels are as they are written, `a="b",c="d"`, in the order of their names.
pub(super) fn of(name: &str) -> (String, String) {
    let (key, mut tags) = tags::merged(name, label);
    tags.sort_by(|one, other| one.0.cmp(&other.0));
    let mut labels = String::new();
    for (name, value) in &tags {
        let comma = if labels.is_empty() { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(labels, "{comma}{name}=\"{}\"", escaped(value));
    }
    (legal(key), labels)
}

/// A value of a label as it is written.
pub(super) fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn label(tag: &str) -> String {
    let legal = legal(tag);
    match legal.as_str() {
        "le" | "quantile" => format!("tag_{legal}"),
        _ if legal.starts_with("__") => format!("_{}", legal.trim_start_matches('_')),
        _ => legal,
    }
}

fn legal(name: &str) -> String {
    let mut legal = String::with_capacity(name.len() + 1);
    if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
        legal.push('_');
    }
    legal.extend(name.chars().map(|l| if l.is_ascii_alphanumeric() { l } else { '_' }));
    legal
}
