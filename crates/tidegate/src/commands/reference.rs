//! Prints the annotated reference of the configuration, from the JSON schema of `Config`.
//!
//! Its texts are the doc comments of the `Config` types of all crates, the defaults that they name
//! included. To change a text, change the comment.
//! Invariant: every key of the schema is printed, nested ones by their path. Each line with a key
//! is TOML where it stands, once it is uncommented. So a key of the tables of a list is written as
//! a list of one. Keys of no section come first, as TOML wants them. A section that may be
//! several tables comes once for each. Texts are broken at 96 columns, keys are not.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::config::Config;

const WIDTH: usize = 96;

/// Every section with every key, each explained.
pub(super) fn text() -> String {
    let schema = schemars::schema_for!(Config).to_value();
    let empty = Map::new();
    let definitions = schema["$defs"].as_object().unwrap_or(&empty);
    let mut out = String::from(
        "# Every key of tidegate.toml. All are optional but names, paths and targets.\n\
         # Lengths of time: 20ms, 1s, 5m, 6h, 14d. Sizes: 64KB, 256MB, 20GB. Shares: 5%.\n",
    );
    let all = schema["properties"].as_object().unwrap_or(&empty);
    let (sections, keys_at_top): (Vec<_>, Vec<_>) = all.iter().partition(|(_, value)| {
        let is_table = |value: &Value| kinds(value, definitions)[0]["properties"].is_object();
        value["type"] == "array" || is_table(resolve(value, definitions))
    });
    for (name, key) in keys_at_top {
        let text = comment(description(key, key));
        let _ = write!(out, "\n{text}# {}\n", assignment(name, placeholder(key, definitions)));
    }
    for (name, section) in sections {
        let is_list = section["type"] == "array";
        let table = resolve(if is_list { &section["items"] } else { section }, definitions);
        let heading = if is_list { format!("[[{name}]]") } else { format!("[{name}]") };
        let kinds = kinds(table, definitions);
        for kind in &kinds {
            let text =
                if kinds.len() > 1 { description(kind, kind) } else { description(section, kind) };
            let _ = write!(out, "\n{}{heading}\n", comment(text));
            keys(&mut out, kind, definitions, "");
        }
    }
    out
}

/// The tables that a section may be: itself, or one of several.
fn kinds<'v>(table: &'v Value, definitions: &'v Map<String, Value>) -> Vec<&'v Value> {
    match table["anyOf"].as_array() {
        Some(choices) => choices.iter().map(|choice| resolve(choice, definitions)).collect(),
        None => vec![table],
    }
}

fn keys(out: &mut String, table: &Value, definitions: &Map<String, Value>, prefix: &str) {
    let Some(properties) = table["properties"].as_object() else { return };
    for (name, property) in properties {
        let target = resolve(property, definitions);
        let text = description(property, target);
        let line = assignment(&format!("{prefix}{name}"), placeholder(target, definitions));
        let _ = writeln!(out, "{}# {line}", comment(text));
        nested(out, target, definitions, &format!("{prefix}{name}"));
    }
}

/// The keys of a value: of the table that it is or may be, or of the tables that it lists.
fn nested(out: &mut String, value: &Value, definitions: &Map<String, Value>, path: &str) {
    if value["type"] == "array" || value["type"][0] == "array" {
        let item = resolve(&value["items"], definitions);
        return keys(out, item, definitions, &format!("{path}[]."));
    }
    keys(out, value, definitions, &format!("{path}."));
    for choice in value["anyOf"].as_array().into_iter().flatten() {
        nested(out, resolve(choice, definitions), definitions, path);
    }
}

fn description<'v>(property: &'v Value, target: &'v Value) -> &'v str {
    property["description"].as_str().or_else(|| target["description"].as_str()).unwrap_or("")
}

/// Follows a reference, and takes the type out of an optional one.
fn resolve<'v>(value: &'v Value, definitions: &'v Map<String, Value>) -> &'v Value {
    if let Some(name) = value["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return definitions.get(name).unwrap_or(value);
    }
    let choices = value["anyOf"].as_array();
    let inner = choices.and_then(|list| list.iter().find(|choice| choice["type"] != "null"));
    inner.map_or(value, |inner| resolve(inner, definitions))
}

/// A line that sets a key; `[]` in its path stands for the only table of a list.
fn assignment(path: &str, value: &str) -> String {
    match path.split_once("[].") {
        Some((list, key)) => format!("{list} = [{{ {} }}]", assignment(key, value)),
        None => format!("{path} = {value}"),
    }
}

/// A value of the kind that a key has, the first of several.
fn placeholder<'v>(target: &'v Value, definitions: &'v Map<String, Value>) -> &'static str {
    let choices = ["anyOf", "oneOf"].iter().find_map(|list| target[list].as_array());
    if let Some(first) = choices.and_then(|list| list.iter().find(|one| one["type"] != "null")) {
        return placeholder(resolve(first, definitions), definitions);
    }
    let kind = match &target["type"] {
        Value::Array(kinds) => kinds.iter().find_map(|k| k.as_str().filter(|k| *k != "null")),
        kind => kind.as_str(),
    };
    match kind {
        Some("string") => "\"…\"",
        Some("integer" | "number") => "0",
        Some("boolean") => "false",
        Some("array") => "[]",
        Some("object") => "{}",
        _ => "\"…\"",
    }
}

fn comment(text: &str) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.len() + word.len() + 3 > WIDTH {
            let _ = writeln!(lines, "#{line}");
            line.clear();
        }
        let _ = write!(line, " {word}");
    }
    if !line.is_empty() {
        let _ = writeln!(lines, "#{line}");
    }
    lines
}

#[cfg(test)]
mod tests;
