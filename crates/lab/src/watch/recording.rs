//! Reads the file of a watch again: calls as a series, and signals in intervals beside them.
//!
//! Several starts become one: what lies between them was not measured. All times are those of the
//! start that measured them.
//! Invariant: the file is opened to be read only, so a watch may go on meanwhile. Intervals are as
//! they were written, up to [`INTERVALS_MAX`]; of longer times several become one: sums
//! add up, of levels the most counts.
//! Failure: a file of another program, or of another layout, is refused. So are several targets
//! when none was named. Bad blocks are left out, and a note counts them.

use std::collections::HashMap;
use std::io::Read as _;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use verdicts::{
    Attribute, AttributeValues, CALL_MS_MAX, PhaseColumn, Series, SignalColumn, SignalKind, Signals,
};

use super::grid::BLOCK;
use super::store::{APPLICATION, LAYOUT, SCALE, in_words, kind_name};
use crate::LabError;
use crate::import::{NO_EXCHANGES, ReadOptions};
use crate::inside::{NAMES_MAX, OTHER};

/// Intervals that are held beside calls: half a day at ten a second.
const INTERVALS_MAX: usize = 432_000;
const CORE: &str = "lateness of core ";
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// What a call has that lacks a property which others have.
const NONE: &str = "(none)";

/// A watch that was read.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// The calls to one target.
    pub series: Series,
    /// The signals beside them.
    pub signals: Signals,
}

/// The name under which the lateness of a core's sleeper is kept.
pub(super) fn core_name(core: usize) -> String {
    format!("{CORE}{core}")
}

/// Returns whether a file is a database, as those of a watch are.
pub fn is_recording(path: &Path) -> bool {
    let mut head = [0; MAGIC.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && &head == MAGIC
}

/// Reads the calls to `target`, or to the only one, in the time that `options` ask for.
///
/// # Errors
/// When the file is none of a watch, or has no such target, or several and none was named.
pub fn read_recording(
    path: &Path,
    target: Option<&str>,
    options: &ReadOptions,
) -> Result<Recording, LabError> {
    let refused = |reason| LabError::File { file: path.display().to_string(), reason };
    let sql = |error: rusqlite::Error| refused(in_words(&error));
    if options.filter.is_some() {
        return Err(refused(NO_EXCHANGES.to_owned()));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags).map_err(sql)?;
    let pragma = |name| database.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    if pragma("application_id").map_err(sql)? != APPLICATION {
        return Err(refused("it is no file of `tidegate lab watch`".to_owned()));
    }
    if pragma("user_version").map_err(sql)? != LAYOUT {
        return Err(refused("another version of this program wrote it".to_owned()));
    }
    let targets = targets(&database).map_err(sql)?;
    let (number, name) = chosen(&targets, target).map_err(refused)?;
    let mut series = calls(&database, *number, options).map_err(sql)?;
    series.name.clone_from(name);
    let origin = series.origin_unix_ms.unwrap_or(0.0);
    series.notes = notes(&database, options).map_err(sql)?;
    let (signals, bad) = signals(&database, origin, options).map_err(sql)?;
    if bad > 0 {
        series.notes.push(format!("{bad} blocks of signals are damaged, and left out"));
    }
    Ok(Recording { series, signals })
}

fn targets(database: &Connection) -> rusqlite::Result<Vec<(i64, String)>> {
    let mut found = database.prepare("SELECT target, name FROM targets ORDER BY target")?;
    let rows = found.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

fn chosen<'t>(
    targets: &'t [(i64, String)],
    name: Option<&str>,
) -> Result<&'t (i64, String), String> {
    let names = || targets.iter().map(|(_, name)| format!("`{name}`")).collect::<Vec<_>>();
    match (name, targets) {
        (_, []) => Err("it has no target".to_owned()),
        (None, [one]) => Ok(one),
        (None, _) => Err(format!("it has several targets; name one: {}", names().join(", "))),
        (Some(name), _) => targets
            .iter()
            .find(|(_, known)| known == name)
            .ok_or_else(|| format!("it has no target `{name}`, but {}", names().join(", "))),
    }
}

