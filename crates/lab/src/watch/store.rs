//! Writes what is watched into SQLite: calls, blocks of signals, notes.
//!
//! | table | a row |
//! |---|---|
//! | `runs` | each start: `run, began_unix_ms, interval_ms` |
//! | `targets` | `target, name` |
//! | `calls` | a call: `at_unix_ms, target, total_ms, failure, steps, properties` |
//! | `signals` | `signal, name, unit, kind, is_program` |
//! | `blocks` | a hundred intervals of all signals: `at_unix_ms, run, deltas` |
//! | `minutes` | the same for people: `at_unix_ms, signal, total, most` |
//! | `notes` | `at_unix_ms, note` |
//!
//! Steps and properties are JSON. A row of `minutes` is dated where its minute begins; the last one
//! of a run is shorter. `total` adds up its intervals, `most` is their largest.
//! `deltas` is a run of numbers in LEB128. Each signal that grew has its number, then a hundred
//! values in thousandths. After a 0 comes how many zeros follow it.
//! Invariant: `application_id` and `user_version` tell such a file; another's is not touched. One
//! process watches into a file at a time, by a lock on it, under whatever name. A transaction is a
//! second's calls or a block. A kill loses calls of two seconds at most, and signals of twenty.
//! Bounds: while the file has more than its bytes, up to a tenth of the rows goes each second, the
//! oldest first. What is older than `keep_for` goes once a minute. What the disk refuses waits, up
//! to [`WAITING_MAX`] rows; then the oldest is lost, and a note counts it once the disk takes notes
//! again.
//! Failure: a file that was deleted or replaced meanwhile is an error at the end, and a note
//! before.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use stdx::plain_file;
use verdicts::{Attribute, AttributeValues, Series, SignalKind};

use super::grid::{Block, SignalName};
use super::plan::{INTERVAL_NS, WatchPlan};
use crate::LabError;

