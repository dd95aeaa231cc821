//! Collects reads, and makes a profile file of them: a whole one, or changes to the last.
//!
//! Only users with at least `items_min` distinct items within the window get a profile. A read
//! before the window, with an empty id, or with an id or category that is too long, is counted as
//! skipped. A user's id is measured as it was recorded, and a recorded hash has 32 bytes. One from
//! the future counts as read now.
//! `Builder` makes a whole file from rows of a query. `rebuild.rs` collects from the journal, keeps
//! the tables, and decides between `fold` and `update`.
//! Invariant: reads may come in any order. Only an item's category depends on it: the last added
//! read names it, even an empty one. The file appears complete or not at all
//! (`builder/unfinished.rs`).
//! Memory: 128 MiB of reads (estimated in `batch.rs`), the items with their categories, and a few
//! megabytes for sorting. It does not grow with the number of users.
//! The defaults of `BuildOptions` stand in `config.rs` again.
//! Never here: where reads come from, and whether a build is too small to replace the file
//! (`rebuild.rs`).

mod batch;
mod data;
mod expiry;
mod fold;
mod reads;
mod unfinished;
mod update;
mod write;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::ProfilesError;
use crate::key::UserKey;
use crate::state::{self, TableFile};
use batch::Batch;
use data::DataOptions;
use reads::{ITEM_BYTES_MAX, ItemRead};

pub(crate) use fold::fold;
pub(crate) use unfinished::Unfinished;
pub(crate) use update::{changes_anything, is_fold_due, update};

/// Memory that reads may take before they are written to a table.
const BATCH_BYTES_MAX: usize = 128 << 20;

/// What [`BuildContext::expired_max`] is.
pub(crate) const EXPIRED_MAX: usize = 1_000_000;

/// What counts and for how long.
#[derive(Debug, Clone)]
pub struct BuildOptions {
    /// Fewest distinct items that make a profile; 5.
    pub items_min: usize,
    /// Time in which a read loses half its weight; 7 days.
    pub half_life: Duration,
    /// Reads older than this do not count; 30 days.
    pub window: Duration,
    /// Users with longer ids get no profile; 100.
    pub id_bytes_max: usize,
    /// How users are keyed in the file.
    pub user_key: UserKey,
    /// Whether users come keyed already, as in a journal that records them so.
    pub keyed: bool,
}

impl Default for BuildOptions {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        Self {
            items_min: 5,
            half_life: 7 * DAY,
            window: 30 * DAY,
            id_bytes_max: 100,
            user_key: UserKey::Plain,
            keyed: false,
        }
    }
}

/// One user reading one item.
#[derive(Debug, Clone, Copy)]
pub struct UserRead<'r> {
    /// The user's id.
    pub user: &'r [u8],
    /// The item's id.
    pub item: &'r str,
    /// The item's category; empty when it has none.
    pub category: &'r str,
    /// When, in milliseconds since the Unix epoch.
    pub unix_ms: u64,
}

/// What a build came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildSummary {
    /// Profiles in the file.
    pub rows: u64,
    /// Users seen within the window, with a profile or without.
    pub users: u64,
    /// Distinct items read within the window; none when only changes were written.
    pub items: Option<u64>,
    /// Reads left out: before the window, with an empty id, or with an id or category too long.
    pub skipped: u64,
    /// Size of the file.
    pub bytes: u64,
    /// Lines of the journal that were read; 0 when reads came from a query.
    pub lines: u64,
}

/// What every step of a build needs.
pub(crate) struct BuildContext<'c> {
    pub options: &'c BuildOptions,
    /// Category by item.
    pub categories: &'c HashMap<String, String>,
    /// When the window ends.
    pub now_unix_ms: u64,
    /// Where tables are.
    pub dir: &'c Path,
    /// Users that an update may look at for their age alone; more are left to a fold.
    pub expired_max: usize,
}

impl BuildContext<'_> {
    /// When the window begins: the earliest time that counts.
    pub(crate) fn begin_unix_ms(&self) -> u64 {
        self.begin_of(self.now_unix_ms)
    }

    /// When the window of a build at `unix_ms` began.
    pub(crate) fn begin_of(&self, unix_ms: u64) -> u64 {
        self.options.begin_of(unix_ms)
    }

    fn data_options(&self) -> DataOptions<'_> {
        let Self { options, categories, now_unix_ms, .. } = *self;
        DataOptions { categories, half_life: options.half_life, now_unix_ms }
    }
}

impl BuildOptions {
    fn begin_of(&self, unix_ms: u64) -> u64 {
        let window_ms = u64::try_from(self.window.as_millis()).unwrap_or(u64::MAX);
        unix_ms.saturating_sub(window_ms)
    }
}

/// Collects reads into tables.
pub(crate) struct Collector {
    options: BuildOptions,
    begin_unix_ms: u64,
    dir: PathBuf,
    batch: Batch,
    /// A batch that takes more is written.
    batch_bytes_max: usize,
    collected: Collected,
    next_table: u64,
    error: Option<ProfilesError>,
}

/// Reads that were collected.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// The tables that hold them; none when there are none.
    pub tables: Vec<TableFile>,
    /// The number of the next table.
    pub next_table: u64,
    /// Reads left out.
    pub skipped: u64,
}

