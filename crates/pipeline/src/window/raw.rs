//! Writes rows of single events: one a line, with the place where the line stands.
//!
//! Invariant: texts that many rows share stand once among the rows: the machine, the source, and
//! the file of neighbouring lines. That holds until the rows are taken away.
//! Text is made what engines take, but not shortened. A field that a line lacks is absent. The
//! first four cells stand in the order of `rollup::PLACE`. `recount/src/count.rs` makes these
//! rows by other code, without the file, and compares them by hashes.
//! Never here: which lines and fields (`rollup`), and bounds (`run`).

use exchange::{FieldName, FieldValue, Fields};

use super::measure;
use crate::batch::{Flat, Kind, TableRows, fit};
use crate::chunk::LineLocation;

/// Writes rows of single events.
#[derive(Debug)]
pub(super) struct EventRows {
    pub node: Box<str>,
    source_name: Box<str>,
    shared: SharedTexts,
}

/// Places of texts that many rows share in [`TableRows::text`].
#[derive(Debug, Default)]
struct SharedTexts {
    node: Option<Flat>,
    source: Option<Flat>,
    /// That of the row before.
    file: Option<Flat>,
}

impl EventRows {
    /// For lines that `node` reads from a source.
    pub(super) fn new(node: &str, source_name: &str) -> Self {
        let shared = SharedTexts::default();
        Self { node: node.into(), source_name: source_name.into(), shared }
    }

    /// Adds a row with these fields of one line.
    pub(super) fn add(
        &mut self,
        rows: &mut TableRows,
        fields: &[(FieldName, Kind)],
        event: &impl Fields,
        location: LineLocation<'_>,
    ) {
        let Self { node, source_name, shared } = self;
        let node = *shared.node.get_or_insert_with(|| keep(rows, node.as_bytes()));
        let source = *shared.source.get_or_insert_with(|| keep(rows, source_name.as_bytes()));
        let file = match shared.file {
            Some(file) if rows.bytes_of(file) == location.file.as_bytes() => file,
            _ => keep(rows, &fit(location.file.as_bytes(), usize::MAX)),
        };
        shared.file = Some(file);
        let offset = Flat::Integer(location.offset.cast_signed());
        rows.cells.extend_from_slice(&[node, source, file, offset]);
        for (field, kind) in fields {
            let cell = match kind {
                Kind::Text => match event.field(field) {
                    None => Flat::Absent,
                    Some(FieldValue::Text(text)) => keep(rows, &fit(&text, usize::MAX)),
                    Some(number) => keep(rows, number.to_string().as_bytes()),
                },
                kind => measure::number(event, field, *kind).unwrap_or(Flat::Absent),
            };
            rows.cells.push(cell);
        }
    }

    /// The rows so far are taken away, and with them their texts.
    pub(super) fn begin_anew(&mut self) {
        self.shared = SharedTexts::default();
    }
}

fn keep(rows: &mut TableRows, text: &[u8]) -> Flat {
    let (start, length) = rows.keep(text);
    Flat::Text { start, length }
}
