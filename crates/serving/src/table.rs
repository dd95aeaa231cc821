//! Scores tables of rows (CSV, RFC 4180) with a model that predicts, 4,096 rows at a time.
//!
//! A first line with anything but numbers is taken for a header, also where it only has a typing
//! error. Of a model of texts and numbers, a first line that names all columns is one as well.
//! Under a header, columns are taken by the model's names, in any order, and others are ignored. A
//! model without names takes them by place. Without a header a line must be as wide as the model.
//! An empty field, `nan`, `NaN` and `NA` are absent numbers. An empty line is no row.
//!
//! Invariant: the n-th line of the answer is the prediction of the n-th row, all outputs of the
//! model one after the other. An error in a row names its line. One of scoring names the line at
//! which reading stood; blocks before it were written.
//! `inspect.rs` reads files by `load`, too; no golden input is checked. Elsewhere: rows of a
//! request (`oip/request.rs`), numbers as text (`oip/reply.rs`).

use std::io::{Read, Write};
use std::iter::repeat;
use std::path::{Path, PathBuf};

use csv::{ReaderBuilder, StringRecord};
use models::Iterations;

use crate::config::PredictorPlan;
use crate::error::{InspectError, TableError};
use crate::predicting;
use crate::predictor::Predictor;

/// Rows that are scored at once.
const BLOCK: usize = 4096;

/// Writes the prediction of each row of a table; `progress` gets the bytes read.
///
/// # Errors
/// What is wrong with the model's file, or with the table, and where.
pub fn score_table(
    file: &Path,
    table: impl Read,
    mut out: impl Write,
    mut progress: impl FnMut(u64),
) -> Result<(), InspectError> {
    let predictor = load(file)?;
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(table);
    let mut scoring = Scoring::new(&predictor);
    let (mut record, mut is_first) = (StringRecord::new(), true);
    while reader.read_record(&mut record).map_err(TableError::from)? {
        let line = record.position().map_or(0, csv::Position::line);
        if is_first && scoring.take_header(&record)? {
            is_first = false;
            continue;
        }
        is_first = false;
        scoring.add(&record, line)?;
        if scoring.count == BLOCK {
            scoring.flush(&mut out, line)?;
            progress(reader.position().byte());
        }
    }
    scoring.flush(&mut out, reader.position().line())?;
    Ok(out.flush().map_err(TableError::from)?)
}

/// Reads a model that predicts, as the server does.
pub(crate) fn load(file: &Path) -> Result<Predictor, InspectError> {
    let plan = PredictorPlan {
        name: String::new(),
        file: PathBuf::from(file),
        version: None,
        golden: None,
        iterations: Iterations::Best,
        rows_max: usize::MAX,
        concurrency: 1,
        queue_max: 0,
    };
    Ok(predicting::load(&plan)?)
}

struct Scoring<'p> {
    predictor: &'p Predictor,
    /// Where each column of the model stands in a line.
    places: Vec<usize>,
    /// Whether each is a text.
    texts: Vec<bool>,
    has_header: bool,
    rows: Vec<f64>,
    count: usize,
}

impl<'p> Scoring<'p> {
    fn new(predictor: &'p Predictor) -> Self {
        let places = (0..predictor.width()).collect();
        let texts = predictor.are_texts().collect();
        Self { predictor, places, texts, has_header: false, rows: Vec::new(), count: 0 }
    }

    /// Takes the first line for a header, if it is one.
    fn take_header(&mut self, line: &StringRecord) -> Result<bool, TableError> {
        let columns = &self.predictor.columns;
        let names_columns = !columns.is_empty()
            && columns.iter().all(|name| line.iter().any(|field| field.trim() == name));
        let mut fields = line.iter().zip(self.texts.iter().copied().chain(repeat(false)));
        let is_row = fields.all(|(field, is_text)| is_text || number(field).is_some());
        if is_row && !names_columns {
            return Ok(false);
        }
        self.has_header = true;
        for (place, name) in self.places.iter_mut().zip(&self.predictor.columns) {
            let found = line.iter().position(|field| field.trim() == name);
            *place = found.ok_or_else(|| TableError::Column(name.clone()))?;
        }
        Ok(true)
    }

    fn add(&mut self, record: &StringRecord, line: u64) -> Result<(), TableError> {
        let (found, wanted) = (record.len(), self.places.len());
        if !self.has_header && found != wanted {
            return Err(TableError::Width { line, found, wanted });
        }
        for (place, is_text) in self.places.iter().zip(&self.texts) {
            let field = record.get(*place).ok_or(TableError::Width { line, found, wanted })?;
            if *is_text {
                self.rows.push(self.predictor.text_number(field));
                continue;
            }
            let value = number(field).ok_or_else(|| TableError::Field {
                line,
                column: place + 1,
                field: field.to_owned(),
            })?;
            self.rows.push(value);
        }
        self.count += 1;
        Ok(())
    }

    fn flush(&mut self, out: &mut impl Write, line: u64) -> Result<(), TableError> {
        let outputs = self
            .predictor
            .predict(&mut self.rows, false)
            .map_err(|source| TableError::Score { line, source })?;
        let mut text = Vec::with_capacity(self.count * 20);
        for row in 0..self.count {
            for (index, output) in outputs.iter().enumerate() {
                if index > 0 {
                    text.push(b',');
                }
                output.push_row(row, &mut text);
            }
            text.push(b'\n');
        }
        out.write_all(&text)?;
        self.rows.clear();
        self.count = 0;
        Ok(())
    }
}

/// Reads a field; absent is NaN.
fn number(field: &str) -> Option<f64> {
    match field.trim() {
        "" | "nan" | "NaN" | "NA" => Some(f64::NAN),
        field => field.parse().ok(),
    }
}

#[cfg(test)]
mod tests;
