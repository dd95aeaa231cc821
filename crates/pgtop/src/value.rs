//! Holds one value of a row as the server sent it: a whole number, a real one, a text, or nothing.
//!
//! Rows are read in the binary format. Times are microseconds since 1970. Texts come as bytes in
//! the database's encoding, because the connection asks for no conversion (`connection.rs`); what
//! is no UTF-8 is shown with replacement characters.
//! Invariant: no byte of a text can fail a row. Refuses: types that no statement here selects, such
//! as `numeric` and `interval`. Statements cast those: one that does not loses the connection,
//! frame after frame.

use std::error::Error as StdError;

use serde::{Deserialize, Serialize};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

/// 2000-01-01, where PostgreSQL's times begin; microseconds since 1970.
const EPOCH_US: i64 = 946_684_800_000_000;

/// One value of a row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SqlScalar {
    /// NULL.
    #[default]
    Null,
    /// A whole number, a time in microseconds since 1970, or 1 for true and 0 for false.
    Whole(i64),
    /// A real number.
    Real(f64),
    /// A text.
    Text(String),
}

impl SqlScalar {
    /// Returns a whole number.
    pub fn whole(&self) -> Option<i64> {
        match self {
            Self::Whole(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns a number.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Whole(number) => Some(*number as f64),
            Self::Real(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns a text; nothing for NULL and numbers.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns how it reads; NULL is empty.
    pub fn shown(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Whole(number) => number.to_string(),
            Self::Real(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl<'a> FromSql<'a> for SqlScalar {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(match *kind {
            Type::INT2 => Self::Whole(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Self::Whole(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Self::Whole(i64::from_sql(kind, raw)?),
            Type::OID => Self::Whole(u32::from_sql(kind, raw)?.into()),
            Type::BOOL => Self::Whole(bool::from_sql(kind, raw)?.into()),
            Type::FLOAT4 => Self::Real(f32::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Self::Real(f64::from_sql(kind, raw)?),
            Type::TIMESTAMPTZ => {
                // Infinity is the greatest number; nothing here is that old or that late.
                let us = i64::from_be_bytes(raw.try_into()?);
                Self::Whole(us.saturating_add(EPOCH_US))
            }
            _ => Self::Text(text_of(raw)),
        })
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn StdError + Sync + Send>> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        let numbers = [Type::INT2, Type::INT4, Type::INT8, Type::OID, Type::BOOL];
        let others = [Type::FLOAT4, Type::FLOAT8, Type::TIMESTAMPTZ];
        let texts = [Type::TEXT, Type::VARCHAR, Type::NAME, Type::BYTEA, Type::UNKNOWN];
        [&numbers[..], &others, &texts].iter().any(|some| some.contains(kind))
    }
}

/// A time of the server to compare with, to the microsecond; since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerTime(pub(crate) i64);

impl ToSql for ServerTime {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        out.extend_from_slice(&(self.0 - EPOCH_US).to_be_bytes());
        Ok(IsNull::No)
    }

    fn accepts(kind: &Type) -> bool {
        *kind == Type::TIMESTAMPTZ
    }

    to_sql_checked!();
}

/// Bytes as text. A text that was cut within a character loses the rest of it.
fn text_of(raw: &[u8]) -> String {
    match std::str::from_utf8(raw) {
        Ok(text) => text.to_owned(),
        Err(error) if error.error_len().is_none() => {
            String::from_utf8_lossy(&raw[..error.valid_up_to()]).into_owned()
        }
        Err(_) => String::from_utf8_lossy(raw).into_owned(),
    }
}

#[cfg(test)]
mod tests;