impl Collector {
    /// Returns a collector without reads, for a window that ends at `now_unix_ms`. Its tables are
    /// in `dir` and numbered from `next_table` on.
    pub(crate) fn new(
        options: BuildOptions,
        now_unix_ms: u64,
        dir: PathBuf,
        next_table: u64,
    ) -> Self {
        let begin_unix_ms = options.begin_of(now_unix_ms);
        Self {
            options,
            begin_unix_ms,
            dir,
            batch: Batch::default(),
            batch_bytes_max: BATCH_BYTES_MAX,
            collected: Collected::default(),
            next_table,
            error: None,
        }
    }

    /// Counts one read, and returns whether it did. Once a table could not be written, nothing
    /// counts any more.
    pub(crate) fn add(&mut self, user: &[u8], item: &str, unix_ms: u64) -> bool {
        if self.error.is_some() {
            return false;
        }
        if unix_ms < self.begin_unix_ms
            || user.is_empty()
            || user.len() > self.options.id_bytes_max
            || item.is_empty()
            || item.len() > ITEM_BYTES_MAX
        {
            self.collected.skipped += 1;
            return false;
        }
        let read = ItemRead { unix_ms, item };
        if self.options.keyed {
            self.batch.add(user, read);
        } else {
            self.batch.add(&self.options.user_key.of(user), read);
        }
        if self.batch.bytes() >= self.batch_bytes_max {
            self.error = self.write().err();
        }
        true
    }

    /// Writes what is left, and returns all.
    ///
    /// # Errors
    /// When a table could not be written, now or before.
    pub(crate) fn finish(mut self) -> Result<Collected, ProfilesError> {
        if !self.batch.is_empty() && self.error.is_none() {
            self.error = self.write().err();
        }
        self.collected.next_table = self.next_table;
        self.error.map_or(Ok(self.collected), Err)
    }

    fn write(&mut self) -> Result<(), ProfilesError> {
        self.next_table += 1;
        let name = format!("{}.reads", self.next_table);
        let write = || {
            fs::create_dir_all(&self.dir)?;
            self.batch.write(&self.dir.join(&name))?;
            TableFile::of(&self.dir, name)
        };
        self.collected.tables.push(write().map_err(ProfilesError::io(&self.dir))?);
        Ok(())
    }
}

/// Collects reads and writes a profile file, without a state for the next build.
pub struct Builder {
    path: PathBuf,
    now_unix_ms: u64,
    collector: Collector,
    categories: HashMap<String, String>,
    skipped: u64,
    unfinished: Unfinished,
}

impl Builder {
    /// Returns a builder of the file at `path` without reads, whose window ends at `now_unix_ms`.
    ///
    /// # Errors
    /// When the directory cannot be written to, or another build of the same file is under way.
    pub fn new(
        path: &Path,
        options: BuildOptions,
        now_unix_ms: u64,
    ) -> Result<Self, ProfilesError> {
        let unfinished = Unfinished::create(path)?;
        let dir = unfinished.path().with_extension("building.tables");
        let collector = Collector::new(options, now_unix_ms, dir, 0);
        let categories = HashMap::new();
        Ok(Self {
            path: path.to_owned(),
            now_unix_ms,
            collector,
            categories,
            skipped: 0,
            unfinished,
        })
    }

    /// Counts one read. Reads may come in any order. Reads from the future, by a clock that is
    /// ahead, count as read at the end of the window.
    pub fn add(&mut self, read: UserRead<'_>) {
        if read.category.len() > ITEM_BYTES_MAX {
            self.skipped += 1;
            return;
        }
        if !self.collector.add(read.user, read.item, read.unix_ms) {
            return;
        }
        match self.categories.get_mut(read.item) {
            Some(known) if known == read.category => {}
            Some(known) => read.category.clone_into(known),
            None => drop(self.categories.insert(read.item.to_owned(), read.category.to_owned())),
        }
    }

    /// Writes the file: complete, synchronised to the disk, put in place by one rename. The state
    /// of other builds is removed. `check` may refuse the number of its rows.
    ///
    /// # Errors
    /// What `check` returns; when the directory cannot be written to. The file is then as it was,
    /// unless only the last sync of its directory failed.
    pub fn finish(
        self,
        check: impl FnOnce(u64) -> Result<(), ProfilesError>,
    ) -> Result<BuildSummary, ProfilesError> {
        let (dir, options) = (self.collector.dir.clone(), self.collector.options.clone());
        let made = self.collector.finish().and_then(|collected| {
            let (options, categories) = (&options, &self.categories);
            let now_unix_ms = self.now_unix_ms;
            let (dir, expired_max) = (&*dir, EXPIRED_MAX);
            let context = BuildContext { options, categories, now_unix_ms, dir, expired_max };
            let tables = state::open_all(dir, &collected.tables);
            let tables = tables.map_err(ProfilesError::state(dir))?;
            let folded = fold(&context, &tables, self.unfinished.path(), None)?;
            check(folded.rows)?;
            Ok((folded, collected.skipped))
        });
        // Nothing was there to remove if there were no reads.
        fs::remove_dir_all(&dir).ok();
        let (folded, skipped) = made?;
        let path = &self.path;
        let bytes = self.unfinished.publish(path).map_err(ProfilesError::io(path))?;
        fs::remove_dir_all(state::dir_of(path)).ok();
        Ok(BuildSummary {
            rows: folded.rows,
            users: folded.users,
            items: Some(folded.items),
            skipped: skipped + self.skipped,
            bytes,
            lines: 0,
        })
    }
}

#[cfg(test)]
mod tests;
