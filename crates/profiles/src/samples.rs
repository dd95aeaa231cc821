//! Picks keys spread over a file, for `file.rs` to look up before the file is used.
//!
//! Keys are picked by value and not by position, since stepping to the millionth row would read all
//! before it. So picked, they usually touch index and table in places far apart. There a copy shows
//! that was cut or left holes.
//! Invariant: at most 66 keys come back, the smallest and the largest among them. Only these two
//! are picked if one is a number and the other a text. A key at either end that no id can equal
//! comes back alone, as `Unfit`. A table without keys, or with NULL ones only, gives none.
//! Never here: the look-ups and what a wrong one means.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};

use crate::schema::{Layout, is_set};

/// Keys looked up between the smallest and the largest.
const SAMPLES: u64 = 64;

/// A key as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StoredKey {
    Text(Vec<u8>),
    Integer(i64),
    Null,
    /// What no id can equal: a fraction, a blob.
    Unfit,
}

/// Returns keys spread over the table, each with whether it has a profile; none when it is empty.
pub(crate) fn pick(
    connection: &Connection,
    layout: &Layout,
) -> rusqlite::Result<Vec<(StoredKey, bool)>> {
    let (table, key, flag) = (&layout.table, &layout.key, &layout.flag);
    let end = |which: &str| {
        let sql = format!("SELECT {which}({key}) FROM {table}");
        connection.query_row(&sql, [], |row| row.get_ref(0).map(StoredKey::from))
    };
    let (first, last) = (end("min")?, end("max")?);
    if [&first, &last].contains(&&StoredKey::Unfit) {
        return Ok(vec![(StoredKey::Unfit, true)]);
    }
    let next = format!(
        "SELECT {key}, {flag}, {data} FROM {table} WHERE {key} >= ?1 ORDER BY {key} LIMIT 1",
        data = layout.data
    );
    let mut statement = connection.prepare(&next)?;
    let mut keys = Vec::new();
    for probe in between(&first, &last) {
        let mut rows = statement.query([&probe])?;
        if let Some(row) = rows.next()? {
            // Reading the data follows its row to pages of the table.
            row.get_ref(2)?;
            keys.push((StoredKey::from(row.get_ref(0)?), is_set(row.get_ref(1)?)));
        }
    }
    Ok(keys)
}

impl StoredKey {
    /// Returns the text that a user's id must equal; none for what cannot be an id.
    pub(crate) fn text(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::Integer(number) => Some(number.to_string().into_bytes()),
            Self::Null | Self::Unfit => None,
        }
    }
}

impl From<ValueRef<'_>> for StoredKey {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Text(text) => Self::Text(text.to_owned()),
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Null => Self::Null,
            ValueRef::Real(_) | ValueRef::Blob(_) => Self::Unfit,
        }
    }
}

impl ToSql for StoredKey {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Text(text) => ValueRef::Text(text),
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Null | Self::Unfit => ValueRef::Null,
        }))
    }
}

/// Returns probes from `first` to `last`, both included. Whole numbers are probed by value, texts
/// by the eight bytes after the common prefix.
fn between(first: &StoredKey, last: &StoredKey) -> Vec<StoredKey> {
    let steps = |from: i128, to: i128| {
        (0..SAMPLES).map(move |step| from + (to - from) * i128::from(step) / i128::from(SAMPLES))
    };
    let mut probes: Vec<StoredKey> = match (first, last) {
        (StoredKey::Integer(first), StoredKey::Integer(last)) => {
            let numbers = steps((*first).into(), (*last).into());
            numbers
                .filter_map(|number| i64::try_from(number).ok().map(StoredKey::Integer))
                .collect()
        }
        (StoredKey::Text(first), StoredKey::Text(last)) => {
            let same = first.iter().zip(last).take_while(|(a, b)| a == b).count();
            let number = |text: &[u8]| {
                let mut eight = [0; 8];
                eight.iter_mut().zip(&text[same..]).for_each(|(to, from)| *to = *from);
                i128::from(u64::from_be_bytes(eight))
            };
            let probe = |number: i128| {
                let eight = u64::try_from(number).unwrap_or(u64::MAX).to_be_bytes();
                StoredKey::Text([&first[..same], &eight].concat())
            };
            steps(number(first), number(last)).map(probe).collect()
        }
        _ => Vec::new(),
    };
    probes.push(first.clone());
    probes.push(last.clone());
    probes
}

#[cfg(test)]
mod tests;
