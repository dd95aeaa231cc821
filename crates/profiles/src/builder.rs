//! Makes profiles out of what users have read.
//!
//! A profile says which categories a user reads (shares of reads that halve in weight every
//! `half_life`), how many distinct items, and which lately. An item counts once, at its latest
//! read: reloading a page says nothing about taste. Only users with at least `items_min` distinct
//! items get a profile; the rest are better served by the generic answer.
//!
//! Memory: 16 bytes for each pair of user and distinct item (doubled at worst while a user's list
//! grows), about 100 bytes for each user and each item beside the id. A user keeps the
//! [`USER_ITEMS_MAX`] latest items; older ones are forgotten, so one robot costs 32 KB at most.

mod write;

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use foldhash::fast::RandomState;

use crate::error::ProfilesError;
use crate::key::UserKey;

/// Distinct items kept per user: the latest. `reads` of a profile never exceeds it.
pub(crate) const USER_ITEMS_MAX: usize = 1_000;

/// Ids kept in `recent` of a profile.
pub(crate) const RECENT_MAX: usize = 100;

/// Ids of items and names of categories longer than this are left out.
pub(crate) const ITEM_BYTES_MAX: usize = 200;

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
pub struct Read<'r> {
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
pub struct Built {
    /// Profiles in the file.
    pub rows: u64,
    /// Users seen within the window, with a profile or without.
    pub users: u64,
    /// Distinct items read within the window.
    pub items: u64,
    /// Reads left out: outside the window, or with an id that is empty or too long.
    pub skipped: u64,
    /// Size of the file.
    pub bytes: u64,
}

/// Collects reads and writes a profile file.
pub struct Builder {
    options: BuildOptions,
    now_unix_ms: u64,
    users: HashMap<Box<[u8]>, History, RandomState>,
    items: Names,
    categories: Names,
    /// Index of the category of each item.
    category_of: Vec<u32>,
    skipped: u64,
}

/// The distinct items that a user has read; unsorted, with duplicates since the last compaction.
#[derive(Debug, Default)]
struct History {
    reads: Vec<ItemRead>,
    distinct: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ItemRead {
    unix_ms: u64,
    item: u32,
}

/// Names numbered from 0.
#[derive(Default)]
struct Names {
    numbers: HashMap<Box<str>, u32, RandomState>,
    names: Vec<Box<str>>,
}

impl Builder {
    /// Returns a builder without reads, whose window ends at `now_unix_ms`.
    pub fn new(options: BuildOptions, now_unix_ms: u64) -> Self {
        Self {
            options,
            now_unix_ms,
            users: HashMap::default(),
            items: Names::default(),
            categories: Names::default(),
            category_of: Vec::new(),
            skipped: 0,
        }
    }

    /// Counts one read. Reads may come in any order. Reads from the future, by a clock that is
    /// ahead, count as read at the end of the window.
    pub fn add(&mut self, read: Read<'_>) {
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
        let item = self.items.number(read.item);
        let category = self.categories.number(read.category);
        match self.category_of.get_mut(item as usize) {
            Some(known) => *known = category,
            None => self.category_of.push(category),
        }
        self.history(read.user).push(ItemRead { unix_ms, item });
    }

    /// Returns how many users have read enough for a profile, so far.
    pub fn rows(&mut self) -> u64 {
        self.users.values_mut().for_each(History::compact);
        let items_min = self.options.items_min;
        self.users.values().filter(|history| history.distinct >= items_min).count() as u64
    }

    /// Writes the file at `path`: complete, synchronised to the disk, put in place by one rename.
    ///
    /// # Errors
    /// When the folder cannot be written to, or another build of the same file is under way. The
    /// file at `path` is then as it was.
    pub fn finish(self, path: &Path) -> Result<Built, ProfilesError> {
        let users = self.users.len() as u64;
        let (items, skipped) = (self.items.names.len() as u64, self.skipped);
        let (rows, bytes) = write::file(self, path)?;
        Ok(Built { rows, users, items, skipped, bytes })
    }

    fn history(&mut self, user: &[u8]) -> &mut History {
        // Looked up first: a key is copied once per user and not once per read.
        if !self.users.contains_key(user) {
            self.users.insert(user.into(), History::default());
        }
        self.users.get_mut(user).expect("the user was inserted above")
    }
}

impl History {
    fn push(&mut self, read: ItemRead) {
        self.reads.push(read);
        if self.reads.len() >= 2 * self.distinct.max(8) {
            self.compact();
        }
    }

    /// Keeps the latest read of each item, and the latest items.
    fn compact(&mut self) {
        self.reads.sort_unstable_by_key(|read| (read.item, std::cmp::Reverse(read.unix_ms)));
        self.reads.dedup_by_key(|read| read.item);
        self.reads.sort_unstable_by_key(|read| (std::cmp::Reverse(read.unix_ms), read.item));
        self.reads.truncate(USER_ITEMS_MAX);
        self.distinct = self.reads.len();
    }
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).expect("four billion names fill any memory");
        self.numbers.insert(name.into(), number);
        self.names.push(name.into());
        number
    }

    fn get(&self, number: u32) -> &str {
        &self.names[number as usize]
    }
}

#[cfg(test)]
mod tests;
