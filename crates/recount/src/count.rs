//! Counts one rollup plainly: a map from each key to what the documentation says is kept of it.
//!
//! Invariant: whole numbers are exact, sums of reals are added in the order of lines and kept with
//! their size. A quantile sketch is kept as all its numbers, a unique one as 64-bit hashes. The
//! latest value is kept as hashes of all values of that time. Rows of single events are 128-bit
//! hashes.
//! So memory is an entry for each key, and for each different value of a sketch or of a latest
//! time. Different rows of single events take one each.
//! A line that lacks a number of the key is only counted in `without_key`.
//! Refuses: to use the code of a window or a measure of `pipeline`; their definitions say what is
//! meant.
//! So what they decide is written a second time here and changes with them. Long keys: `fit` in
//! `pipeline/src/batch.rs`. Numbers: `pipeline/src/window/measure.rs`. Columns of single events:
//! `PLACE` in `pipeline/src/rollup.rs`. The hash of a unique value:
//! `metrics/src/sketch/uniques.rs`. The 128-bit hashes are stored nowhere.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use exchange::{FieldName, FieldValue, Fields};
use pipeline::{KEY_TEXT_BYTES_MAX, KeyPart, Kind, Measure, Rollup, SketchOf};
use sinks::OwnedCell;
use twox_hash::{XxHash3_64, XxHash3_128};

use crate::plain::PlainLine;
use crate::scalar::bytes_of;

/// A part of a key, or of a row of a single event.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum CellKey {
    /// Nothing, which only rows of single events have.
    Absent,
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// The bits of a real number.
    Real(u64),
    /// Microseconds since the Unix epoch.
    Time(i64),
}

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinePlace {
    /// The number of its file.
    pub file: u32,
    /// The offset of its first byte.
    pub offset: u64,
}

/// Whose lines are counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Origin<'o> {
    /// The machine that has the log.
    pub node: &'o str,
    /// The name of the source.
    pub source: &'o str,
}

/// What is kept of the lines of a key.
#[derive(Debug)]
pub(crate) struct KeyRow {
    /// Where the first of them stands.
    pub first: LinePlace,
    /// In the order of the measures.
    pub kept: Vec<MeasureValue>,
    /// In the order of the sketches.
    pub values: Vec<SketchValues>,
    /// The sink has a row of this key.
    pub is_met: bool,
    /// It differs, in one table or in both.
    pub differs: bool,
}

/// The value of one measure.
#[derive(Debug, Clone)]
pub(crate) enum MeasureValue {
    /// A number of lines, or a sum of whole numbers.
    Count(i128),
    /// A sum of real numbers, and how large it would be without signs.
    Sum(f64, f64),
    /// The smallest or the largest number, if there is one.
    Extreme(Option<OwnedCell>),
    /// What lines of the latest time have.
    Last(Option<Latest>),
    /// Divided elsewhere.
    Mean,
}

/// The latest time, and the values of its lines, of which any may be the last: files have no order
/// among each other.
#[derive(Debug, Clone)]
pub(crate) struct Latest {
    time: i64,
    /// The value of the line that was read last.
    pub value: OwnedCell,
    hashes: HashSet<u128>,
}

impl Latest {
    /// Whether a line of that time has this value.
    pub(crate) fn may_be(&self, value: &OwnedCell) -> bool {
        self.hashes.contains(&hash(&[key_of(value)]))
    }

    /// How many different values they have.
    pub(crate) fn values(&self) -> usize {
        self.hashes.len()
    }
}

/// All the values that a sketch is of.
#[derive(Debug)]
pub(crate) enum SketchValues {
    /// The hashes of different texts.
    Unique(HashSet<u64>),
    /// How often each number came, by a whole number that has the same order.
    Quantiles(BTreeMap<i64, u64>),
}

impl SketchValues {
    /// Whether no value came.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Unique(values) => values.is_empty(),
            Self::Quantiles(values) => values.is_empty(),
        }
    }
}

/// A rollup under way.
pub(crate) struct RollupCount {
    /// What is counted.
    pub rollup: Arc<Rollup>,
    /// What was counted.
    pub rows: HashMap<Vec<CellKey>, KeyRow>,
    /// Rows of single events by the hash of what stands in them: how many, and where the first
    /// one's line stands.
    pub events: HashMap<u128, (u64, LinePlace)>,
    /// Lines that lack a number of the key.
    pub without_key: u64,
}

impl RollupCount {
    /// Nothing is counted yet.
    pub(crate) fn new(rollup: Arc<Rollup>) -> Self {
        Self { rollup, rows: HashMap::new(), events: HashMap::new(), without_key: 0 }
    }

