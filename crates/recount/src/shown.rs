//! Puts keys and cells into words, for a person who looks for a difference.
//!
//! Text of a cell is cut after 120 characters, text of a key is not. A blob is its number of bytes.
//! No program reads the words but a test, `tidegate/tests/it/events_verify.rs`, which compares
//! them.

use pipeline::Column;
use sinks::OwnedCell;

use crate::count::CellKey;

/// Text that is shown.
const SHOWN_CHARACTERS: usize = 120;

pub(crate) fn shown_key(columns: &[Column], key: &[CellKey]) -> String {
    let cells = columns.iter().zip(key).map(|(column, key)| {
        let value = match key {
            CellKey::Absent => "absent".to_owned(),
            CellKey::Text(text) => format!("{text:?}"),
            CellKey::Integer(number) => number.to_string(),
            CellKey::Real(bits) => f64::from_bits(*bits).to_string(),
            CellKey::Time(us) => shown_time(*us),
        };
        format!("{} {value}", column.name)
    });
    format!("({})", cells.collect::<Vec<_>>().join(", "))
}

pub(crate) fn shown_cell(cell: &OwnedCell) -> String {
    match cell {
        OwnedCell::Absent => "absent".to_owned(),
        OwnedCell::Integer(number) => number.to_string(),
        OwnedCell::Real(number) => number.to_string(),
        OwnedCell::Time(us) => shown_time(*us),
        OwnedCell::Text(text) => {
            let text = String::from_utf8_lossy(text);
            let beginning: String = text.chars().take(SHOWN_CHARACTERS).collect();
            let more = if beginning.len() < text.len() { "…" } else { "" };
            format!("{beginning:?}{more}")
        }
        OwnedCell::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}

fn shown_time(us: i64) -> String {
    let mut text = Vec::new();
    exchange::write_rfc3339(us.unsigned_abs(), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}
