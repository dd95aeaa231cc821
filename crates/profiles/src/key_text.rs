//! Keys of users as SQLite stores and compares them.
//!
//! Invariant: a key is bound as text and compared byte for byte, whatever type its column has.

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

/// A key is bound as text whatever its bytes.
pub(crate) struct TextKey<'k>(pub &'k [u8]);

impl ToSql for TextKey<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(ValueRef::Text(self.0)))
    }
}

/// Returns a stored key as the text that a user's id must equal; none for what cannot be an id.
pub(crate) fn stored_text<'v>(key: ValueRef<'v>, digits: &'v mut [u8; 20]) -> Option<&'v [u8]> {
    match key {
        ValueRef::Text(text) => Some(text),
        ValueRef::Integer(number) => {
            use std::io::Write as _;
            let mut rest = &mut digits[..];
            write!(rest, "{number}").expect("twenty bytes hold any 64-bit number");
            let written = 20 - rest.len();
            Some(&digits[..written])
        }
        ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => None,
    }
}
