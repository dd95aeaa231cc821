//! Reads and prints byte sizes as people write them in a configuration: `20GB`, `1.5KiB`, `512`.
//!
//! Decimal units are powers of 1000, binary ones (`KiB`) powers of 1024. Case does not matter,
//! fractions are allowed, and a part of a byte is cut off. Serde reads a text or a TOML integer.
//! Filters of events read sizes by it, too (`exchange`, `filter/parser.rs`).
//! Invariant: a size up to 9 EB that is printed reads back within a tenth of its unit. Sizes are
//! printed in decimal units only. `UNITS` is tried in order, so `B` comes last. A new unit also
//! goes into the text of [`SizeError`].
//! Refuses: as text, negative sizes and more than 9 EB. Whoever reads a key says whether 0 makes
//! sense for it, by `or_zero` or `above_zero`; any other bound is the section's to check.

use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Visitor};

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteSize(pub u64);

const UNITS: [(&str, u64); 9] = [
    ("KIB", 1 << 10),
    ("MIB", 1 << 20),
    ("GIB", 1 << 30),
    ("TIB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("B", 1),
];

/// The text is not a byte size that the key can have.
#[derive(Debug, thiserror::Error)]
pub enum SizeError {
    /// It is no byte size.
    #[error(
        "`{0}` is not a byte size; write a number with B, KB, MB, GB, TB, KiB, MiB, GiB or TiB"
    )]
    Unread(String),
    /// It is 0, where that makes no sense.
    #[error("is 0; write a byte size")]
    Zero,
}

impl ByteSize {
    /// Reads a byte size for which 0 has a meaning of its own, such as "none".
    ///
    /// # Errors
    /// The text is no byte size.
    pub fn or_zero(text: &str) -> Result<u64, SizeError> {
        text.parse::<Self>().map(|size| size.0)
    }

    /// Reads a byte size that must be more than 0, such as the size of a buffer.
    ///
    /// # Errors
    /// The text is no byte size, or it is 0.
    pub fn above_zero(text: &str) -> Result<u64, SizeError> {
        let bytes = Self::or_zero(text)?;
        if bytes == 0 { Err(SizeError::Zero) } else { Ok(bytes) }
    }
}

impl FromStr for ByteSize {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let wrong = || SizeError::Unread(text.to_owned());
        let upper = text.trim().to_ascii_uppercase();
        let (digits, unit) = UNITS
            .iter()
            .find_map(|(name, unit)| upper.strip_suffix(name).map(|rest| (rest, *unit)))
            .unwrap_or((&upper, 1));
        let number: f64 = digits.trim().parse().map_err(|_| wrong())?;
        let bytes = number * unit as f64;
        if !(0.0..=9e18).contains(&bytes) {
            return Err(wrong());
        }
        Ok(Self(bytes as u64))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DECIMAL: [(&str, u64); 4] =
            [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000)];
        match DECIMAL.iter().find(|(_, unit)| self.0 >= *unit) {
            Some((name, unit)) if self.0.is_multiple_of(*unit) => {
                write!(f, "{}{name}", self.0 / unit)
            }
            Some((name, unit)) => write!(f, "{:.1}{name}", self.0 as f64 / *unit as f64),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl<'de> Deserialize<'de> for ByteSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;
        impl Visitor<'_> for SizeVisitor {
            type Value = ByteSize;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a byte size such as \"64MB\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<ByteSize, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<ByteSize, E> {
                u64::try_from(bytes).map(ByteSize).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(SizeVisitor)
    }
}
