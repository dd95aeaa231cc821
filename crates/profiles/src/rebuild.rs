//! Builds the profile file from the journal, and decides whether a build may replace the file.
//!
//! A build reads only what the journal has had since the last one. What it must know of the rest is
//! in the state beside the file (`state.rs`). It writes what changed there. It writes the whole
//! file when asked to, or when much has changed since the last whole file.
//! A build reads the whole journal again if there is no state, if it fails, or if it does not fit.
//! It does not fit other settings, another profile file, another journal, or a clock that was set
//! back. Nor does it fit a journal that lost reads which still counted. The log says which
//! (`whole_build_reason`).
//! By a bookmark the journal knows how far a scheduled build has read; what is deleted beyond is an
//! alarm.
//!
//! Invariant: what is served after a build is what a build from nothing would make, to the byte.
//! Both are of the same journal at the same time. `compare_with_whole` checks that.
//! A build does not replace the file if it has fewer rows than `rows_min`. Nor does it if it lost
//! more than `shrink_max` of the rows of a file with at least 100 (`checks.rs`). A poor file would
//! outlive a restart; the last good one, which is only open, would not.
//! A file that was made by hand cannot be built again. So it is protected by `shrink_max` even with
//! fewer rows. A file that cannot be opened protects nothing. docs/operating/profiles.md has these
//! rules as a table.

mod compare;
mod items;
mod lines;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use generation::Stop;
use journal::Bookmark;
use stdx::{Chain, RealDisk};

use crate::builder::{
    self, BuildContext, BuildOptions, BuildSummary, Builder, Collected, Collector, Unfinished,
};
use crate::checks;
use crate::config::Plan;
use crate::error::ProfilesError;
use crate::file::ProfileFile;
use crate::key::UserKey;
use crate::state::{self, Manifest};
use lines::LineCounts;

pub use compare::{BuildComparison, compare_with_whole};
pub(crate) use items::{Categories, Items};

/// How far the clock may go back between two builds. The later one is then of the time of the
/// earlier.
const CLOCK_BACK_MAX_MS: u64 = 60_000;

/// Folding tables of this length takes a few milliseconds, and leaves the whole file.
const SMALL_BYTES: u64 = 4 << 20;

/// What a build writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// The whole file.
    WholeFile,
    /// What changed, as long as that is little, and else the whole file.
    Changes,
}

/// Builds the file of `plan` from the journal in `dir`, which records users keyed by `user_key`.
///
/// Reads the lines that no build before has read, up to the end at the start. Memory is bounded,
/// but for the items with their categories and a hash of each item. With a schedule the journal is
/// told how far it was read, by a bookmark.
///
/// # Errors
/// When the journal or the items file cannot be read, or the file cannot be written. When it would
/// have too few rows. It is then as it was.
pub fn rebuild_from_journal(
    dir: &Path,
    plan: &Plan,
    user_key: &UserKey,
    output: Output,
) -> Result<BuildSummary, ProfilesError> {
    let unfinished = Unfinished::create(&plan.file)?;
    let now_unix_ms = stdx::unix_micros() / 1_000;
    let mut build = JournalBuild::new(dir, plan, user_key, now_unix_ms)?;
    let (built, end) = build.run(output, unfinished)?;
    if plan.every.is_some() {
        let set = bookmark(dir).and_then(|bookmark| bookmark.set(end));
        if let Err(error) = set {
            let error = Chain(&error);
            tracing::warn!(%error, "how far profiles are built is not noted in the journal");
        }
    }
    Ok(built)
}

/// Has the journal in `dir` forget how far profiles were built. It is for a configuration without a
/// schedule: lines that no build reads are then no alarm.
pub fn forget_journal(dir: &Path) {
    if let Ok(bookmark) = bookmark(dir) {
        bookmark.remove();
    }
}

/// Where the journal is told how far it was read.
fn bookmark(dir: &Path) -> Result<Bookmark, journal::JournalError> {
    Bookmark::new(dir, "profiles", Arc::new(RealDisk))
}

/// Writes the file, unless it would have too few rows.
pub(crate) fn finish(
    builder: Builder,
    plan: &Plan,
    user_key: &UserKey,
) -> Result<BuildSummary, ProfilesError> {
    let existing = Existing::of(plan, user_key);
    builder.finish(|rows| existing.check(rows, plan, user_key))
}

/// The file that a build would replace.
#[derive(Default)]
struct Existing {
    rows: Option<u64>,
    /// Which build of ours wrote it; none when another program did, or there is none.
    identity: Option<String>,
    by_hand: bool,
}

impl Existing {
    fn of(plan: &Plan, user_key: &UserKey) -> Self {
        let options = plan.file_options(user_key.clone());
        let file = ProfileFile::open_of_any_keying(&plan.file, &options, None);
        let Ok(file) = file else { return Self::default() };
        let identity = file.identity();
        Self { rows: rows_of(&file), by_hand: identity.is_none(), identity }
    }