/// The time asked for, as bounds of SQL.
fn bounds(options: &ReadOptions) -> [f64; 2] {
    [options.since_unix_ms.unwrap_or(f64::MIN), options.until_unix_ms.unwrap_or(f64::MAX)]
}

fn notes(database: &Connection, options: &ReadOptions) -> rusqlite::Result<Vec<String>> {
    let select = "SELECT strftime('%Y-%m-%d %H:%M:%S', at_unix_ms / 1000, 'unixepoch') || ' UTC: ' \
                  || note FROM notes WHERE at_unix_ms >= ? AND at_unix_ms < ? ORDER BY at_unix_ms";
    let mut found = database.prepare(select)?;
    let rows = found.query_map(bounds(options), |row| row.get(0))?;
    rows.collect()
}

fn calls(database: &Connection, target: i64, options: &ReadOptions) -> rusqlite::Result<Series> {
    let select = "SELECT at_unix_ms, total_ms, failure, steps, properties FROM calls WHERE \
                  target = ?1 AND at_unix_ms >= ?2 AND at_unix_ms < ?3 ORDER BY at_unix_ms";
    let mut found = database.prepare(select)?;
    let [since, before] = bounds(options);
    let mut rows = found.query(rusqlite::params![target, since, before])?;
    let mut series = Series::default();
    let mut columns = Columns::default();
    while let Some(row) = rows.next()? {
        let at_unix_ms: f64 = row.get(0)?;
        let Some(total_ms) = row.get::<_, Option<f64>>(1)? else {
            let failure: Option<String> = row.get(2)?;
            let reason = failure.unwrap_or_else(|| "failed".to_owned());
            *series.left_out.failed.entry(reason).or_default() += 1;
            continue;
        };
        if !(0.0..=CALL_MS_MAX).contains(&total_ms) {
            *series.left_out.bad.entry("the time is no duration".to_owned()).or_default() += 1;
            continue;
        }
        let origin = *series.origin_unix_ms.get_or_insert(at_unix_ms);
        series.began_ms.push(at_unix_ms - origin);
        series.total_ms.push(total_ms);
        columns.push(&row.get::<_, String>(3)?, &row.get::<_, String>(4)?);
    }
    columns.into(&mut series);
    Ok(series)
}

/// Steps and properties of calls, which need not all have the same.
#[derive(Debug, Default)]
struct Columns {
    rows: usize,
    steps: Vec<PhaseColumn>,
    properties: Vec<(String, Vec<serde_json::Value>)>,
}

impl Columns {
    fn push(&mut self, steps: &str, properties: &str) {
        let object = |text: &str| {
            serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text)
                .unwrap_or_default()
        };
        for (name, value) in object(steps) {
            let known = self.steps.iter().position(|step| step.name == name);
            let name = if self.steps.len() < NAMES_MAX { name } else { OTHER.to_owned() };
            let other = || self.steps.iter().position(|step| step.name == name);
            let at = known.or_else(other).unwrap_or_else(|| {
                self.steps.push(PhaseColumn { name: name.clone(), ms: Vec::new() });
                self.steps.len() - 1
            });
            let ms = &mut self.steps[at].ms;
            ms.resize(self.rows + 1, 0.0);
            ms[self.rows] += value.as_f64().unwrap_or(0.0).max(0.0);
        }
        for (name, value) in object(properties) {
            let known = self.properties.iter().position(|(known, _)| *known == name);
            if known.is_none() && self.properties.len() == NAMES_MAX {
                continue;
            }
            let at = known.unwrap_or_else(|| {
                self.properties.push((name, Vec::new()));
                self.properties.len() - 1
            });
            self.properties[at].1.resize(self.rows, serde_json::Value::Null);
            self.properties[at].1.push(value);
        }
        self.rows += 1;
    }

    fn into(mut self, series: &mut Series) {
        for step in &mut self.steps {
            step.ms.resize(self.rows, 0.0);
        }
        series.phases = self.steps;
        for (name, mut values) in self.properties {
            values.resize(self.rows, serde_json::Value::Null);
            series.attributes.push(Attribute { name, values: attribute(&values) });
        }
    }
}

