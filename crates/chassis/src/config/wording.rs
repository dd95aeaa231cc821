//! Rewords the errors of serde and of `toml` in the terms of an operator, and words those about
//! unknown keys.
//!
//! Invariant: no error is lost. A message in an unknown form passes unchanged, so a new version of
//! serde or `toml` can only make the wording worse. An unknown key gets its new name (`renamed`),
//! else the nearest one (`nearest`), else the list of all. A bare number gets its unit (`units`). A
//! key of a Rust type that `expected` does not know is worded as serde does. Never here: lines and
//! keys of errors (`chassis::config`).

use super::nearest::nearest;
use super::renamed::{name_here, new_name};
use super::units::written;

/// Returns the message of a serde error about a dotted key, reworded.
pub(super) fn plain(message: &str, key: &str) -> String {
    unknown_key(message).or_else(|| unfit(message, key)).unwrap_or_else(|| message.to_owned())
}

/// Returns the message of an error of syntax at a `name`, reworded; `is_heading` says that the name
/// is in a heading such as `[name]`.
pub(super) fn syntax(message: &str, name: &str, is_heading: bool) -> String {
    let (reason, wanted) = message.split_once(", expected ").unwrap_or((message, ""));
    match reason {
        "duplicate key" if is_heading => format!("the section `{name}` is there twice"),
        "duplicate key" => format!("the key `{name}` is there twice"),
        "string values must be quoted" if name.is_empty() => "the value is missing".to_owned(),
        "string values must be quoted" => without_quotes(name),
        _ if wanted == "nothing" => reason.to_owned(),
        _ => message.to_owned(),
    }
}

/// What is said of text whose quotes do not end.
pub(super) const UNENDED: &str =
    "a text does not end on its line; write the missing quote, then check again";

/// Whether an error of syntax in this line is about text whose quotes do not end. In a table or a
/// list, the parser may miss the end of that instead.
pub(super) fn is_of_unended_text(message: &str, line: &str) -> bool {
    let is_odd = |quote: &str| line.matches(quote).count() % 2 == 1;
    let is_text = ["invalid basic string", "invalid literal string"];
    let misses = message.starts_with("unclosed") && (is_odd("\"") || is_odd("'"));
    misses || is_text.iter().any(|text| message.starts_with(text))
}

/// Returns the message about text without quotes.
pub(super) fn without_quotes(text: &str) -> String {
    format!("write text in quotes: \"{text}\"")
}

/// Returns the message about a `kind` (section or key) whose `name` is not in `known`.
pub(super) fn unknown(kind: &str, name: &str, known: &[&str]) -> String {
    if let Some(new) = new_name(name, known) {
        return format!("the {kind} is called `{new}` now");
    }
    match name_here(name, known).or_else(|| nearest(name, known)) {
        Some(near) => format!("unknown {kind}; did you mean `{near}`?"),
        None => format!("unknown {kind}; {}", there_is(known)),
    }
}

/// Returns what there is, in one clause.
pub fn there_is(known: &[&str]) -> String {
    match known {
        [] => "there are none".to_owned(),
        [only] => format!("there is only {only}"),
        several => format!("there are {}", several.join(", ")),
    }
}

/// Returns the message about a name at the top level, which has keys and sections.
pub(super) fn unknown_at_top(
    name: &str,
    is_section: bool,
    keys: &[&str],
    sections: &[&str],
) -> String {
    let kind = if is_section { "section" } else { "key" };
    let all = [keys, sections].concat();
    if new_name(name, &all).or_else(|| nearest(name, &all)).is_some() {
        return unknown(kind, name, &all);
    }
    let keys = if keys.is_empty() { String::new() } else { format!("; keys: {}", keys.join(", ")) };
    format!("unknown {kind}; there are the sections {}{keys}", sections.join(", "))
}

/// "unknown field `cach`, expected one of `name`, `cache`".
fn unknown_key(message: &str) -> Option<String> {
    let (name, known) = message.strip_prefix("unknown field `")?.split_once("`, expected ")?;
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    Some(unknown("key", name, &known))
}

/// "invalid type: integer `60`, expected a string".
fn unfit(message: &str, key: &str) -> Option<String> {
    let (kind, rest) = message.split_once(": ")?;
    if !matches!(kind, "invalid type" | "invalid value") {
        return None;
    }
    let (given, wanted) = rest.rsplit_once(", expected ")?;
    let wanted =
        with_unit(given, wanted, key).unwrap_or_else(|| expected(wanted, kind == "invalid value"));
    Some(format!("found {}, expected {wanted}", found(given)))
}

/// "integer `60`" where text is wanted.
fn with_unit(given: &str, wanted: &str, key: &str) -> Option<String> {
    let number = given.strip_prefix("integer `").or_else(|| given.strip_prefix("floating point `"));
    let number = number?.strip_suffix('`').filter(|_| wanted == "a string")?;
    written(key, number)
}

fn found(given: &str) -> String {
    if let Some(text) = given.strip_prefix("string ") {
        return format!("the text {text}");
    }
    match given.split_once(' ') {
        Some(("integer", number)) => format!("the number {number}"),
        Some(("floating", rest)) => format!("the number {}", rest.trim_start_matches("point ")),
        Some(("boolean", value)) => value.to_owned(),
        _ if given == "sequence" => "a list".to_owned(),
        _ if given == "map" => "a table".to_owned(),
        _ => given.to_owned(),
    }
}

fn expected(wanted: &str, is_out_of_range: bool) -> String {
    let bound = match wanted {
        "usize" | "u64" => Some("of 0 or more".to_owned()),
        "u32" => Some(format!("from 0 to {}", u32::MAX)),
        "u16" => Some(format!("from 0 to {}", u16::MAX)),
        "u8" => Some(format!("from 0 to {}", u8::MAX)),
        _ => None,
    };
    match (bound, wanted) {
        (Some(bound), _) if is_out_of_range => format!("a whole number {bound}"),
        (Some(_), _) => "a whole number".to_owned(),
        (None, "f64") => "a number".to_owned(),
        (None, "a string") => "text in quotes".to_owned(),
        (None, "a boolean") => "true or false".to_owned(),
        (None, "a sequence") => "a list such as `[ … ]`".to_owned(),
        (None, _) if wanted == "a map" || wanted.starts_with("struct ") => {
            "a table such as `{ … }`".to_owned()
        }
        (None, _) => wanted.to_owned(),
    }
}