    /// Counts a line.
    pub(crate) fn add(&mut self, line: &PlainLine, place: LinePlace, origin: Origin<'_>) {
        if self.rollup.filter.as_ref().is_some_and(|filter| !filter.matches(line)) {
            return;
        }
        if !self.rollup.raw.is_empty() {
            let place_of = [
                CellKey::Text(origin.node.to_owned()),
                CellKey::Text(origin.source.to_owned()),
                CellKey::Integer(place.offset.cast_signed()),
            ];
            let fields = self.rollup.raw.iter().map(|(field, kind)| cell(line, field, *kind));
            let row: Vec<CellKey> = place_of.into_iter().chain(fields).collect();
            self.events.entry(hash(&row)).or_insert((0, place)).0 += 1;
            return;
        }
        let time = line.time_us.cast_signed();
        let key: Option<Vec<CellKey>> =
            self.rollup.key.iter().map(|part| part_of(part, line, time)).collect();
        let Some(key) = key else {
            self.without_key += 1;
            return;
        };
        let rollup = &self.rollup;
        let row = self.rows.entry(key).or_insert_with(|| KeyRow {
            first: place,
            kept: rollup.measures.iter().map(nothing).collect(),
            values: rollup.sketches.iter().map(no_values).collect(),
            is_met: false,
            differs: false,
        });
        for (measure, kept) in rollup.measures.iter().zip(&mut row.kept) {
            keep(kept, measure, line, time);
        }
        for (sketch, values) in rollup.sketches.iter().zip(&mut row.values) {
            match (sketch, values) {
                (SketchOf::Unique(field), SketchValues::Unique(values)) => {
                    values.extend(
                        line.field(field).map(|value| XxHash3_64::oneshot(&bytes_of(value))),
                    );
                }
                (SketchOf::Quantiles(field), SketchValues::Quantiles(values)) => {
                    if let Some(OwnedCell::Real(number)) = number(line, field, Kind::Real) {
                        *values.entry(ordered(number)).or_default() += 1;
                    }
                }
                _ => unreachable!("values are made as the sketch is meant"),
            }
        }
    }
}

/// What tells rows of single events apart.
pub(crate) fn hash(row: &[CellKey]) -> u128 {
    XxHash3_128::oneshot(format!("{row:?}").as_bytes())
}

fn nothing(measure: &Measure) -> MeasureValue {
    match measure {
        Measure::Count | Measure::CountOf(_) => MeasureValue::Count(0),
        Measure::Sum(_, Kind::Real) => MeasureValue::Sum(0.0, 0.0),
        Measure::Sum(..) => MeasureValue::Count(0),
        Measure::Min(..) | Measure::Max(..) => MeasureValue::Extreme(None),
        Measure::Last(..) | Measure::LastTime(_) => MeasureValue::Last(None),
        Measure::Mean => MeasureValue::Mean,
    }
}

fn no_values(sketch: &SketchOf) -> SketchValues {
    match sketch {
        SketchOf::Unique(_) => SketchValues::Unique(HashSet::new()),
        SketchOf::Quantiles(_) => SketchValues::Quantiles(BTreeMap::new()),
    }
}

fn keep(kept: &mut MeasureValue, measure: &Measure, line: &PlainLine, time: i64) {
    match (measure, kept) {
        (Measure::Count, MeasureValue::Count(count)) => *count += 1,
        (Measure::CountOf(field), MeasureValue::Count(count)) => {
            *count += i128::from(line.field(field).is_some());
        }
        (Measure::Sum(field, kind), kept) => match (number(line, field, *kind), kept) {
            (Some(OwnedCell::Real(more)), MeasureValue::Sum(sum, size)) => {
                *sum += more;
                *size += more.abs();
            }
            (Some(OwnedCell::Integer(more)), MeasureValue::Count(sum)) => *sum += i128::from(more),
            _ => {}
        },
        (Measure::Min(field, kind), MeasureValue::Extreme(least)) => {
            let new = number(line, field, *kind);
            let is_less = |new: &OwnedCell| least.as_ref().is_none_or(|least| is_below(new, least));
            if let Some(new) = new.filter(is_less) {
                *least = Some(new);
            }
        }
        (Measure::Max(field, kind), MeasureValue::Extreme(most)) => {
            let new = number(line, field, *kind);
            let is_more = |new: &OwnedCell| most.as_ref().is_none_or(|most| is_below(most, new));
            if let Some(new) = new.filter(is_more) {
                *most = Some(new);
            }
        }
        (Measure::Last(field, kind), MeasureValue::Last(latest)) if line.field(field).is_some() => {
            let value = match kind {
                Kind::Text => {
                    line.field(field).map(|value| OwnedCell::Text(clean(value).into_bytes()))
                }
                kind => number(line, field, *kind),
            };
            keep_latest(latest, time, value.unwrap_or(OwnedCell::Absent));
        }
        (Measure::LastTime(field), MeasureValue::Last(latest)) if line.field(field).is_some() => {
            keep_latest(latest, time, OwnedCell::Time(time));
        }
        _ => {}
    }
}

