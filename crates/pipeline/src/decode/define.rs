//! Adds the fields that a configuration defines over others (`[[field]]`): extraction by a pattern,
//! a type, and validation.
//!
//! Invariant: a line that passes the rule's filter and lacks its required field is refused, with
//! the field's name. A field that is not required, and is missing, does not match or is no number,
//! is absent. Rules are followed in their order; each may build on those before it.
//! A negative whole number stays text, because fields hold unsigned ones.
//! `recount/src/plain.rs` follows the same rules by code of its own. Which rules a source has,
//! `Plan::fields_of` decides. Never here: reading and checking the section (`fields`).

use std::borrow::Cow;
use std::sync::Arc;

use exchange::{DefinedField, DefinedKind, FieldName, FieldValue, Fields, Filter};
use regex::bytes::Regex;

use super::event::{DefinedValue, Event};
use super::number::real;
use crate::error::LineError;

/// A field as meant.
#[derive(Debug, Clone)]
pub struct FieldRule {
    /// Its name and type.
    pub field: Arc<DefinedField>,
    /// Sources whose lines have it; none: all.
    pub sources: Vec<String>,
    /// Where its text comes from.
    pub from: FieldName,
    /// What the text must look like; the first group, if there is one, is the value.
    pub pattern: Option<Regex>,
    /// Lines that the field is meant for; none: all.
    pub filter: Option<Filter>,
    /// A line that it is meant for and that lacks it is refused.
    pub required: bool,
}

/// Adds the values of `rules` to an event, in their order: each may build on those before it.
///
/// # Errors
/// The first required field that the event lacks.
pub(super) fn define(rules: &[FieldRule], event: &mut Event<'_>) -> Result<(), LineError> {
    event.defined.clear();
    for rule in rules {
        if rule.filter.as_ref().is_some_and(|filter| !filter.matches(event)) {
            continue;
        }
        let found = rule.find(event);
        if let (Err(problem), true) = (&found, rule.required) {
            return Err(LineError::Field { name: rule.field.name.to_string(), problem });
        }
        event.defined.push(DefinedValue { field: Arc::clone(&rule.field), value: found.ok() });
    }
    Ok(())
}

impl FieldRule {
    fn find<'l>(&self, event: &Event<'l>) -> Result<FieldValue<'l>, &'static str> {
        let text = match &self.from {
            FieldName::Defined(_) => event.field(&self.from).map(owned),
            other => event.value(other),
        };
        let text = match text.ok_or("is missing")? {
            FieldValue::Text(text) => text,
            number => Cow::Owned(number.to_string().into_bytes()),
        };
        let text = match &self.pattern {
            None => text,
            Some(pattern) => matched(pattern, text).ok_or("does not match")?,
        };
        match self.field.kind {
            DefinedKind::Text => Ok(FieldValue::Text(text)),
            DefinedKind::Integer => integer(text).ok_or("is no whole number"),
            DefinedKind::Real => real(&text).map(FieldValue::Real).ok_or("is no number"),
        }
    }
}

fn owned<'l>(value: FieldValue<'_>) -> FieldValue<'l> {
    match value {
        FieldValue::Text(text) => FieldValue::Text(Cow::Owned(text.into_owned())),
        FieldValue::Integer(number) => FieldValue::Integer(number),
        FieldValue::Real(number) => FieldValue::Real(number),
    }
}

fn matched<'l>(pattern: &Regex, text: Cow<'l, [u8]>) -> Option<Cow<'l, [u8]>> {
    let range = match pattern.captures_len() {
        1 => pattern.find(&text)?.range(),
        _ => pattern.captures(&text)?.get(1)?.range(),
    };
    Some(match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[range]),
        Cow::Owned(text) => Cow::Owned(text[range].to_vec()),
    })
}

fn integer(text: Cow<'_, [u8]>) -> Option<FieldValue<'_>> {
    let number: i64 = std::str::from_utf8(&text).ok()?.parse().ok()?;
    Some(match u64::try_from(number) {
        Ok(number) => FieldValue::Integer(number),
        Err(_) => FieldValue::Text(text),
    })
}

#[cfg(test)]
mod tests;
