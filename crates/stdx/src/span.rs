//! Reads and prints lengths of time as people write them in a configuration: `20ms`, `1s`, `5m`,
//! `14d`.
//!
//! The `humantime` crate reads them, so `1h 30m` and its other units work, too. They are printed as
//! it prints them, `1h 30m`. Serde takes a text only.
//! Invariant: a number without a unit is refused, except 0. Refuses: negative lengths. Whether 0
//! makes sense is the section's to check.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A length of time read from text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// The text is not a length of time.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a length of time; write a number with ms, s, m, h or d, such as 20ms or 6h")]
pub struct SpanError(String);

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        if text.trim() == "0" {
            return Ok(Self(Duration::ZERO));
        }
        humantime::parse_duration(text.trim()).map(Self).map_err(|_| SpanError(text.to_owned()))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
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
