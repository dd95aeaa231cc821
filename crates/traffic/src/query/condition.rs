//! Defines what a query asks of records, and asks it.
//!
//! Plain data that `query/parser.rs` makes and `query/filter.rs` rewords. A test holds if a record
//! of the group satisfies it. A whole number is compared with the whole part of a record.
//! Never here: the grammar, and the filter language of `exchange`.

use exchange::FilterError;
use regex::bytes::Regex;

use crate::assembly::TransactionGroup;
use crate::seconds::{whole, words};
use crate::tag::TagSet;

/// The longest query, in bytes.
pub(crate) const BYTES_MAX: usize = 4096;

/// A text that is no query, or one that a source cannot answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The text is no query.
    #[error("query, line {line}, column {column}: {message}")]
    Unread {
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
        /// What is wrong there, and what would be right.
        message: String,
    },
    /// The source has no such records.
    #[error(
        "query: the source has no records of Varnish, and `{test}` has no other meaning; ask by \
         `--where`"
    )]
    NoRecords {
        /// What has no meaning there.
        test: String,
    },
    /// What it means in the filter language is no filter.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

/// Says how a query is meant.
#[derive(Debug, Clone, Copy, Default)]
pub struct QueryOptions {
    /// Whether upper and lower case are one in texts and patterns (`-C`).
    pub ignores_case: bool,
}

#[derive(Debug, Clone)]
pub(super) enum Condition {
    Either(Vec<Condition>),
    Both(Vec<Condition>),
    Not(Box<Condition>),
    Vxid(QueryRelation, i128),
    Test(Box<Test>),
}

/// What a record must be.
#[derive(Debug, Clone)]
pub(super) struct Test {
    pub(super) level: Option<(Bound, u32)>,
    pub(super) tags: TagSet,
    pub(super) prefix: Option<Box<[u8]>>,
    /// The place of the word, from 1.
    pub(super) field: Option<usize>,
    pub(super) wanted: Wanted,
    /// As it was written.
    pub(super) text: Box<str>,
}

#[derive(Debug, Clone)]
pub(super) enum Wanted {
    Any,
    Integer(QueryRelation, i128),
    Real(QueryRelation, f64),
    Text { is_equal: bool, text: Box<[u8]>, ignores_case: bool },
    Pattern { is_match: bool, pattern: Regex },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Exactly,
    AtLeast,
    AtMost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryRelation {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

impl Condition {
    pub(super) fn matches(&self, group: TransactionGroup<'_>) -> bool {
        match self {
            Self::Either(conditions) => conditions.iter().any(|one| one.matches(group)),
            Self::Both(conditions) => conditions.iter().all(|one| one.matches(group)),
            Self::Not(condition) => !condition.matches(group),
            Self::Vxid(relation, number) => {
                group.iter().any(|one| relation.holds(i128::from(one.vxid).cmp(number)))
            }
            Self::Test(test) => group.iter().any(|transaction| {
                let is_at = test.level.is_none_or(|(bound, level)| match bound {
                    Bound::Exactly => transaction.level == level,
                    Bound::AtLeast => transaction.level >= level,
                    Bound::AtMost => transaction.level <= level,
                });
                is_at
                    && transaction
                        .records()
                        .any(|(tag, data)| test.tags.contains(tag) && test.holds(data))
            }),
        }
    }

    /// Whether `found` says so of any test.
    pub(super) fn any(&self, found: &mut impl FnMut(&Test) -> bool) -> bool {
        match self {
            Self::Either(conditions) | Self::Both(conditions) => {
                conditions.iter().any(|one| one.any(found))
            }
            Self::Not(condition) => condition.any(found),
            Self::Vxid(..) => false,
            Self::Test(test) => found(test),
        }
    }
}

impl Test {
    fn holds(&self, data: &[u8]) -> bool {
        let Some(data) = self.selected(data) else { return false };
        match &self.wanted {
            Wanted::Any => true,
            Wanted::Integer(relation, number) => {
                whole_part(data).is_some_and(|value| relation.holds(value.cmp(number)))
            }
            Wanted::Real(relation, number) => {
                let order = real(data).and_then(|value| value.partial_cmp(number));
                order.is_some_and(|order| relation.holds(order))
            }
            Wanted::Text { is_equal, text, ignores_case } => {
                let same =
                    if *ignores_case { data.eq_ignore_ascii_case(text) } else { data == &**text };
                same == *is_equal
            }
            Wanted::Pattern { is_match, pattern } => pattern.is_match(data) == *is_match,
        }
    }

    /// The part of a record that is compared.
    fn selected<'a>(&self, data: &'a [u8]) -> Option<&'a [u8]> {
        let data = match &self.prefix {
            None => data,
            Some(prefix) => {
                let (begin, rest) = data.split_at_checked(prefix.len())?;
                let rest = rest.strip_prefix(b":")?;
                begin.eq_ignore_ascii_case(prefix).then_some(rest)?
            }
        };
        match self.field {
            None => Some(data.trim_ascii()),
            Some(field) => words(data).nth(field - 1),
        }
    }
}

impl QueryRelation {
    fn holds(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::More => order.is_gt(),
            Self::MoreOrEqual => order.is_ge(),
        }
    }
}

fn real(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok().filter(|value: &f64| value.is_finite())
}

fn whole_part(text: &[u8]) -> Option<i128> {
    match whole(text) {
        Some(number) => Some(number.into()),
        None => real(text).map(|value| value.trunc() as i128),
    }
}
