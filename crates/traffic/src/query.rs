//! Defines queries in Varnish's query language (vsl-query(7)), and runs them on groups.
//!
//! ```text
//! queries = query { NEWLINE query }                  any of them
//! query   = both { "or" both }
//! both    = one { "and" one }
//! one     = "not" one | "(" query ")" | "vxid" NUMBERS | test
//! test    = ["{" LEVEL ["+" | "-"] "}"] TAGS [":" PREFIX] ["[" FIELD "]"] [operator operand]
//! ```
//!
//! A test holds if a record of the group satisfies it, also with `!=`, `ne` and `!~`. A whole
//! number is compared with the whole part of a record. `#` begins a comment, `\` at an end joins
//! lines. For sources without records [`Query::filter`] says the same as a filter of `exchange`.
//! Differs from Varnish: tags are not abbreviated, and patterns are those of the crate `regex`,
//! which take linear time and know neither lookaround nor backreferences.
//! Bounds, each an error: 4,096 bytes, 64 levels, 256 KiB for a compiled pattern.

mod condition;
mod filter;
mod lexer;
mod parser;

pub use condition::{QueryError, QueryOptions};
pub(crate) use filter::quoted;
pub(crate) use parser::pattern_of;

use exchange::Filter;

use crate::assembly::{Grouping, TransactionGroup};
use crate::tag::TagSet;
use condition::{Bound, Condition};

/// A parsed query.
#[derive(Debug, Clone)]
pub struct Query {
    text: String,
    root: Condition,
}

impl Query {
    /// Parses queries, one a line.
    ///
    /// # Errors
    /// The first place that the grammar, a tag or a pattern rules out.
    pub fn parse(text: &str, options: QueryOptions) -> Result<Self, QueryError> {
        Ok(Self { text: text.to_owned(), root: parser::parse(text, options)? })
    }

    /// Returns the text that it was parsed from.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the query in the filter language of `exchange`, for sources without records.
    ///
    /// # Errors
    /// `NoRecords` when a test asks for what only Varnish's log has.
    pub fn filter(&self) -> Result<Filter, QueryError> {
        Ok(Filter::parse(&filter::text(&self.root)?)?)
    }

    /// Returns the grouping that the query needs: only groups of requests have fetches in them.
    pub fn grouping(&self) -> Grouping {
        let needs_more = self.root.any(&mut |test| {
            let below =
                test.level.is_some_and(|(bound, level)| level > 1 && bound != Bound::AtMost);
            below || test.tags.iter().all(|tag| tag.is_of_backend())
        });
        if needs_more { Grouping::Request } else { Grouping::Vxid }
    }

    /// The tags that it asks for.
    pub(crate) fn tags(&self) -> TagSet {
        let mut tags = TagSet::default();
        self.root.any(&mut |test| {
            tags = tags.union(test.tags);
            false
        });
        tags
    }

    /// Whether a group satisfies it.
    pub(crate) fn matches(&self, group: TransactionGroup<'_>) -> bool {
        self.root.matches(group)
    }
}

#[cfg(test)]
mod tests;
