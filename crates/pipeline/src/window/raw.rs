//! Rows of single events: one a line, with the place where the line stands.

use exchange::{Fields, Value};

use super::{Place, Window, measure};
use crate::batch::{Flat, Kind, Rows, fit};

/// Places of texts that many rows share in [`Rows::text`].
#[derive(Debug, Default)]
pub(super) struct Shared {
    node: Option<Flat>,
    source: Option<Flat>,
    /// That of the row before.
    file: Option<Flat>,
}

impl Window {
    /// Adds a row for one line.
    pub(super) fn add_raw(&mut self, event: &impl Fields, place: Place<'_>) {
        let Self { rollup, rows, shared, node, source_name, .. } = self;
        let node = *shared.node.get_or_insert_with(|| keep(rows, node.as_bytes()));
        let source = *shared.source.get_or_insert_with(|| keep(rows, source_name.as_bytes()));
        let file = match shared.file {
            Some(file) if rows.bytes_of(file) == place.file.as_bytes() => file,
            _ => keep(rows, &fit(place.file.as_bytes(), usize::MAX)),
        };
        shared.file = Some(file);
        let offset = Flat::Integer(place.offset.cast_signed());
        rows.cells.extend_from_slice(&[node, source, file, offset]);
        for (field, kind) in &rollup.raw {
            let cell = match kind {
                Kind::Text => match event.field(field) {
                    None => Flat::Absent,
                    Some(Value::Text(text)) => keep(rows, &fit(&text, usize::MAX)),
                    Some(number) => keep(rows, number.to_string().as_bytes()),
                },
                kind => measure::number(event, field, *kind).unwrap_or(Flat::Absent),
            };
            rows.cells.push(cell);
        }
    }
}

fn keep(rows: &mut Rows, text: &[u8]) -> Flat {
    let (start, length) = rows.keep(text);
    Flat::Text { start, length }
}
