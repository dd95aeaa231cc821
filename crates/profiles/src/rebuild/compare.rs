//! Compares what is served with what a build from nothing makes of the same journal.
//!
//! The build ends where the last one ended, in the journal and in time, so that both must be equal
//! to the byte. It writes beside the file and removes that again.
//! Invariant: neither the file nor its state is touched. A scheduled build may go on meanwhile: the
//! tables that are compared stay open. A comparison that is under way refuses a second one.

use std::fmt;
use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::{JournalBuild, lines};
use crate::builder::{self, BuildContext, Collector, Unfinished};
use crate::config::Plan;
use crate::connections;
use crate::error::ProfilesError;
use crate::key::UserKey;
use crate::state::{self, JournalPosition, Manifest};
use crate::table::{Merge, Table};

/// Differences that are named.
const NAMED_MAX: usize = 10;

/// How what is served differs from a build from nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildComparison {
    /// Profiles served.
    pub rows: u64,
    /// Profiles of the whole build.
    pub whole_rows: u64,
    /// When both end, in milliseconds since the Unix epoch.
    pub built_unix_ms: u64,
    /// Lines of the journal that the whole build read.
    pub lines: u64,
    /// Profiles that differ, or that only one of both has.
    pub differences: u64,
    /// The first of them, by key.
    pub named: Vec<String>,
}

/// Builds the file of `plan` from the whole journal in `dir`, elsewhere, and compares it with what
/// is served.
///
/// # Errors
/// When there is no state of a build by these settings, or the state, the journal or the file
/// cannot be read. When another comparison is under way, or the disk is full.
pub fn compare_with_whole(
    dir: &Path,
    plan: &Plan,
    user_key: &UserKey,
) -> Result<BuildComparison, ProfilesError> {
    let mut build = JournalBuild::new(dir, plan, user_key, u64::MAX)?;
    let served = connections::open(&plan.file).map_err(ProfilesError::sqlite(&plan.file))?;
    let none = |reason: &str| {
        let reason = format!("{reason}; hint: compare after a build by these settings");
        ProfilesError::unfit(&plan.file, reason)
    };
    let manifest = build.last_manifest().map_err(|reason| none(&reason))?;
    let manifest = manifest.ok_or_else(|| none("there is no state of an earlier build"))?;
    if manifest.items != build.items.checksum {
        return Err(none("the items file has changed"));
    }
    build.now_unix_ms = manifest.built_unix_ms;
    let changes = state::open_all(&build.dir, &manifest.changes);
    let changes = changes.map_err(ProfilesError::state(&build.dir))?;
    let name = plan.file.file_name().unwrap_or_default().to_string_lossy();
    let beside = plan.file.with_file_name(format!(".{name}.compared"));
    let unfinished = Unfinished::create(&beside)?;
    let tables = unfinished.path().with_extension("building.tables");
    let compared = build_whole(&build, &manifest, &unfinished, &tables).and_then(|lines| {
        let whole = unfinished.path();
        let whole = connections::open(whole).map_err(ProfilesError::sqlite(whole))?;
        let mut comparison = BuildComparison::of(&manifest, lines);
        comparison.compare(&served, &changes, &whole, &build)?;
        Ok(comparison)
    });
    // What is left there is removed by the next comparison.
    fs::remove_dir_all(&tables).ok();
    compared
}

/// Builds from the whole journal, up to where the last build ended. Returns the lines it read.
fn build_whole(
    build: &JournalBuild<'_>,
    manifest: &Manifest,
    unfinished: &Unfinished,
    tables: &Path,
) -> Result<u64, ProfilesError> {
    let mut position = JournalPosition::default();
    let lines = lines::open(build.journal, &mut position, u64::MAX)?;
    let mut lines = lines.expect("every journal fits a position before its first line");
    lines.end_at(manifest.journal.offset);
    let options = build.options.clone();
    let mut collector = Collector::new(options, build.now_unix_ms, tables.to_owned(), 0);
    let counts = lines.collect(build.plan, &mut collector, &mut position);
    let counts = counts.map_err(build.journal_failed())?;
    let collected = collector.finish()?;
    let context = BuildContext { dir: tables, ..build.context() };
    let opened = state::open_all(tables, &collected.tables);
    let opened = opened.map_err(ProfilesError::state(tables))?;
    builder::fold(&context, &opened, unfinished.path(), None)?;
    Ok(counts.lines)
}

impl BuildComparison {
    fn of(manifest: &Manifest, lines: u64) -> Self {
        Self {
            rows: 0,
            whole_rows: 0,
            built_unix_ms: manifest.built_unix_ms,
            lines,
            differences: 0,
            named: Vec::new(),
        }
    }

