//! Knows every key of the configuration by the JSON schema of `Config`, and prints the reference.
//!
//! Its texts are the doc comments of the `Config` types of all crates, the defaults that they name
//! included. To change a text, change the comment. `commands/explain/key.rs` shows one key.
//! Invariant: every key of the schema is here, nested ones by their path. Each line with a key is
//! TOML where it stands, once it is uncommented. So a key of the tables of a list is written as a
//! list of one. Keys of no section come first, as TOML wants them. A section that may be several
//! tables comes once for each. Texts are broken at 80 columns, keys are not.

use std::fmt::Write as _;

use anyhow::{Result, anyhow, bail};
use serde_json::{Map, Value};

use crate::config::Config;

const WIDTH: usize = 80;

/// A section; the keys of no section have one without a name.
#[derive(Debug)]
pub(super) struct ReferenceSection {
    /// Its name.
    pub name: String,
    /// Its name as it stands above its keys, such as `[[route]]`.
    pub heading: String,
    /// What it is.
    pub text: String,
    /// Its keys, nested ones too.
    pub keys: Vec<ReferenceKey>,
}

/// A key of a section.
#[derive(Debug)]
pub(super) struct ReferenceKey {
    /// Its path in the section; `[]` follows the name of a list of tables.
    pub path: String,
    /// What it means, with its default.
    pub text: String,
    /// A value that stands for one of its type.
    pub stand_in: &'static str,
}

impl ReferenceKey {
    /// The line that gives it this value, below the heading of its section.
    pub(super) fn line(&self, value: &str) -> String {
        assignment(&self.path, value)
    }
}

/// Prints every key, those of a section or of a table in it, and of these those that name a word.
///
/// # Errors
/// When there is no such section, or no key names the word.
pub(super) fn text(section: Option<&str>, word: Option<&str>) -> Result<String> {
    let all = sections();
    let chosen = section.map(|section| chosen(&all, section)).transpose()?;
    let (name, table) = chosen.unwrap_or_default();
    let word = word.map(str::to_lowercase);
    let names_word = |text: &str| match &word {
        Some(word) => text.to_lowercase().contains(word),
        None => true,
    };
    let mut out = String::new();
    if section.is_none() && word.is_none() {
        out += "# Every key of tidegate.toml. All are optional but names, paths and targets.\n\
                # Lengths of time: 20ms, 1s, 5m, 6h, 14d. Sizes: 64KB, 256MB, 20GB. Shares: 5%.\n";
    }
    for found in all.iter().filter(|found| section.is_none() || found.name == name) {
        let is_wanted = |key: &&ReferenceKey| {
            is_below(&key.path, table) && (names_word(&key.path) || names_word(&key.text))
        };
        let keys: Vec<&ReferenceKey> = found.keys.iter().filter(is_wanted).collect();
        if keys.is_empty() && word.is_some() {
            continue;
        }
        if !found.heading.is_empty() {
            let _ = write!(out, "\n{}{}\n", comment(&found.text), found.heading);
        }
        for key in keys {
            let space = if found.heading.is_empty() { "\n" } else { "" };
            let _ = writeln!(out, "{space}{}# {}", comment(&key.text), key.line(key.stand_in));
        }
    }
    if out.is_empty() {
        bail!("no key here names `{}`", word.unwrap_or_default());
    }
    Ok(out.trim_start().to_owned())
}

/// The section that is meant, and the table in it.
fn chosen<'t>(all: &[ReferenceSection], text: &'t str) -> Result<(&'t str, &'t str)> {
    let bare = text.trim_matches(['[', ']']);
    let (name, table) = bare.split_once('.').unwrap_or((bare, ""));
    let Some(section) = all.iter().find(|section| section.name == name && !name.is_empty()) else {
        return Err(unknown_section(all, name));
    };
    if !section.keys.iter().any(|key| is_below(&key.path, table)) {
        bail!("[{name}] has no key `{table}`; `tidegate config reference {name}` lists them");
    }
    Ok((name, table))
}

