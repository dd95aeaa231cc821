//! Draws an answer as a table for people: units in the titles, short times, few digits.
//!
//! A unit is that of the rollup's field (`exchange`), and times of the key are UTC. Times of a year
//! that all rows share are written without it; the title has it. Real numbers have four digits, or
//! all of their whole ones.
//! Invariant: nothing of this reaches JSON and CSV, which have names and values as they are.
//! Never here: how a table fits its terminal (`screen`).

use pipeline::{ColumnRole, KeyPart, Measure, Rollup, SketchOf};
use screen::{Align, Column, Style, Table};
use serde_json::Value;
use sinks::QueryAnswer;

/// Times that a key is rounded to, and how many characters of a time tell them apart.
const BUCKETS: [(&str, usize); 4] = [("second", 19), ("minute", 16), ("hour", 16), ("day", 10)];

/// Returns the table; `rollup` is what the answer is of, if it is of one.
pub(super) fn drawn(answer: &QueryAnswer, rollup: Option<&Rollup>, style: &Style) -> String {
    let sheets: Vec<SheetColumn> =
        (0..answer.columns.len()).map(|at| SheetColumn::new(answer, at, rollup)).collect();
    let columns = sheets.iter().map(|sheet| Column::new(&sheet.title, sheet.align)).collect();
    let mut table = Table::new(columns);
    for row in &answer.rows {
        let cells = sheets.iter().zip(row).map(|(sheet, value)| sheet.cell(value).into());
        table.push(cells.collect());
    }
    table.render(style)
}

/// How one column is drawn.
struct SheetColumn {
    title: String,
    align: Align,
    /// Which characters of a time are shown.
    time: Option<std::ops::Range<usize>>,
}

impl SheetColumn {
    fn new(answer: &QueryAnswer, at: usize, rollup: Option<&Rollup>) -> Self {
        let name = &answer.columns[at];
        let cells = || answer.rows.iter().map(|row| &row[at]);
        let is_number = |value: &Value| value.is_number() || value.is_null();
        let align = if cells().all(is_number) { Align::Right } else { Align::Left };
        let bucket = BUCKETS.iter().find(|(bucket, _)| bucket == name);
        if let (Some((_, end)), Some(_)) = (bucket, rollup) {
            let mut years = cells().filter_map(|value| value.as_str()?.get(..4));
            let year = years.next().filter(|first| *end > 10 && years.all(|year| year == *first));
            let title = match year {
                Some(year) => format!("{name} {year} UTC"),
                None => format!("{name} UTC"),
            };
            let time = Some(if year.is_some() { 5..*end } else { 0..*end });
            return Self { title, align, time };
        }
        let unit = rollup.and_then(|rollup| unit(rollup, name));
        let title = unit.map_or_else(|| name.clone(), |unit| format!("{name} {unit}"));
        Self { title, align, time: None }
    }

    fn cell(&self, value: &Value) -> String {
        match (value, &self.time) {
            (Value::Null, _) => "-".to_owned(),
            (Value::String(time), Some(shown)) => {
                time.get(shown.clone()).unwrap_or(time).replace('T', " ")
            }
            (Value::String(text), None) => text.clone(),
            (Value::Number(number), _) if number.is_f64() => {
                rounded(number.as_f64().unwrap_or(f64::NAN))
            }
            (other, _) => other.to_string(),
        }
    }
}

/// The unit of a column of a rollup's answer, where it has one.
fn unit(rollup: &Rollup, name: &str) -> Option<&'static str> {
    let table = &rollup.table;
    let Some(at) = table.columns.iter().position(|column| column.name == name) else {
        let (_, field) = name.strip_prefix('p')?.split_once('_')?;
        let sketches = rollup.sketch_table.as_ref()?;
        let mut sketches = sketches.columns[sketches.keys()..].iter().zip(&rollup.sketches);
        return sketches.find_map(|(column, sketch)| match sketch {
            SketchOf::Quantiles(of) if column.name == format!("quantiles_{field}") => of.unit(),
            _ => None,
        });
    };
    if !rollup.raw.is_empty() {
        // The fields stand behind the place of the line.
        let place = table.columns.len() - rollup.raw.len();
        return at.checked_sub(place).and_then(|at| rollup.raw[at].0.unit());
    }
    let Some(measure) = at.checked_sub(rollup.key.len()) else {
        return match &rollup.key[at] {
            KeyPart::Field(field, _) => field.unit(),
            KeyPart::Bucket(_) => None,
        };
    };
    match (&rollup.measures[measure], table.columns[at].role) {
        (Measure::Mean, ColumnRole::Mean { sum, .. }) => unit(rollup, &table.columns[sum].name),
        (
            Measure::Sum(field, _)
            | Measure::Min(field, _)
            | Measure::Max(field, _)
            | Measure::Last(field, _),
            _,
        ) => field.unit(),
        _ => None,
    }
}

/// Four digits, or all of the whole ones: what is within 1 % has no more to say.
fn rounded(real: f64) -> String {
    let size = real.abs();
    let decimals = match size {
        _ if size >= 1e15 => return format!("{real:e}"),
        _ if size >= 1000.0 => 0,
        _ if size >= 100.0 => 1,
        _ if size >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{real:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests;