    /// Refuses a build of `rows` rows.
    fn check(&self, rows: u64, plan: &Plan, user_key: &UserKey) -> Result<(), ProfilesError> {
        let options = plan.file_options(user_key.clone());
        checks::check_floor(rows, self.rows, &options, &plan.file)?;
        match self.rows.filter(|_| self.by_hand) {
            Some(last) => checks::check_shrink(rows, last, &options, &plan.file),
            None => Ok(()),
        }
    }
}

/// The rows of a file, counted however long that takes; none when it is broken.
fn rows_of(file: &ProfileFile) -> Option<u64> {
    if file.rows().is_none() {
        file.verify(&Stop::default()).ok()?;
    }
    file.rows()
}

/// A build from the journal.
struct JournalBuild<'b> {
    journal: &'b Path,
    plan: &'b Plan,
    user_key: &'b UserKey,
    options: BuildOptions,
    items: Items,
    /// Where the state is.
    dir: PathBuf,
    now_unix_ms: u64,
    existing: Existing,
    /// Reads up to this length are folded in every build.
    small_bytes: u64,
    /// As in [`BuildContext`].
    expired_max: usize,
}

impl<'b> JournalBuild<'b> {
    fn new(
        journal: &'b Path,
        plan: &'b Plan,
        user_key: &'b UserKey,
        now_unix_ms: u64,
    ) -> Result<Self, ProfilesError> {
        Ok(Self {
            journal,
            plan,
            user_key,
            options: plan.build_options(user_key.clone()),
            items: Items::read(plan)?,
            dir: state::dir_of(&plan.file),
            now_unix_ms,
            existing: Existing::of(plan, user_key),
            small_bytes: SMALL_BYTES,
            expired_max: builder::EXPIRED_MAX,
        })
    }

    /// Builds. Returns the offset up to which the journal was read, too.
    fn run(
        &mut self,
        output: Output,
        unfinished: Unfinished,
    ) -> Result<(BuildSummary, u64), ProfilesError> {
        fs::create_dir_all(&self.dir).map_err(ProfilesError::io(&self.dir))?;
        let reason = match self.last_manifest() {
            Ok(Some(manifest)) => match self.go_on(manifest, output, &unfinished) {
                Ok(Ok(made)) => return self.publish(made, unfinished),
                Ok(Err(reason)) => reason,
                Err(error @ ProfilesError::State { .. }) => Chain(&error).to_string(),
                Err(error) => return Err(error),
            },
            Ok(None) => "there is no state of an earlier build".to_owned(),
            Err(reason) => reason,
        };
        tracing::info!(reason, "profiles are built from the whole journal");
        let made = self.start_again(&unfinished)?;
        self.publish(made, unfinished)
    }

    /// Returns the manifest of the last build, if it fits this one. Within the error is why not.
    fn last_manifest(&mut self) -> Result<Option<Manifest>, String> {
        let read = Manifest::read(&self.dir);
        let Some(manifest) = read.map_err(|error| format!("the state fails: {error}"))? else {
            return Ok(None);
        };
        if manifest.settings != self.settings() {
            return Err("the settings have changed".to_owned());
        }
        if self.existing.identity.as_ref() != Some(&manifest.file) {
            return Err("the profile file is not the one of the state".to_owned());
        }
        let back_ms = manifest.built_unix_ms.saturating_sub(self.now_unix_ms);
        if back_ms > CLOCK_BACK_MAX_MS {
            return Err(format!("the clock was set back by {} s", back_ms / 1_000));
        }
        self.now_unix_ms = self.now_unix_ms.max(manifest.built_unix_ms);
        Ok(Some(manifest))
    }

    /// Builds on `manifest`. Within the error is why that cannot be.
    fn go_on(
        &self,
        mut manifest: Manifest,
        output: Output,
        unfinished: &Unfinished,
    ) -> Result<Result<Made, String>, ProfilesError> {
        let context = self.context();
        // No build needs the changes, but those who serve do: cut ones are made anew.
        let changes = state::open_all(&self.dir, &manifest.changes);
        drop(changes.map_err(ProfilesError::state(&self.dir))?);
        let mut position = std::mem::take(&mut manifest.journal);
        let lines = lines::open(self.journal, &mut position, context.begin_unix_ms())?;
        let lines = match lines {
            Ok(lines) => lines,
            Err(reason) => return Ok(Err(reason)),
        };
        manifest.next_table = state::last_table(&self.dir).max(manifest.next_table);
        let mut collector = self.collector(manifest.next_table);
        let counts = lines.collect(self.plan, &mut collector, &mut position);
        let counts = counts.map_err(self.journal_failed())?;
        manifest.journal = position;
        let collected = collector.finish()?;
        manifest.next_table = collected.next_table;
        let whole = output == Output::WholeFile
            || manifest.items != self.items.checksum
            || (builder::is_fold_due(&manifest, &collected, self.small_bytes)
                && builder::changes_anything(&context, &manifest, &collected)?);
        if !whole && builder::update(&context, &mut manifest, &collected)? {
            self.existing.check(manifest.rows, self.plan, self.user_key)?;
            manifest.built_unix_ms = self.now_unix_ms;
            let skipped = collected.skipped;
            return Ok(Ok(Made { manifest, skipped, counts, items: None }));
        }
        self.fold(manifest, collected, counts, unfinished).map(Ok)
    }