/// `application_id` of our files: the letters `TGlw`.
pub(super) const APPLICATION: i64 = 0x5447_6c77;
/// `user_version` of their tables.
pub(super) const LAYOUT: i64 = 1;
/// Rows that wait for a disk: five minutes of 60 signals and some calls.
const WAITING_MAX: usize = 6_000;
const TEND_NS: u64 = 60_000_000_000;
/// Milliseconds from which on a call was sent late.
const LATE_MS_MIN: f64 = 1.0;
/// What the log beside the file keeps of the disk.
const LOG_BYTES_MAX: i64 = 4 << 20;
const RETRY_NS: u64 = 5_000_000_000;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS runs (run INTEGER PRIMARY KEY, began_unix_ms REAL, interval_ms REAL);
CREATE TABLE IF NOT EXISTS targets (target INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE IF NOT EXISTS calls (at_unix_ms REAL, target INTEGER, total_ms REAL, failure TEXT,
    steps TEXT, properties TEXT);
CREATE INDEX IF NOT EXISTS calls_at ON calls (at_unix_ms);
CREATE TABLE IF NOT EXISTS signals (signal INTEGER PRIMARY KEY, name TEXT UNIQUE, unit TEXT,
    kind TEXT, is_program INTEGER);
CREATE TABLE IF NOT EXISTS blocks (at_unix_ms REAL, run INTEGER, deltas BLOB);
CREATE INDEX IF NOT EXISTS blocks_at ON blocks (at_unix_ms);
CREATE TABLE IF NOT EXISTS minutes (at_unix_ms REAL, signal INTEGER, total REAL, most REAL);
CREATE INDEX IF NOT EXISTS minutes_at ON minutes (at_unix_ms);
CREATE TABLE IF NOT EXISTS notes (at_unix_ms REAL, note TEXT);
";

/// A row that is to be written.
#[derive(Debug)]
enum Row {
    Call { at_unix_ms: f64, target: i64, outcome: CallRow },
    Block { at_unix_ms: f64, deltas: Vec<u8> },
    Minute { at_unix_ms: f64, signal: i64, total: f64, most: f64 },
    Note { at_unix_ms: f64, note: String },
}

/// What became of a call.
#[derive(Debug, Default)]
struct CallRow {
    total_ms: Option<f64>,
    failure: Option<String>,
    steps: String,
    properties: String,
}

/// The blocks since the last row for people.
#[derive(Debug, Default)]
struct PartOfMinute {
    began_unix_ms: f64,
    blocks: u32,
    /// The sum and the most of each signal.
    sums: HashMap<i64, (f64, f64)>,
}

/// The file of a watch.
pub(super) struct WatchStore {
    database: Connection,
    path: PathBuf,
    /// The file once more, locked as long as we write.
    file: File,
    origin_unix_ms: f64,
    keep_ms: f64,
    bytes_max: u64,
    run: i64,
    targets: Vec<i64>,
    signals: HashMap<String, i64>,
    minute: PartOfMinute,
    waiting: VecDeque<Row>,
    lost: u64,
    next_ns: u64,
    tended_ns: u64,
}

impl WatchStore {
    /// Opens the plan's file, or makes it.
    pub(super) fn open(plan: &WatchPlan, origin_unix_ms: f64) -> Result<Self, LabError> {
        let refused =
            |reason: String| LabError::File { file: plan.file.display().to_string(), reason };
        let file = locked(&plan.file).map_err(refused)?;
        let database = opened(&plan.file).map_err(|error| refused(in_words(&error)))??;
        let mut store = Self {
            database,
            path: plan.file.clone(),
            file,
            origin_unix_ms,
            keep_ms: plan.keep_for.as_secs_f64() * 1e3,
            bytes_max: plan.bytes_max,
            run: 0,
            targets: Vec::new(),
            signals: HashMap::new(),
            minute: PartOfMinute::default(),
            waiting: VecDeque::new(),
            lost: 0,
            next_ns: 0,
            tended_ns: 0,
        };
        let names = plan.probes.iter().map(|probe| probe.targets[0].to_string());
        store.register(&names.collect::<Vec<_>>()).map_err(|error| refused(in_words(&error)))?;
        Ok(store)
    }

    /// Enters the run and its targets.
    fn register(&mut self, names: &[String]) -> rusqlite::Result<()> {
        let interval_ms = INTERVAL_NS as f64 / 1e6;
        self.database.execute(
            "INSERT INTO runs (began_unix_ms, interval_ms) VALUES (?, ?)",
            params![self.origin_unix_ms, interval_ms],
        )?;
        self.run = self.database.last_insert_rowid();
        for name in names {
            self.database.execute("INSERT OR IGNORE INTO targets (name) VALUES (?)", [name])?;
            let row = |row: &rusqlite::Row<'_>| row.get(0);
            let target = "SELECT target FROM targets WHERE name = ?";
            self.targets.push(self.database.query_row(target, [name], row)?);
        }
        Ok(())
    }

    /// Notes the start; returns what is worth saying of the file.
    pub(super) fn begin(&mut self) -> Result<Vec<String>, LabError> {
        self.note(self.origin_unix_ms, "the watch began");
        Ok(match self.run {
            1 => Vec::new(),
            run => vec![format!("the file goes on: this is start {run}")],
        })
    }

    /// Keeps a block, and each six of them a row of each signal for people.
    pub(super) fn keep(&mut self, block: Block) {
        let at_unix_ms = self.origin_unix_ms + (block.first * INTERVAL_NS) as f64 / 1e6;
        let mut deltas = Vec::new();
        for (column, signal) in block.columns.iter().zip(&block.signals) {
            let Some(signal) = signal else { continue };
            let has_grown = column.iter().any(|it| *it != 0.0);
            // One that was looked at and never grew has a name, too: a report says so.
            let signal = match self.signal(signal) {
                Ok(signal) if has_grown => signal,
                Ok(_) => continue,
                Err(_) => {
                    self.lost += u64::from(has_grown);
                    continue;
                }
            };
            push_column(&mut deltas, signal, column);
            let sum: f64 = column.iter().copied().map(f64::from).sum();
            let most = column.iter().copied().fold(0.0, f32::max);
            let entry = self.minute.sums.entry(signal).or_default();
            *entry = (entry.0 + sum, entry.1.max(f64::from(most)));
        }
        self.push(Row::Block { at_unix_ms, deltas });
        if self.minute.blocks == 0 {
            self.minute.began_unix_ms = at_unix_ms;
        }
        self.minute.blocks += 1;
        if self.minute.blocks == 6 {
            self.keep_minute();
        }
    }

    /// Keeps a row of each signal for the blocks since the last.
    fn keep_minute(&mut self) {
        let PartOfMinute { began_unix_ms: at_unix_ms, sums, .. } = std::mem::take(&mut self.minute);
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_by_key(|(signal, _)| *signal);
        for (signal, (total, most)) in sums {
            self.push(Row::Minute { at_unix_ms, signal, total, most });
        }
    }

    /// Keeps calls to a target; those that failed are dated `now_ms` after the origin.
    pub(super) fn calls(&mut self, target: usize, series: Series, now_ms: f64) {
        let target = self.targets[target];
        for row in 0..series.len() {
            let at_unix_ms = self.origin_unix_ms + series.began_ms[row];
            let steps = series.phases.iter().map(|phase| (&*phase.name, phase.ms[row]));
            let steps = steps.filter(|(_, ms)| *ms > 0.0);
            let outcome = CallRow {
                total_ms: Some(series.total_ms[row]),
                failure: None,
                steps: numbers(steps),
                properties: properties(&series, row),
            };
            self.push(Row::Call { at_unix_ms, target, outcome });
        }
        for (failure, count) in series.left_out.failed {
            for _ in 0..count {
                let outcome = CallRow { failure: Some(failure.clone()), ..CallRow::default() };
                let at_unix_ms = self.origin_unix_ms + now_ms;
                self.push(Row::Call { at_unix_ms, target, outcome });
            }
        }
    }

    /// Keeps a note.
    pub(super) fn note(&mut self, at_unix_ms: f64, note: &str) {
        self.push(Row::Note { at_unix_ms, note: note.to_owned() });
    }

    /// Writes what waits, and deletes what is too old or too much; returns what went wrong.
    pub(super) fn tend(&mut self, now_ns: u64) -> Vec<String> {
        if now_ns < self.next_ns || self.waiting.is_empty() {
            return Vec::new();
        }
        self.next_ns = now_ns + 1_000_000_000;
        let mut notes = Vec::new();
        if let Err(reason) = self.expect_in_place() {
            notes.push(reason);
            self.next_ns = now_ns + RETRY_NS;
        } else if let Err(error) = self.write() {
            notes.push(format!(
                "the file takes nothing now ({}): {} rows wait, {} are lost",
                in_words(&error),
                self.waiting.len(),
                self.lost
            ));
            self.next_ns = now_ns + RETRY_NS;
        } else if let Err(error) = self.shrink(now_ns) {
            notes.push(format!("delete what is old: {}", in_words(&error)));
        }
        notes
    }

    /// Looks whether the path still leads to the file.
    fn expect_in_place(&self) -> Result<(), String> {
        let of = |found: io::Result<Metadata>| found.map(|it| (it.dev(), it.ino())).ok();
        match of(fs::metadata(&self.path)) {
            found if found == of(self.file.metadata()) => Ok(()),
            _ => Err(format!("`{}` was deleted or replaced: nothing is kept", self.path.display())),
        }
    }

    /// The bytes of the file that are in use.
    pub(super) fn bytes(&self) -> u64 {
        used_bytes(&self.database).unwrap_or(0)
    }

    /// Writes all that is left.
    ///
    /// # Errors
    /// When the disk refuses it: what waits is lost.
    pub(super) fn end(mut self, now_unix_ms: f64) -> Result<(), LabError> {
        self.keep_minute();
        self.note(now_unix_ms, "the watch ended");
        let file = self.path.display().to_string();
        if self.expect_in_place().is_err() {
            let reason = "it was deleted or replaced while it was watched into".to_owned();
            return Err(LabError::File { file, reason });
        }
        self.write().map_err(|error| LabError::File {
            file,
            reason: format!("{} rows are lost: {}", self.waiting.len(), in_words(&error)),
        })
    }

    fn push(&mut self, row: Row) {
        if self.waiting.len() >= WAITING_MAX {
            self.waiting.pop_front();
            self.lost += 1;
        }
        self.waiting.push_back(row);
    }

    fn write(&mut self) -> rusqlite::Result<()> {
        let lost = self.lost;
        let transaction = self.database.transaction()?;
        for row in &self.waiting {
            insert(&transaction, self.run, row)?;
        }
        if lost > 0 {
            let note = format!("{lost} rows were lost while the file took nothing");
            let at_unix_ms = self.waiting.iter().map(Row::at_unix_ms).fold(0.0, f64::max);
            insert(&transaction, self.run, &Row::Note { at_unix_ms, note })?;
        }
        transaction.commit()?;
        self.waiting.clear();
        self.lost = 0;
        Ok(())
    }

    /// Deletes what is too old, once a minute, and the oldest of what is too much.
    fn shrink(&mut self, now_ns: u64) -> rusqlite::Result<()> {
        if now_ns >= self.tended_ns + TEND_NS {
            self.tended_ns = now_ns;
            let now_unix_ms = self.origin_unix_ms + now_ns as f64 / 1e6;
            delete_before(&self.database, now_unix_ms - self.keep_ms)?;
        }
        if used_bytes(&self.database)? > self.bytes_max {
            // The earlier of the two: a tenth of the rows at most goes.
            let before = "SELECT min(at_unix_ms) FROM (SELECT at_unix_ms FROM (SELECT at_unix_ms \
                          FROM calls ORDER BY at_unix_ms LIMIT 1 OFFSET (SELECT count(*) / 10 + 1 \
                          FROM calls)) UNION ALL SELECT at_unix_ms FROM (SELECT at_unix_ms FROM \
                          blocks ORDER BY at_unix_ms LIMIT 1 OFFSET (SELECT count(*) / 10 + 1 FROM \
                          blocks)))";
            let before: Option<f64> = self.database.query_row(before, [], |row| row.get(0))?;
            if let Some(before) = before {
                delete_before(&self.database, before)?;
                self.database.execute_batch("PRAGMA incremental_vacuum")?;
            }
        }
        Ok(())
    }

    fn signal(&mut self, signal: &SignalName) -> rusqlite::Result<i64> {
        let SignalName { name, unit, kind, is_program } = signal;
        if let Some(signal) = self.signals.get(name) {
            return Ok(*signal);
        }
        let insert = "INSERT OR IGNORE INTO signals (name, unit, kind, is_program) VALUES \
                      (?, ?, ?, ?)";
        self.database.execute(insert, params![name, unit, kind_name(*kind), is_program])?;
        let select = "SELECT signal FROM signals WHERE name = ?";
        let signal = self.database.query_row(select, [name], |row| row.get(0))?;
        self.signals.insert(name.to_owned(), signal);
        Ok(signal)
    }
}

impl Row {
    fn at_unix_ms(&self) -> f64 {
        match self {
            Self::Call { at_unix_ms, .. }
            | Self::Block { at_unix_ms, .. }
            | Self::Minute { at_unix_ms, .. }
            | Self::Note { at_unix_ms, .. } => *at_unix_ms,
        }
    }
}

fn insert(database: &Connection, run: i64, row: &Row) -> rusqlite::Result<()> {
    match row {
        Row::Call { at_unix_ms, target, outcome } => database
            .prepare_cached("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)")?
            .execute(params![
                at_unix_ms,
                target,
                outcome.total_ms,
                outcome.failure,
                outcome.steps,
                outcome.properties
            ]),
        Row::Block { at_unix_ms, deltas } => database
            .prepare_cached("INSERT INTO blocks VALUES (?, ?, ?)")?
            .execute(params![at_unix_ms, run, deltas]),
        Row::Minute { at_unix_ms, signal, total, most } => database
            .prepare_cached("INSERT INTO minutes VALUES (?, ?, ?, ?)")?
            .execute(params![at_unix_ms, signal, total, most]),
        Row::Note { at_unix_ms, note } => database
            .prepare_cached("INSERT INTO notes VALUES (?, ?)")?
            .execute(params![at_unix_ms, note]),
    }
    .map(drop)
}

/// The file, made if need be, under a lock of flock(2): SQLite's are of fcntl(2).
///
/// Those end when the process closes any descriptor of the file, so it stays open.
fn locked(file: &Path) -> Result<File, String> {
    let opened = plain_file::append(file).map_err(|error| crate::error::plain(&error))?;
    match opened.try_lock() {
        Err(TryLockError::WouldBlock) => Err("another watch writes it".to_owned()),
        Err(TryLockError::Error(error)) => Err(crate::error::plain(&error)),
        Ok(()) => Ok(opened),
    }
}

/// Opens our file or a new one.
fn opened(file: &Path) -> rusqlite::Result<Result<Connection, LabError>> {
    let database = Connection::open(file)?;
    let whose: i64 = database.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let layout: i64 = database.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables: i64 =
        database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let refused = |reason: &str| {
        Ok(Err(LabError::File { file: file.display().to_string(), reason: reason.to_owned() }))
    };
    if tables > 0 && whose != APPLICATION {
        return refused("it is the database of another program; name a new file");
    }
    if tables > 0 && layout != LAYOUT {
        return refused("another version of this program wrote it; name a new file");
    }
    if tables == 0 {
        // Or pages that were freed would stay in the file.
        database.pragma_update(None, "auto_vacuum", "incremental")?;
    }
    database.pragma_update(None, "journal_mode", "wal")?;
    database.pragma_update(None, "journal_size_limit", LOG_BYTES_MAX)?;
    database.pragma_update(None, "synchronous", "normal")?;
    database.pragma_update(None, "application_id", APPLICATION)?;
    database.pragma_update(None, "user_version", LAYOUT)?;
    database.execute_batch(TABLES)?;
    Ok(Ok(database))
}

/// How a kind is written.
pub(super) fn kind_name(kind: SignalKind) -> &'static str {
    match kind {
        SignalKind::Sum => "sum",
        SignalKind::Level => "level",
        SignalKind::Peak => "peak",
    }
}