fn keep_latest(latest: &mut Option<Latest>, time: i64, value: OwnedCell) {
    let hash = hash(&[key_of(&value)]);
    match latest {
        Some(latest) if latest.time > time => {}
        Some(latest) if latest.time == time => {
            latest.hashes.insert(hash);
            latest.value = value;
        }
        _ => *latest = Some(Latest { time, value, hashes: HashSet::from([hash]) }),
    }
}

fn is_below(one: &OwnedCell, other: &OwnedCell) -> bool {
    match (one, other) {
        (OwnedCell::Integer(one), OwnedCell::Integer(other))
        | (OwnedCell::Time(one), OwnedCell::Time(other)) => one < other,
        (OwnedCell::Real(one), OwnedCell::Real(other)) => one < other,
        _ => false,
    }
}

fn part_of(part: &KeyPart, line: &PlainLine, time: i64) -> Option<CellKey> {
    match part {
        KeyPart::Bucket(us) => Some(CellKey::Time(time.div_euclid(*us) * us)),
        KeyPart::Field(field, Kind::Text) => {
            let raw = line.field(field).map(bytes_of).unwrap_or_default();
            Some(CellKey::Text(short(&raw)))
        }
        KeyPart::Field(field, kind) => number(line, field, *kind).map(|value| key_of(&value)),
    }
}

fn cell(line: &PlainLine, field: &FieldName, kind: Kind) -> CellKey {
    match kind {
        Kind::Text => {
            line.field(field).map_or(CellKey::Absent, |value| CellKey::Text(clean(value)))
        }
        kind => number(line, field, kind).map_or(CellKey::Absent, |value| key_of(&value)),
    }
}

/// A value of a sink, or of a line, as a part of a key.
pub(crate) fn key_of(cell: &OwnedCell) -> CellKey {
    match cell {
        OwnedCell::Integer(number) => CellKey::Integer(*number),
        OwnedCell::Time(us) => CellKey::Time(*us),
        // Zero has two signs, and is one key.
        OwnedCell::Real(real) => CellKey::Real((real + 0.0).to_bits()),
        OwnedCell::Text(text) => CellKey::Text(String::from_utf8_lossy(text).into_owned()),
        OwnedCell::Absent | OwnedCell::Blob(_) => CellKey::Absent,
    }
}

/// The number that a field holds, in the type of its column.
fn number(line: &PlainLine, field: &FieldName, kind: Kind) -> Option<OwnedCell> {
    let value = line.field(field)?;
    let text = match &value {
        FieldValue::Text(text) => Some(std::str::from_utf8(text).ok()?.trim_ascii().to_owned()),
        _ => None,
    };
    Some(match (kind, value) {
        (Kind::Real, value) => {
            let real = match value {
                FieldValue::Integer(number) => number as f64,
                FieldValue::Real(real) => real,
                FieldValue::Text(_) => text?.parse().ok()?,
            };
            OwnedCell::Real(Some(real).filter(|real| real.is_finite())?)
        }
        (kind, value) => {
            let number = match value {
                FieldValue::Integer(number) => i64::try_from(number).ok()?,
                FieldValue::Real(real) if real.abs() < 9e15 => real.round() as i64,
                FieldValue::Real(_) => return None,
                FieldValue::Text(_) => text?.parse().ok()?,
            };
            if kind == Kind::Time { OwnedCell::Time(number) } else { OwnedCell::Integer(number) }
        }
    })
}

fn clean(value: FieldValue<'_>) -> String {
    String::from_utf8_lossy(&bytes_of(value)).replace('\0', "\u{fffd}")
}

/// Text in a key: behind its bound it ends in `…` and the hash of the whole.
fn short(raw: &[u8]) -> String {
    let text = String::from_utf8_lossy(raw).replace('\0', "\u{fffd}");
    if text.len() <= KEY_TEXT_BYTES_MAX {
        return text;
    }
    let most = KEY_TEXT_BYTES_MAX - '…'.len_utf8() - 16;
    let end = (0..=most).rfind(|at| text.is_char_boundary(*at)).expect("0 is a boundary");
    format!("{}…{:016x}", &text[..end], XxHash3_64::oneshot(raw))
}

/// A whole number in the order of real numbers.
fn ordered(real: f64) -> i64 {
    let bits = (real + 0.0).to_bits().cast_signed();
    bits ^ (((bits >> 63) as u64) >> 1).cast_signed()
}

/// The real number of a whole one in their order.
pub(crate) fn real_of(ordered: i64) -> f64 {
    f64::from_bits((ordered ^ (((ordered >> 63) as u64) >> 1).cast_signed()).cast_unsigned())
}