/// Says which sections there are.
pub(super) fn unknown_section(all: &[ReferenceSection], name: &str) -> anyhow::Error {
    let mut known: Vec<&str> = all.iter().map(|section| section.name.as_str()).collect();
    known.retain(|name| !name.is_empty());
    known.dedup();
    let at_top = all.iter().filter(|section| section.name.is_empty());
    if at_top.flat_map(|section| &section.keys).any(|key| key.path == name) {
        return anyhow!("`{name}` is a key of no section; ask `tidegate config explain {name}`");
    }
    match chassis::config::nearest(name, &known) {
        Some(near) => anyhow!("there is no section `{name}`; did you mean `{near}`?"),
        None => anyhow!("there is no section `{name}`; {}", chassis::config::there_is(&known)),
    }
}

/// Whether a key is a table's own, or stands in it; every key stands in the table of no name.
fn is_below(path: &str, table: &str) -> bool {
    let Some(rest) = path.strip_prefix(table) else { return false };
    table.is_empty() || rest.is_empty() || rest.starts_with(['.', '['])
}

/// Every section with every key.
pub(super) fn sections() -> Vec<ReferenceSection> {
    let schema = schemars::schema_for!(Config).to_value();
    let empty = Map::new();
    let definitions = schema["$defs"].as_object().unwrap_or(&empty);
    let all = schema["properties"].as_object().unwrap_or(&empty);
    let (tables, at_top): (Vec<_>, Vec<_>) = all.iter().partition(|(_, value)| {
        let is_table = |value: &Value| kinds(value, definitions)[0]["properties"].is_object();
        value["type"] == "array" || is_table(resolve(value, definitions))
    });
    let at_top = at_top.into_iter().map(|(name, key)| ReferenceKey {
        path: name.clone(),
        text: description(key, key),
        stand_in: stand_in(key, definitions),
    });
    let (name, heading, text) = (String::new(), String::new(), String::new());
    let mut sections = vec![ReferenceSection { name, heading, text, keys: at_top.collect() }];
    for (name, section) in tables {
        let is_list = section["type"] == "array";
        let table = resolve(if is_list { &section["items"] } else { section }, definitions);
        let heading = if is_list { format!("[[{name}]]") } else { format!("[{name}]") };
        let kinds = kinds(table, definitions);
        for kind in &kinds {
            let of = if kinds.len() > 1 { kind } else { section };
            let mut keys = Vec::new();
            collect(&mut keys, kind, definitions, "");
            sections.push(ReferenceSection {
                name: name.clone(),
                heading: heading.clone(),
                text: description(of, kind),
                keys,
            });
        }
    }
    sections
}

/// The tables that a section may be: itself, or one of several.
fn kinds<'v>(table: &'v Value, definitions: &'v Map<String, Value>) -> Vec<&'v Value> {
    match table["anyOf"].as_array() {
        Some(choices) => choices.iter().map(|choice| resolve(choice, definitions)).collect(),
        None => vec![table],
    }
}

fn collect(
    keys: &mut Vec<ReferenceKey>,
    table: &Value,
    definitions: &Map<String, Value>,
    prefix: &str,
) {
    let Some(properties) = table["properties"].as_object() else { return };
    for (name, property) in properties {
        let target = resolve(property, definitions);
        let path = format!("{prefix}{name}");
        let text = description(property, target);
        keys.push(ReferenceKey {
            path: path.clone(),
            text,
            stand_in: stand_in(target, definitions),
        });
        nested(keys, target, definitions, &path);
    }
}

/// The keys of a value: of the table that it is or may be, or of the tables that it lists.
fn nested(
    keys: &mut Vec<ReferenceKey>,
    value: &Value,
    definitions: &Map<String, Value>,
    path: &str,
) {
    if value["type"] == "array" || value["type"][0] == "array" {
        let item = resolve(&value["items"], definitions);
        return collect(keys, item, definitions, &format!("{path}[]."));
    }
    collect(keys, value, definitions, &format!("{path}."));
    for choice in value["anyOf"].as_array().into_iter().flatten() {
        nested(keys, resolve(choice, definitions), definitions, path);
    }
}

fn description(property: &Value, target: &Value) -> String {
    let text = property["description"].as_str().or_else(|| target["description"].as_str());
    text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
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
fn stand_in<'v>(target: &'v Value, definitions: &'v Map<String, Value>) -> &'static str {
    let choices = ["anyOf", "oneOf"].iter().find_map(|list| target[list].as_array());
    if let Some(first) = choices.and_then(|list| list.iter().find(|one| one["type"] != "null")) {
        return stand_in(resolve(first, definitions), definitions);
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