fn used_bytes(database: &Connection) -> rusqlite::Result<u64> {
    let pragma = |name: &str| database.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = pragma("page_count")? - pragma("freelist_count")?;
    Ok((pages * pragma("page_size")?).unsigned_abs())
}

fn delete_before(database: &Connection, unix_ms: f64) -> rusqlite::Result<()> {
    for table in ["calls", "blocks", "minutes", "notes"] {
        let delete = format!("DELETE FROM {table} WHERE at_unix_ms < ?");
        database.execute(&delete, [unix_ms])?;
    }
    Ok(())
}

/// SQLite's reason, without the object that the caller names.
pub(super) fn in_words(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(code, text) => {
            text.clone().unwrap_or_else(|| code.to_string())
        }
        other => other.to_string(),
    }
}

/// Numbers by name, as JSON.
fn numbers<'a>(named: impl Iterator<Item = (&'a str, f64)>) -> String {
    let rounded = |value: f64| serde_json::json!((value * 1e6).round() / 1e6);
    let object: serde_json::Map<String, serde_json::Value> =
        named.map(|(name, value)| (name.to_owned(), rounded(value))).collect();
    serde_json::Value::Object(object).to_string()
}

/// The properties that a call has, as JSON.
fn properties(series: &Series, row: usize) -> String {
    let all = series.attributes.iter();
    let is_there = |attribute: &Attribute| match &attribute.values {
        // Less is how the probe sends, and no property of a call.
        AttributeValues::Numbers(ms) if attribute.name == "late_ms" => ms[row] >= LATE_MS_MIN,
        AttributeValues::Numbers(numbers) => !numbers[row].is_nan(),
        AttributeValues::Names { names, of } => !names[of[row] as usize].is_empty(),
    };
    let value = |values: &AttributeValues| match values {
        AttributeValues::Names { names, of } => serde_json::json!(names[of[row] as usize]),
        AttributeValues::Numbers(numbers) => serde_json::json!(numbers[row]),
    };
    let object: serde_json::Map<String, serde_json::Value> = all
        .filter(|attribute| is_there(attribute))
        .map(|attribute| (attribute.name.clone(), value(&attribute.values)))
        .collect();
    serde_json::Value::Object(object).to_string()
}

/// Values of a signal are kept to thousandths.
pub(super) const SCALE: f64 = 1000.0;

fn push_column(out: &mut Vec<u8>, signal: i64, column: &[f32]) {
    push_number(out, signal.unsigned_abs());
    let mut zeros = 0_u64;
    for value in column {
        let number = (f64::from(*value) * SCALE).round().max(0.0) as u64;
        if number == 0 {
            zeros += 1;
            continue;
        }
        push_zeros(out, &mut zeros);
        push_number(out, number);
    }
    push_zeros(out, &mut zeros);
}

fn push_zeros(out: &mut Vec<u8>, zeros: &mut u64) {
    if *zeros > 0 {
        out.push(0);
        push_number(out, *zeros - 1);
        *zeros = 0;
    }
}

/// LEB128, as in DWARF.
fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
mod tests;