/// Numbers where all are, names otherwise.
fn attribute(values: &[serde_json::Value]) -> AttributeValues {
    if values.iter().all(|value| value.is_number() || value.is_null()) {
        let numbers = values.iter().map(|value| value.as_f64().unwrap_or(f64::NAN));
        return AttributeValues::Numbers(numbers.collect());
    }
    let mut places: HashMap<&str, u32> = HashMap::new();
    let mut names = Vec::new();
    let of = values.iter().map(|value| value.as_str().unwrap_or(NONE)).map(|name| {
        *places.entry(name).or_insert_with(|| {
            names.push(name.to_owned());
            names.len() as u32 - 1
        })
    });
    let of = of.collect();
    AttributeValues::Names { names, of }
}

/// The signals from the first block to the last, and how many blocks are damaged.
fn signals(
    database: &Connection,
    origin_unix_ms: f64,
    options: &ReadOptions,
) -> rusqlite::Result<(Signals, u64)> {
    let span = "SELECT min(at_unix_ms), max(at_unix_ms), (SELECT max(interval_ms) FROM runs) FROM \
                blocks WHERE at_unix_ms >= ? AND at_unix_ms < ?";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let (first, last, interval_ms): (Option<f64>, Option<f64>, Option<f64>) =
        database.query_row(span, bounds(options), row)?;
    let (Some(first), Some(last), Some(written_ms)) = (first, last, interval_ms) else {
        return Ok((Signals::default(), 0));
    };
    let written = ((last - first) / written_ms) as usize + BLOCK;
    let together = written.div_ceil(INTERVALS_MAX).max(1);
    let mut found = IntervalSums {
        names: names(database)?,
        columns: Vec::new(),
        places: HashMap::new(),
        measured: vec![false; written.div_ceil(together)],
        together,
    };
    let select = "SELECT at_unix_ms, deltas FROM blocks WHERE at_unix_ms >= ? AND at_unix_ms < ? \
                  ORDER BY at_unix_ms";
    let mut blocks = database.prepare(select)?;
    let mut rows = blocks.query(bounds(options))?;
    let mut bad = 0;
    while let Some(row) = rows.next()? {
        let at = ((row.get::<_, f64>(0)? - first) / written_ms).round() as usize;
        let deltas: Vec<u8> = row.get(1)?;
        bad += u64::from(found.add(at, &deltas).is_none());
    }
    let interval_ms = written_ms * together as f64;
    Ok((found.signals(first - origin_unix_ms, interval_ms), bad))
}

fn names(database: &Connection) -> rusqlite::Result<HashMap<u64, SignalColumn>> {
    let mut found = database.prepare("SELECT signal, name, unit, kind, is_program FROM signals")?;
    let rows = found.query_map([], |row| {
        let kind: String = row.get(3)?;
        let kinds = [SignalKind::Level, SignalKind::Peak];
        let column = SignalColumn {
            name: row.get(1)?,
            unit: row.get(2)?,
            kind: kinds.into_iter().find(|it| kind_name(*it) == kind).unwrap_or_default(),
            is_program: row.get(4)?,
            values: Vec::new(),
        };
        Ok((row.get::<_, i64>(0)?.unsigned_abs(), column))
    })?;
    rows.collect()
}

/// Signals on their way into columns.
struct IntervalSums {
    names: HashMap<u64, SignalColumn>,
    columns: Vec<SignalColumn>,
    places: HashMap<u64, usize>,
    measured: Vec<bool>,
    /// Intervals as written that become one.
    together: usize,
}

