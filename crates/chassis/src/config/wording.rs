//! Rewords the errors of serde in the terms of an operator, and words those about unknown keys.
//!
//! Invariant: no error is lost. A message in an unknown form passes unchanged, so a new version of
//! serde or `toml` can only make the wording worse. An unknown key gets its new name (`renamed`),
//! else the nearest one (`nearest`), else the list of all. Never here: lines and keys of errors
//! (`chassis::config`).

use super::nearest::nearest;
use super::renamed::new_name;

/// Returns the message of a serde error, reworded.
pub(super) fn plain(message: &str) -> String {
    unknown_key(message).or_else(|| unfit(message)).unwrap_or_else(|| message.to_owned())
}

/// Returns the message about a `kind` (section or key) whose `name` is not in `known`.
pub(super) fn unknown(kind: &str, name: &str, known: &[&str]) -> String {
    match (new_name(name, known), nearest(name, known)) {
        (Some(new), _) => format!("the {kind} is called `{new}` now"),
        (None, Some(near)) => format!("unknown {kind}; did you mean `{near}`?"),
        (None, None) => format!("unknown {kind}; there are {}", known.join(", ")),
    }
}

/// "unknown field `cach`, expected one of `name`, `cache`".
fn unknown_key(message: &str) -> Option<String> {
    let (name, known) = message.strip_prefix("unknown field `")?.split_once("`, expected ")?;
    let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
    Some(unknown("key", name, &known))
}

/// "invalid type: integer `60`, expected a string".
fn unfit(message: &str) -> Option<String> {
    let (kind, rest) = message.split_once(": ")?;
    if !matches!(kind, "invalid type" | "invalid value") {
        return None;
    }
    let (given, wanted) = rest.rsplit_once(", expected ")?;
    Some(format!("found {}, expected {}", found(given), expected(wanted, kind == "invalid value")))
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
