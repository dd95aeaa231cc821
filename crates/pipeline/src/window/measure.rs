//! Computes what a line changes in one measure of one row: counts, sums, smallest, largest and last
//! values.
//!
//! It also reads the number that a field holds, for keys and single events too. What is no finite
//! number counts as absent there. The number of lines and the last time of a field need only that
//! the line has it. So a mean is divided by lines whose field is no number, too. For a whole number
//! a real one is rounded, and is absent from 9e15 on; text must be a whole number.
//! Invariant: integer sums stop at the bounds of `i64`; real ones may become infinite. A field that
//! a line lacks changes nothing. A last value becomes absent when the field holds no number where
//! its column wants one. Of two lines with the same latest time, the one that comes later counts.
//! The cell before a last value must be its time (`rollup`). Means are divided by the engine.
//! `recount/src/count.rs` and `recount/src/expected.rs` have the same rules a second time.
//! Sketches are added to in `window`; their arithmetic is in the crate `metrics`.

use std::borrow::Cow;

use exchange::{FieldName, FieldValue, Fields};

use crate::batch::{Flat, Kind, TableRows, fit};
use crate::rollup::Measure;

/// The value of a measure that has seen no line.
pub(super) fn fresh(measure: &Measure) -> Flat {
    match measure {
        Measure::Count | Measure::CountOf(_) => Flat::Integer(0),
        Measure::Sum(_, Kind::Real) => Flat::Real(0.0),
        Measure::Sum(..) => Flat::Integer(0),
        _ => Flat::Absent,
    }
}

/// What a line adds to a measure; absent when nothing. What [`Measure::Last`] adds, [`last`] does.
#[inline]
pub(super) fn value(measure: &Measure, event: &impl Fields, time_us: i64) -> Flat {
    let number = |field, kind| number(event, field, kind).unwrap_or(Flat::Absent);
    let if_there = |field, value| event.field(field).map_or(Flat::Absent, |_| value);
    match measure {
        Measure::Count => Flat::Integer(1),
        Measure::CountOf(field) => if_there(field, Flat::Integer(1)),
        Measure::Sum(field, kind) | Measure::Min(field, kind) | Measure::Max(field, kind) => {
            number(field, *kind)
        }
        Measure::LastTime(field) => if_there(field, Flat::Time(time_us)),
        Measure::Last(..) | Measure::Mean => Flat::Absent,
    }
}

/// Adds what a line has to the cell of a measure.
#[inline]
pub(super) fn merge(cell: &mut Flat, measure: &Measure, value: Flat) {
    if value == Flat::Absent {
        return;
    }
    match measure {
        Measure::Count | Measure::CountOf(_) | Measure::Sum(..) => add(cell, value),
        Measure::Min(..) if is_less(value, *cell) => *cell = value,
        Measure::Max(..) | Measure::LastTime(_)
            if *cell == Flat::Absent || is_less(*cell, value) =>
        {
            *cell = value;
        }
        _ => {}
    }
}

/// The number that a field holds, as its column holds numbers; what is none counts as absent.
pub(super) fn number(event: &impl Fields, field: &FieldName, kind: Kind) -> Option<Flat> {
    let value = event.field(field)?;
    if kind == Kind::Real {
        let number = match value {
            FieldValue::Integer(number) => number as f64,
            FieldValue::Real(number) => number,
            FieldValue::Text(text) => std::str::from_utf8(&text).ok()?.trim_ascii().parse().ok()?,
        };
        return number.is_finite().then_some(Flat::Real(number));
    }
    let number = match value {
        FieldValue::Integer(number) => i64::try_from(number).ok()?,
        // The range within which a real number is a whole one exactly.
        FieldValue::Real(number) if number.abs() < 9e15 => number.round() as i64,
        FieldValue::Real(_) => return None,
        FieldValue::Text(text) => std::str::from_utf8(&text).ok()?.trim_ascii().parse().ok()?,
    };
    Some(if kind == Kind::Time { Flat::Time(number) } else { Flat::Integer(number) })
}

/// The cell of a [`Measure::Last`].
#[derive(Debug, Clone, Copy)]
pub(super) struct LastCell<'f> {
    /// Its place among all cells.
    pub at: usize,
    pub field: &'f FieldName,
    pub kind: Kind,
}

/// The cell before a `Last` is its `LastTime`, which has seen this line already: the line is the
/// latest when that time is its own.
pub(super) fn last(rows: &mut TableRows, cell: LastCell<'_>, event: &impl Fields, time_us: i64) {
    let LastCell { at, field, kind } = cell;
    if rows.cells[at - 1] != Flat::Time(time_us) {
        return;
    }
    let Some(value) = event.field(field) else { return };
    match (kind, value) {
        (Kind::Text, FieldValue::Text(text)) => write_text(rows, at, &fit(&text, usize::MAX)),
        (Kind::Text, number) => write_text(rows, at, number.to_string().as_bytes()),
        (kind, _) => rows.cells[at] = number(event, field, kind).unwrap_or(Flat::Absent),
    }
}

/// Text takes the place of the one before where it fits, so that a value that changes with every
/// line does not fill the window.
fn write_text(rows: &mut TableRows, at: usize, text: &[u8]) {
    if let Flat::Text { start, length } = rows.cells[at]
        && text.len() <= length as usize
    {
        rows.text[start as usize..][..text.len()].copy_from_slice(text);
        rows.cells[at] = Flat::Text { start, length: text.len() as u32 };
        return;
    }
    let (start, length) = rows.keep(text);
    rows.cells[at] = Flat::Text { start, length };
}

fn add(cell: &mut Flat, more: Flat) {
    match (cell, more) {
        (Flat::Integer(sum), Flat::Integer(more)) => *sum = sum.saturating_add(more),
        (Flat::Real(sum), Flat::Real(more)) => *sum += more,
        _ => unreachable!("a column adds numbers of its own kind"),
    }
}

/// Whether one number is less than another of its kind; every number is less than an absent one.
fn is_less(one: Flat, other: Flat) -> bool {
    match (one, other) {
        (Flat::Integer(one), Flat::Integer(other)) | (Flat::Time(one), Flat::Time(other)) => {
            one < other
        }
        (Flat::Real(one), Flat::Real(other)) => one < other,
        (_, other) => other == Flat::Absent,
    }
}

/// The text of a value.
pub(super) fn text_of(value: FieldValue<'_>) -> Cow<'_, [u8]> {
    match value {
        FieldValue::Text(text) => text,
        number => Cow::Owned(number.to_string().into_bytes()),
    }
}
