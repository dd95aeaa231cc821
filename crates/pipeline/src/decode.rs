//! From the bytes of a line to the fields of an exchange.

use std::str::FromStr;

use exchange::{DecodeError, Exchange};

/// How lines are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// nginx's and Apache's `combined`, and `common`.
    Combined,
    /// Labelled tab-separated values.
    Ltsv,
    /// The journal's own JSON lines.
    Tidegate,
}

impl Format {
    /// Reads one line.
    ///
    /// # Errors
    /// The first place that is not as the format wants it.
    pub fn decode<'l>(&self, line: &'l [u8]) -> Result<Exchange<'l>, DecodeError> {
        match self {
            Self::Combined => exchange::decode_combined(line),
            Self::Ltsv => exchange::decode_ltsv(line),
            Self::Tidegate => exchange::decode(line),
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "combined" | "common" => Ok(Self::Combined),
            "ltsv" => Ok(Self::Ltsv),
            "tidegate" => Ok(Self::Tidegate),
            other => Err(format!("`{other}` is none of combined, common, ltsv, tidegate")),
        }
    }
}