    /// Builds from the whole journal.
    fn start_again(&self, unfinished: &Unfinished) -> Result<Made, ProfilesError> {
        let next_table = state::last_table(&self.dir);
        let mut manifest = Manifest { settings: self.settings(), ..Manifest::default() };
        let lines = lines::open(self.journal, &mut manifest.journal, u64::MAX)?;
        let lines = lines.expect("every journal fits a position before its first line");
        let mut collector = self.collector(next_table);
        let counts = lines.collect(self.plan, &mut collector, &mut manifest.journal);
        let counts = counts.map_err(self.journal_failed())?;
        let collected = collector.finish()?;
        manifest.next_table = collected.next_table;
        self.fold(manifest, collected, counts, unfinished)
    }

    /// Writes the whole file from the tables of `manifest` and what was collected.
    fn fold(
        &self,
        mut manifest: Manifest,
        collected: Collected,
        counts: LineCounts,
        unfinished: &Unfinished,
    ) -> Result<Made, ProfilesError> {
        let (dir, path) = (&self.dir, unfinished.path());
        unfinished.clear().map_err(ProfilesError::io(path))?;
        let all = [&manifest.reads[..], &collected.tables[..]].concat();
        let tables = state::open_all(dir, &all).map_err(ProfilesError::state(dir))?;
        let folded = builder::fold(&self.context(), &tables, path, Some(&mut manifest))?;
        self.existing.check(folded.rows, self.plan, self.user_key)?;
        manifest.items.clone_from(&self.items.checksum);
        manifest.built_unix_ms = self.now_unix_ms;
        (manifest.file, manifest.rows, manifest.users) = (folded.file, folded.rows, folded.users);
        Ok(Made { manifest, skipped: collected.skipped, counts, items: Some(folded.items) })
    }

    /// Puts in place what was made.
    fn publish(
        &self,
        mut made: Made,
        unfinished: Unfinished,
    ) -> Result<(BuildSummary, u64), ProfilesError> {
        let path = &self.plan.file;
        let bytes = match made.items {
            // A crash between the two leaves a file without a state: the next build reads all.
            Some(_) => unfinished.publish(path),
            None => fs::metadata(path).map(|metadata| metadata.len()),
        };
        let bytes = bytes.map_err(ProfilesError::io(path))?;
        made.manifest.write(&self.dir).map_err(ProfilesError::io(&self.dir))?;
        if made.counts.malformed > 0 {
            tracing::warn!(
                malformed = made.counts.malformed,
                "lines of the journal are no exchanges"
            );
        }
        let Made { manifest, skipped, counts, items } = made;
        let (rows, users, lines) = (manifest.rows, manifest.users, counts.lines);
        let built = BuildSummary { rows, users, items, skipped, bytes, lines };
        Ok((built, manifest.journal.offset))
    }

    fn context(&self) -> BuildContext<'_> {
        BuildContext {
            options: &self.options,
            categories: &self.items.categories,
            now_unix_ms: self.now_unix_ms,
            dir: &self.dir,
            expired_max: self.expired_max,
        }
    }

    fn collector(&self, next_table: u64) -> Collector {
        Collector::new(self.options.clone(), self.now_unix_ms, self.dir.clone(), next_table)
    }

    fn journal_failed(&self) -> impl FnOnce(journal::JournalError) -> ProfilesError + '_ {
        |source| ProfilesError::Journal { dir: self.journal.to_owned(), source }
    }

    /// Returns a text that is equal for settings that make the same profiles of the same reads.
    fn settings(&self) -> String {
        let (plan, options) = (self.plan, &self.options);
        let BuildOptions { items_min, half_life, window, id_bytes_max, user_key, keyed } = options;
        let text = format!(
            "{items_min} {half_life:?} {window:?} {id_bytes_max} {} {keyed} {:?} {:?} {:?} {}",
            user_key.mark(),
            plan.event,
            plan.item,
            self.journal,
            plan.category
        );
        state::hex(text.as_bytes())
    }
}

/// What a build made, before it is put in place.
struct Made {
    manifest: Manifest,
    skipped: u64,
    counts: LineCounts,
    /// Distinct items, if the whole file was written.
    items: Option<u64>,
}

#[cfg(test)]
mod tests;
