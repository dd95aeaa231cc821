//! Shows what a line becomes: its fields, the rows it counts in, or why it is refused.
//!
//! Invariant: the same decoder and the same windows decide as in a pipeline; nothing is delivered.
//! Machine, source and place of the line are left empty. Of sketches the values of their fields are
//! shown, also those that a quantile cannot take. A new field that every line may have must be put
//! in `FIELDS`, a header in `HEADERS`; phases come by themselves.
//! Users read the keys `fields`, `counts` and `refused`, and so does a test of the whole program.
//! Never here: reading lines from a source, and the text for an operator (`tidegate`).

use std::collections::BTreeSet;
use std::sync::Arc;

use exchange::{FieldName, FieldValue, Fields, Phase};
use serde_json::{Map, Value as Json, json};

use crate::batch::{CellValue, TableRows};
use crate::chunk::LineLocation;
use crate::decode::{Decoder, FieldRule, Format};
use crate::rollup::{Rollup, SketchOf};
use crate::window::Window;

/// Fields that every line may have; parameters of the query come on top.
const FIELDS: [&str; 24] = [
    "time",
    "id",
    "ranked_by",
    "fetched_by",
    "method",
    "scheme",
    "host",
    "path",
    "query",
    "version",
    "status",
    "bytes_in",
    "bytes_out",
    "client_ip",
    "user",
    "route",
    "decision",
    "decision_detail",
    "cache",
    "upstream",
    "total",
    "model",
    "model_version",
    "propensity",
];
const HEADERS: [&str; 2] = ["header.user-agent", "header.referer"];

/// Shows lines of one source.
pub struct Inspector {
    decoder: Decoder,
    defined: Vec<FieldName>,
    rollups: Vec<Arc<Rollup>>,
}

impl Inspector {
    /// Shows lines of `format` with `rules` over their fields, and the rows of `rollups`.
    pub fn new(format: &Format, rules: Arc<[FieldRule]>, rollups: Vec<Arc<Rollup>>) -> Self {
        let defined = rules.iter().map(|rule| FieldName::Defined((*rule.field).clone()));
        let defined = defined.collect();
        Self { decoder: Decoder::new(format, rules), defined, rollups }
    }

    /// Shows a line, given without its line feed, as one JSON object: `fields` and `counts`, or
    /// `refused`. A line that only says something of later ones is `passed`.
    pub fn show(&mut self, line: &[u8]) -> Json {
        let mut whole = line.to_vec();
        whole.push(b'\n');
        let Self { decoder, defined, rollups } = self;
        let mut shown = json!({ "passed": "a directive, or a piece of a line" });
        decoder.each(&whole, |_, _, outcome| {
            shown = match outcome {
                Err(error) => json!({ "refused": error.to_string() }),
                Ok(event) => {
                    let time_us = i64::try_from(event.time_us()).unwrap_or(i64::MAX);
                    let counts = rollups.iter().flat_map(|rollup| counts(rollup, event, time_us));
                    let counts: Map<String, Json> = counts.collect();
                    let further = [&event.further()[..], defined].concat();
                    json!({ "fields": fields(event, &further), "counts": counts })
                }
            };
        });
        shown
    }
}

fn fields(event: &impl Fields, further: &[FieldName]) -> Map<String, Json> {
    let mut names: Vec<FieldName> =
        FIELDS.iter().chain(&HEADERS).filter_map(|name| name.parse().ok()).collect();
    if let Some(FieldValue::Text(query)) = event.field(&FieldName::Query) {
        let parameters = query.split(|byte| *byte == b'&').filter(|part| !part.is_empty());
        let parameters = parameters.map(|part| {
            let name = part.split(|byte| *byte == b'=').next().unwrap_or(part);
            String::from_utf8_lossy(name).into_owned()
        });
        let parameters: BTreeSet<String> = parameters.collect();
        names.extend(parameters.iter().filter_map(|name| format!("query.{name}").parse().ok()));
    }
    names.extend(Phase::ALL.map(FieldName::Phase));
    names.extend_from_slice(further);
    let present = names.iter().filter_map(|name| {
        let value = event.field(name)?;
        let value = match (value, name) {
            (FieldValue::Integer(us), FieldName::Time) => Json::String(time(us)),
            (FieldValue::Integer(number), _) => json!(number),
            (FieldValue::Real(number), _) => json!(number),
            (text, _) => Json::String(text.to_string()),
        };
        Some((name.to_string(), value))
    });
    present.collect()
}

/// The rows that the line alone makes, by table, with the values that sketches take. None when the
/// rollup does not count it.
fn counts(rollup: &Arc<Rollup>, event: &impl Fields, time_us: i64) -> Vec<(String, Json)> {
    let mut window = Window::new(Arc::clone(rollup), "", "");
    window.add(event, time_us, LineLocation { file: "", offset: 0 });
    let rows = window.take().filter(|rows| !rows.is_empty());
    let rows = rows.filter(|rows| rows.table.name == rollup.table.name);
    rows.map(|rows| {
        let mut row = row(&rows);
        row.extend(sketched(rollup, event));
        (rows.table.name.clone(), Json::Object(row))
    })
    .collect()
}

/// The values that sketches take, by their columns.
fn sketched(rollup: &Rollup, event: &impl Fields) -> Vec<(String, Json)> {
    let columns = rollup.sketch_table.iter().flat_map(|table| &table.columns[table.keys()..]);
    let values = columns.zip(&rollup.sketches).filter_map(|(column, sketch)| {
        let (SketchOf::Unique(field) | SketchOf::Quantiles(field)) = sketch;
        let value = event.field(field).map(|value| match value {
            FieldValue::Integer(number) => json!(number),
            FieldValue::Real(number) => json!(number),
            text => Json::String(text.to_string()),
        });
        Some((column.name.clone(), value?))
    });
    values.collect()
}

fn row(rows: &TableRows) -> Map<String, Json> {
    let cells = rows.row(0).zip(&rows.table.columns);
    let cells = cells.filter_map(|(cell, column)| {
        let value = match cell {
            CellValue::Absent | CellValue::Blob(_) => return None,
            CellValue::Integer(number) => json!(number),
            CellValue::Real(number) => json!(number),
            CellValue::Time(us) => Json::String(time(us.unsigned_abs())),
            CellValue::Text(text) => Json::String(String::from_utf8_lossy(text).into_owned()),
        };
        Some((column.name.clone(), value))
    });
    cells.collect()
}

fn time(us: u64) -> String {
    let mut text = Vec::new();
    exchange::write_rfc3339(us, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests;
