//! Defines the filter language over the fields of an exchange, and runs a parsed filter.
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
//! In text, `\` before a quote or another `\` stands for that character and otherwise for itself.
//! So `\d` needs no doubling in a regular expression; a literal backslash is `\\\\` there.
//! Durations (`20ms`, `1.5s`, `5m`) are for fields that measure time and are required there, but
//! for 0. Sizes (`10KB`, `1MiB`) are numbers. `time` is compared with an RFC 3339 time in quotes.
//! A field's text is compared with a number by reading it as one, and is unlike every number where
//! it is none. Every comparison with an absent field is false, but for `!=` and `!~`, which are the
//! negations of `==` and `~`.
//! Bounds: a text over 4096 bytes or deeper than 64 levels, or a pattern over 256 KiB compiled, is
//! an error. [`Filter::and`] may go beyond the first two. Regular expressions run in linear time.
//! `filter/lexer.rs` splits, `filter/parser.rs` resolves names and compiles patterns,
//! `filter/condition.rs` evaluates. Configurations hold filters, so what parses today must keep its
//! meaning. Changes also go into docs/operating/filters.md.
//! [`Filter::as_str`] is part of cache keys, also of those on disk (`gateway/src/key.rs`): it stays
//! the text as written. `pipeline` and `recount` filter by the same code, so `events verify` sees
//! no mistake made here.

mod condition;
mod lexer;
mod parser;

use crate::field::Fields;
use condition::Condition;
pub use parser::{FilterError, Resolve};

/// A parsed filter.
#[derive(Debug, Clone)]
pub struct Filter {
    root: Condition,
    text: Box<str>,
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
        Self { root: Condition::Both(vec![self.root, other.root]), text }
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

#[cfg(test)]
mod tests;
