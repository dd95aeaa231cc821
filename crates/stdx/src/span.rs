//! Reads and prints lengths of time as people write them in a configuration: `20ms`, `1s`, `5m`,
//! `14d`.
//!
//! The `humantime` crate reads them, so `1h 30m` and its other units work, too. They are printed as
//! it prints them, `1h 30m`. Serde takes a text only. Filters of events and addresses of sinks read
//! lengths by it, too (`exchange`, `filter/parser.rs`; `sinks`, `address.rs`).
//! Invariant: a number without a unit is refused, except 0. Refuses: negative lengths. Whoever
//! reads a key says whether 0 makes sense for it, by `or_zero` or `above_zero`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A length of time read from text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// The text is not a length of time that the key can have.
#[derive(Debug, thiserror::Error)]
pub enum SpanError {
    /// It is no length of time.
    #[error(
        "`{0}` is not a length of time; write a number with ms, s, m, h or d, such as 20ms or 6h"
    )]
    Unread(String),
    /// It is 0, where that makes no sense.
    #[error("is 0; write a length of time")]
    Zero,
}

impl Span {
    /// Reads a length of time for which 0 has a meaning of its own, such as "never".
    ///
    /// # Errors
    /// The text is no length of time.
    pub fn or_zero(text: &str) -> Result<Duration, SpanError> {
        text.parse::<Self>().map(|span| span.0)
    }

    /// Reads a length of time that must be more than 0, such as a timeout or an interval.
    ///
    /// # Errors
    /// The text is no length of time, or it is 0.
    pub fn above_zero(text: &str) -> Result<Duration, SpanError> {
        let span = Self::or_zero(text)?;
        if span.is_zero() { Err(SpanError::Zero) } else { Ok(span) }
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        if text.trim() == "0" {
            return Ok(Self(Duration::ZERO));
        }
        humantime::parse_duration(text.trim())
            .map(Self)
            .map_err(|_| SpanError::Unread(text.to_owned()))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = humantime::format_duration(self.0).to_string();
        let spaced = ["year", "month", "day"].iter().fold(text, |text, unit| {
            // `14days` is a word that nobody writes.
            text.replace(unit, &format!(" {unit}"))
        });
        f.write_str(&spaced)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpanVisitor;
        impl Visitor<'_> for SpanVisitor {
            type Value = Span;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a length of time such as \"60s\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(SpanVisitor)
    }
}
