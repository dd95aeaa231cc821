//! Checks sections `[[field]]`, and finds fields by name: those of every line, and those defined.
//!
//! Invariant: every mistake is reported with its key, all of a section at once. A name that lines
//! or buckets have already, or that two sections share, is a mistake. A rule with mistakes may
//! still be added, so that later sections find it; the caller must not use the plan then.
//! A section may build only on those before it. Patterns compile to at most 256 KiB.
//! Never here: reading a value out of a line (`decode::define`).

use std::sync::Arc;

use exchange::{DefinedField, DefinedKind, FieldName, Filter, UnknownField};
use regex::bytes::RegexBuilder;

use crate::config::FieldConfig;
use crate::decode::FieldRule;
use crate::rollup::{bucket, column_name};

const PATTERN_BYTES_MAX: usize = 256 << 10;

/// Finds a field of this name.
///
/// # Errors
/// When neither lines have it nor a rule defines it.
pub(crate) fn resolve(name: &str, rules: &[FieldRule]) -> Result<FieldName, UnknownField> {
    match rules.iter().find(|rule| *rule.field.name == *name) {
        Some(rule) => Ok(FieldName::Defined((*rule.field).clone())),
        None => name.parse().map_err(|error| UnknownField { may_be_defined: true, ..error }),
    }
}

/// Checks the section number `at`, and adds what it means to `rules`.
pub(crate) fn check(
    config: &FieldConfig,
    at: usize,
    sources: Vec<&str>,
    rules: &mut Vec<FieldRule>,
    wrong: &mut dyn FnMut(&str, String),
) {
    let mut wrong = |key: &str, reason: String| wrong(&format!("field[{at}].{key}"), reason);
    let name = config.name.clone().unwrap_or_default();
    if name.is_empty() || column_name(&name) != name {
        wrong("name", "name the field: letters, digits and underscores".into());
    } else if rules.iter().any(|rule| *rule.field.name == *name) {
        wrong("name", format!("there is another field `{name}`"));
    } else if name.parse::<FieldName>().is_ok() || bucket(&name).is_some() {
        wrong("name", format!("`{name}` has a meaning already"));
    }
    for source in config.source.iter().filter(|name| !sources.contains(&name.as_str())) {
        wrong("source", format!("there is no source `{source}`"));
    }
    let from = match config.from.as_deref().map(|from| resolve(from, rules)) {
        Some(from) => from.map_err(|error| wrong("from", error.to_string())).ok(),
        None => {
            wrong("from", "name the field that holds it, such as `query.item`".into());
            None
        }
    };
    let kind = match config.kind.as_deref() {
        None | Some("text") => DefinedKind::Text,
        Some("integer") => DefinedKind::Integer,
        Some("real") => DefinedKind::Real,
        Some(other) => {
            wrong("type", format!("`{other}` is none of text, integer, real"));
            DefinedKind::Text
        }
    };
    let pattern = config.pattern.as_deref().and_then(|text| {
        let pattern = RegexBuilder::new(text).size_limit(PATTERN_BYTES_MAX).build();
        pattern.map_err(|error| wrong("match", format!("`{text}`: {}", reason(&error)))).ok()
    });
    let filter = config.filter.as_deref().and_then(|text| {
        let filter = Filter::parse_with(text, &|name| resolve(name, rules));
        filter.map_err(|error| wrong("where", error.to_string())).ok()
    });
    let Some(from) = from else { return };
    rules.push(FieldRule {
        field: Arc::new(DefinedField { name: name.into(), kind }),
        sources: config.source.clone(),
        from,
        pattern,
        filter,
        required: config.required,
    });
}

/// The engine draws a picture over several lines; its last line says what is wrong.
fn reason(error: &regex::Error) -> String {
    let error = error.to_string();
    error.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests;
