//! The filter language over the fields of an exchange.
//!
//! ```text
//! filter     = either
//! either     = both { "or" both }
//! both       = unary { "and" unary }
//! unary      = "not" unary | "(" either ")" | "true" | "false" | comparison
//! comparison = FIELD                                  the field exists
//!            | FIELD ("==" | "!=" | "<" | "<=" | ">" | ">=") literal
//!            | FIELD ("~" | "!~") TEXT                a regular expression, searched anywhere
//!            | FIELD "in" "[" literal { "," literal } "]"
//! literal    = 'text' | "text" | NUMBER | DURATION | SIZE
//! ```
//!
//! `not` binds tighter than `and`, `and` tighter than `or`; `not a == b` is `not (a == b)`.
//! In text, `\` before a quote or another `\` stands for that character and otherwise for
//! itself, so that regular expressions need no doubling. Durations (`20ms`, `1.5s`, `5m`) are for
//! fields that measure time and are required there; sizes (`10KB`, `1MiB`) are numbers.
//! Text of a field is compared with a number by reading it as one. Every comparison with an
//! absent field is false, but for `!=` and `!~`, which are the negations of `==` and `~`.
//!
//! Field names are resolved and expressions compiled when the filter is parsed; evaluation
//! compares no names. The regex engine runs in linear time, patterns are capped at 256 KB
//! compiled, filters at 64 levels and 4096 bytes.

mod lexer;
mod parser;

use std::borrow::Cow;

use regex::bytes::Regex;

use crate::field::{FieldName, Fields, UnknownField, Value};

/// A parsed filter.
#[derive(Debug, Clone)]
pub struct Filter {
    root: Node,
    text: Box<str>,
}

/// Finds the field of a name.
pub type Resolve<'r> = dyn Fn(&str) -> Result<FieldName, UnknownField> + 'r;

/// A text that is no filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("filter, column {column}: {message}")]
pub struct FilterError {
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong there, and what would be right.
    pub message: String,
}

impl Filter {
    /// Parses a filter.
    ///
    /// # Errors
    /// The first place that the grammar, a field name, a type or a regular expression rules out.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        Self::parse_with(text, &|name| name.parse())
    }

    /// Parses a filter over fields that `resolve` knows, which may be more than the usual ones.
    ///
    /// # Errors
    /// As of [`Filter::parse`].
    pub fn parse_with(text: &str, resolve: &Resolve<'_>) -> Result<Self, FilterError> {
        Ok(Self { root: parser::parse(text, resolve)?, text: text.into() })
    }

    /// Returns the filter that is satisfied where both are.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let text = format!("({}) and ({})", self.text, other.text).into();
        Self { root: Node::Both(vec![self.root, other.root]), text }
    }

    /// Returns whether `fields` satisfy the filter.
    #[must_use]
    pub fn matches(&self, fields: &impl Fields) -> bool {
        self.root.matches(fields)
    }

    /// Returns the filter as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[derive(Debug, Clone)]
enum Node {
    Always(bool),
    Both(Vec<Node>),
    Either(Vec<Node>),
    Not(Box<Node>),
    Exists(FieldName),
    Compare(FieldName, Relation, Literal),
    In(FieldName, Vec<Literal>),
    Search(FieldName, Regex),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Equal,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

#[derive(Debug, Clone, PartialEq)]
enum Literal {
    Text(Box<[u8]>),
    Number(f64),
}

impl Node {
    fn matches(&self, fields: &impl Fields) -> bool {
        match self {
            Self::Always(answer) => *answer,
            Self::Both(nodes) => nodes.iter().all(|node| node.matches(fields)),
            Self::Either(nodes) => nodes.iter().any(|node| node.matches(fields)),
            Self::Not(node) => !node.matches(fields),
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
    fn holds(self, value: &Value<'_>, literal: &Literal) -> bool {
        let order = match literal {
            Literal::Text(text) => Some(as_text(value).as_ref().cmp(text)),
            Literal::Number(number) => as_number(value).and_then(|own| own.partial_cmp(number)),
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

fn as_text<'a>(value: &'a Value<'_>) -> Cow<'a, [u8]> {
    match value {
        Value::Text(text) => Cow::Borrowed(text),
        number => Cow::Owned(number.to_string().into_bytes()),
    }
}

fn as_number(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Text(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        Value::Integer(number) => Some(*number as f64),
        Value::Real(number) => Some(*number),
    }
}

#[cfg(test)]
mod tests;