impl IntervalSums {
    /// Adds a block that begins with an interval; nothing of it where it is damaged.
    fn add(&mut self, at: usize, deltas: &[u8]) -> Option<()> {
        let grown = grown(deltas)?;
        if !grown.iter().all(|it| self.names.contains_key(&it.signal)) {
            return None;
        }
        for interval in at..at + BLOCK {
            if let Some(measured) = self.measured.get_mut(interval / self.together) {
                *measured = true;
            }
        }
        for Grown { signal, interval, value } in grown {
            let column = self.column(signal)?;
            let is_sum = self.columns[column].kind == SignalKind::Sum;
            let place = (at + interval) / self.together;
            if let Some(sum) = self.columns[column].values.get_mut(place) {
                *sum = if is_sum { *sum + value } else { sum.max(value) };
            }
        }
        Some(())
    }

    fn column(&mut self, signal: u64) -> Option<usize> {
        if let Some(place) = self.places.get(&signal) {
            return Some(*place);
        }
        let values = vec![0.0; self.measured.len()];
        self.columns.push(SignalColumn { values, ..self.names.get(&signal)?.clone() });
        self.places.insert(signal, self.columns.len() - 1);
        Some(self.columns.len() - 1)
    }

    /// Adds the signals of the host that were looked at and never grew.
    fn add_constant(&mut self) {
        let missing: Vec<u64> = self
            .names
            .iter()
            .filter(|(signal, column)| !column.is_program && !self.places.contains_key(signal))
            .map(|(signal, _)| *signal)
            .collect();
        for signal in missing {
            let _ = self.column(signal);
        }
    }

    /// The columns, with what was not measured as NaN, and the cores by themselves.
    fn signals(mut self, began_ms: f64, interval_ms: f64) -> Signals {
        self.add_constant();
        for column in &mut self.columns {
            let all = column.values.iter_mut().zip(&self.measured);
            all.filter(|(_, measured)| !**measured).for_each(|(value, _)| *value = f32::NAN);
        }
        let is_core = |column: &SignalColumn| column.name.starts_with(CORE);
        let (mut cores, mut columns): (Vec<_>, Vec<_>) =
            self.columns.into_iter().partition(is_core);
        cores.sort_by(|one, other| one.name.cmp(&other.name));
        if cores.len() > 1 {
            let least = |at| cores.iter().map(|core| core.values[at]).fold(f32::MAX, f32::min);
            let values = (0..self.measured.len()).map(least).collect();
            let name = "lateness of all cores".to_owned();
            columns.push(SignalColumn { name, values, ..cores[0].clone() });
        }
        columns.sort_by(|one, other| one.name.cmp(&other.name));
        let late = cores.iter().map(|core| core.values.clone()).collect();
        columns.extend(cores);
        Signals { began_ms, interval_ms, columns, cores: late }
    }
}

/// What a signal grew by in an interval of a block.
struct Grown {
    signal: u64,
    interval: usize,
    value: f32,
}

/// What a block says; nothing where it is damaged. A block without a signal is damaged, too: cores
/// are always a little late.
fn grown(deltas: &[u8]) -> Option<Vec<Grown>> {
    let mut found = Vec::new();
    let mut bytes = deltas.iter().copied();
    while bytes.len() > 0 {
        let signal = number(&mut bytes)?;
        let mut interval = 0;
        while interval < BLOCK {
            let value = number(&mut bytes)?;
            if value == 0 {
                interval += usize::try_from(number(&mut bytes)?).ok()?.checked_add(1)?;
                continue;
            }
            found.push(Grown { signal, interval, value: (value as f64 / SCALE) as f32 });
            interval += 1;
        }
    }
    (!found.is_empty()).then_some(found)
}

/// The next number in LEB128; nothing at the end, or where it is none.
fn number(bytes: &mut impl Iterator<Item = u8>) -> Option<u64> {
    let (mut number, mut shift) = (0_u64, 0);
    loop {
        let byte = bytes.next()?;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests;
