//! Collects reads in memory and writes one profile file from them at the end.
//!
//! Only users with at least `items_min` distinct items within the window get a profile. A read
//! before the window, with an empty id, or with an id or category that is too long, is counted as
//! skipped. A user's id is measured as it was recorded, and a recorded hash has 32 bytes. One from
//! the future counts as read now.
//! Invariant: reads may come in any order, and their order decides only ties and an item's category
//! (`builder/catalogue.rs`). The file appears complete or not at all (`builder/unfinished.rs`).
//! Memory, beside the ids themselves: a user's list takes up to 256 bytes below eight distinct
//! items. Beyond that it takes up to 64 bytes for each, and 32 KiB at most
//! (`history::USER_ITEMS_MAX`). Each user and each item takes about 100 bytes more. The number of
//! users and items is not bounded.
//! The defaults of `BuildOptions` stand in `config.rs` again.
//! Never here: where reads come from, and whether a build is too small to replace the file
//! (`rebuild.rs`).

mod catalogue;
mod data;
mod history;
mod unfinished;
mod write;

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use foldhash::fast::RandomState;

use crate::error::ProfilesError;
use crate::key::UserKey;
use catalogue::{Catalogue, ITEM_BYTES_MAX};
use history::{History, ItemRead};
use unfinished::Unfinished;
use write::Contents;

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
    /// Distinct items read within the window.
    pub items: u64,
    /// Reads left out: before the window, with an empty id, or with an id or category too long.
    pub skipped: u64,
    /// Size of the file.
    pub bytes: u64,
}

/// Collects reads and writes a profile file.
pub struct Builder {
    options: BuildOptions,
    now_unix_ms: u64,
    users: HashMap<Box<[u8]>, History, RandomState>,
    catalogue: Catalogue,
    skipped: u64,
}

impl Builder {
    /// Returns a builder without reads, whose window ends at `now_unix_ms`.
    pub fn new(options: BuildOptions, now_unix_ms: u64) -> Self {
        let (users, catalogue) = (HashMap::default(), Catalogue::default());
        Self { options, now_unix_ms, users, catalogue, skipped: 0 }
    }

    /// Counts one read. Reads may come in any order. Reads from the future, by a clock that is
    /// ahead, count as read at the end of the window.
    pub fn add(&mut self, read: UserRead<'_>) {
        let window_ms = u64::try_from(self.options.window.as_millis()).unwrap_or(u64::MAX);
        let unix_ms = read.unix_ms.min(self.now_unix_ms);
        let fits = |text: &str, bytes_max| !text.is_empty() && text.len() <= bytes_max;
        if self.now_unix_ms - unix_ms > window_ms
            || read.user.is_empty()
            || read.user.len() > self.options.id_bytes_max
            || !fits(read.item, ITEM_BYTES_MAX)
            || read.category.len() > ITEM_BYTES_MAX
        {
            self.skipped += 1;
            return;
        }
        let item = self.catalogue.item(read.item, read.category);
        self.history(read.user).push(ItemRead { unix_ms, item });
    }

    /// Returns how many users have read enough for a profile, so far.
    pub fn rows(&mut self) -> u64 {
        self.users.values_mut().for_each(History::compact);
        let items_min = self.options.items_min;
        self.users.values().filter(|history| history.distinct() >= items_min).count() as u64
    }

    /// Writes the file at `path`: complete, synchronised to the disk, put in place by one rename.
    ///
    /// # Errors
    /// When the directory cannot be written to, or another build of the same file is under way.
    /// The file at `path` is then as it was, unless only the last sync of its directory failed.
    pub fn finish(mut self, path: &Path) -> Result<BuildSummary, ProfilesError> {
        let unfinished = Unfinished::create(path)?;
        let (users, items) = (self.users.len() as u64, self.catalogue.items());
        let profiles = self.profiles();
        let contents = Contents {
            profiles: &profiles,
            catalogue: &self.catalogue,
            half_life: self.options.half_life,
            users: self.options.user_key.mark(),
            built_unix_ms: self.now_unix_ms,
        };
        write::write(&contents, unfinished.path()).map_err(ProfilesError::sqlite(path))?;
        let bytes = unfinished.publish(path).map_err(ProfilesError::io(path))?;
        let rows = profiles.len() as u64;
        Ok(BuildSummary { rows, users, items, skipped: self.skipped, bytes })
    }

    fn history(&mut self, user: &[u8]) -> &mut History {
        // Looked up first: a key is copied once per user and not once per read.
        if !self.users.contains_key(user) {
            self.users.insert(user.into(), History::default());
        }
        self.users.get_mut(user).expect("the user was inserted above")
    }

    /// Takes the users that have read enough, in the order of their keys.
    fn profiles(&mut self) -> Vec<(Box<[u8]>, History)> {
        let options = &self.options;
        let mut profiles = Vec::new();
        for (user, mut history) in std::mem::take(&mut self.users) {
            history.compact();
            if history.distinct() < options.items_min {
                continue;
            }
            let key = if options.keyed { user } else { options.user_key.of(&user).into() };
            profiles.push((key, history));
        }
        profiles.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        profiles
    }
}

#[cfg(test)]
mod tests;
