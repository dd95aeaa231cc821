//! Converts keys of users to SQLite's text and back.
//!
//! Invariant: `TextKey` binds a key as text whatever its bytes. `stored_text` returns a stored text
//! as it is and a stored integer in decimal. NULL, fractions and blobs are None: no id equals them.
//! Never here: the comparison itself. SQLite's is not exact enough, so `find` in `file.rs` compares
//! the bytes once more.

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
