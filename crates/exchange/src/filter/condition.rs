//! Evaluates a parsed filter: a tree of conditions over the fields of an exchange.
//!
//! Invariant: a comparison, search or list is false for an absent field. Only `Not` makes that
//! true, which is how `filter/parser.rs` writes `!=` and `!~`.
//! A text literal is compared with the bytes of a value, and a number with its value as a double.
//! Text that is no number has no order to a number, so all its comparisons are false.
//! Evaluation parses no names and compiles nothing. It allocates where a number is compared as
//! text, and where a field has to be made up, such as `id`.
//! Its depth is the tree's, which the parser bounds; each `Filter::and` adds one.

use std::borrow::Cow;

use regex::bytes::Regex;

use crate::field::{FieldName, FieldValue, Fields};

/// A condition on the fields of an exchange.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    Always(bool),
    Both(Vec<Condition>),
    Either(Vec<Condition>),
    Not(Box<Condition>),
    Exists(FieldName),
    Compare(FieldName, Relation, Literal),
    In(FieldName, Vec<Literal>),
    Search(FieldName, Regex),
}

/// How a field is compared with a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    Equal,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

/// What a field is compared with.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    Text(Box<[u8]>),
    Number(f64),
}

impl Condition {
    /// Whether `fields` satisfy it.
    pub(super) fn matches(&self, fields: &impl Fields) -> bool {
        match self {
            Self::Always(answer) => *answer,
            Self::Both(conditions) => conditions.iter().all(|condition| condition.matches(fields)),
            Self::Either(conditions) => {
                conditions.iter().any(|condition| condition.matches(fields))
            }
            Self::Not(condition) => !condition.matches(fields),
            Self::Exists(name) => fields.field(name).is_some(),
            Self::Compare(name, relation, literal) => {
                fields.field(name).is_some_and(|value| relation.holds(&value, literal))
            }
            Self::In(name, literals) => fields.field(name).is_some_and(|value| {
                literals.iter().any(|literal| Relation::Equal.holds(&value, literal))
            }),
            Self::Search(name, regex) => {
                fields.field(name).is_some_and(|value| regex.is_match(&as_text(&value)))
            }
        }
    }
}

impl Relation {
    fn holds(self, value: &FieldValue<'_>, literal: &Literal) -> bool {
        let order = match literal {
            Literal::Text(text) => Some(as_text(value).as_ref().cmp(text)),
            Literal::Number(number) => as_number(value).and_then(|value| value.partial_cmp(number)),
        };
        order.is_some_and(|order| match self {
            Self::Equal => order.is_eq(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::More => order.is_gt(),
            Self::MoreOrEqual => order.is_ge(),
        })
    }
}

fn as_text<'a>(value: &'a FieldValue<'_>) -> Cow<'a, [u8]> {
    match value {
        FieldValue::Text(text) => Cow::Borrowed(text),
        number => Cow::Owned(number.to_string().into_bytes()),
    }
}

fn as_number(value: &FieldValue<'_>) -> Option<f64> {
    match value {
        FieldValue::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        FieldValue::Integer(number) => Some(*number as f64),
        FieldValue::Real(number) => Some(*number),
    }
}