    /// Goes through both in the order of their keys.
    fn compare(
        &mut self,
        served: &Connection,
        changes: &[Table],
        whole: &Connection,
        build: &JournalBuild<'_>,
    ) -> Result<(), ProfilesError> {
        let sqlite = || ProfilesError::sqlite(&build.plan.file);
        let changes = Merge::new(changes).map_err(ProfilesError::state(&build.dir))?;
        // Both files were filled in the order of their keys.
        let sql = "SELECT profile_id, data FROM user_profiles ORDER BY rowid";
        let mut served = served.prepare(sql).map_err(sqlite())?;
        let mut whole = whole.prepare(sql).map_err(sqlite())?;
        let mut served = ServedRows {
            file: served.query([]).map_err(sqlite())?,
            row: None,
            changes: Some(changes),
            build,
        };
        let mut whole = whole.query([]).map_err(sqlite())?;
        let mut next_whole = || -> Result<Option<ProfileRow>, ProfilesError> {
            next_row(&mut whole).map_err(sqlite())
        };
        served.start()?;
        let (mut left, mut right) = (served.next()?, next_whole()?);
        while let Some(key) = [&left, &right].into_iter().flatten().map(|(key, _)| key).min() {
            let key = key.clone();
            if left != right {
                self.differ(&key);
            }
            if left.as_ref().is_some_and(|(other, _)| *other == key) {
                self.rows += 1;
                left = served.next()?;
            }
            if right.as_ref().is_some_and(|(other, _)| *other == key) {
                self.whole_rows += 1;
                right = next_whole()?;
            }
        }
        Ok(())
    }

    fn differ(&mut self, key: &[u8]) {
        self.differences += 1;
        if self.named.len() < NAMED_MAX {
            self.named.push(String::from_utf8_lossy(key).into_owned());
        }
    }
}

/// A key and its data.
type ProfileRow = (Vec<u8>, Vec<u8>);

/// The rows of a file with its changes, in the order of their keys.
struct ServedRows<'r> {
    file: rusqlite::Rows<'r>,
    row: Option<ProfileRow>,
    /// At the next change; none after the last.
    changes: Option<Merge<'r>>,
    build: &'r JournalBuild<'r>,
}

impl ServedRows<'_> {
    fn start(&mut self) -> Result<(), ProfilesError> {
        self.next_in_file()?;
        self.next_change()
    }

    fn next(&mut self) -> Result<Option<ProfileRow>, ProfilesError> {
        loop {
            let row_key = self.row.as_ref().map(|(key, _)| key.as_slice());
            let change = self.changes.as_ref().map(|changes| (changes.key(), changes.newest()));
            let Some((key, data)) = change.filter(|(key, _)| row_key.is_none_or(|row| *key <= row))
            else {
                let row = self.row.take();
                if row.is_some() {
                    self.next_in_file()?;
                }
                return Ok(row);
            };
            let replaces = row_key == Some(key);
            let row = (!data.is_empty()).then(|| (key.to_vec(), data.to_vec()));
            if replaces {
                self.next_in_file()?;
            }
            self.next_change()?;
            if row.is_some() {
                return Ok(row);
            }
        }
    }

    fn next_in_file(&mut self) -> Result<(), ProfilesError> {
        let row = next_row(&mut self.file);
        self.row = row.map_err(ProfilesError::sqlite(&self.build.plan.file))?;
        Ok(())
    }

    fn next_change(&mut self) -> Result<(), ProfilesError> {
        let Some(changes) = &mut self.changes else { return Ok(()) };
        if !changes.next().map_err(ProfilesError::state(&self.build.dir))? {
            self.changes = None;
        }
        Ok(())
    }
}

fn next_row(rows: &mut rusqlite::Rows<'_>) -> rusqlite::Result<Option<ProfileRow>> {
    let Some(row) = rows.next()? else { return Ok(None) };
    let bytes = |at| -> rusqlite::Result<Vec<u8>> {
        Ok(row.get_ref(at)?.as_bytes_or_null()?.unwrap_or_default().to_vec())
    };
    Ok(Some((bytes(0)?, bytes(1)?)))
}

impl fmt::Display for BuildComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "built, unix ms: {}", self.built_unix_ms)?;
        writeln!(f, "lines of the journal: {}", self.lines)?;
        writeln!(f, "profiles: {}", self.rows)?;
        if self.differences == 0 {
            return write!(f, "a whole build has the same");
        }
        writeln!(f, "profiles of a whole build: {}", self.whole_rows)?;
        write!(f, "profiles that differ: {}, such as {}", self.differences, self.named.join(", "))
    }
}
