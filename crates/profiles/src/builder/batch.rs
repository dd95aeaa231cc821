//! Collects reads in memory and writes them to tables, one each time a bound is reached.
//!
//! Memory is estimated here and bounded by the caller, however many users and items there are.
//! Reads may come in any order.
//! Invariant: a user's list never holds more than twice `USER_ITEMS_MAX` reads. What it drops
//! `reads::settle` would drop later, so where a table ends does not matter.
//! Never here: which reads count, and the bound (`builder.rs`).

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::path::Path;

use foldhash::fast::RandomState;

use super::reads::{self, ItemRead, USER_ITEMS_MAX};
use crate::table::TableWriter;

/// What a user or an item takes beside its id: its place in a table and an allocation or two.
const NAME_BYTES: usize = 120;

/// Reads since the last table.
#[derive(Default)]
pub(super) struct Batch {
    users: HashMap<Box<[u8]>, History, RandomState>,
    numbers: HashMap<Box<str>, u32, RandomState>,
    items: Vec<Box<str>>,
    bytes: usize,
}

/// What a user has read; `distinct` since the last compaction.
#[derive(Default)]
struct History {
    reads: Vec<NumberedRead>,
    distinct: usize,
}

#[derive(Clone, Copy)]
struct NumberedRead {
    unix_ms: u64,
    item: u32,
}

impl Batch {
    /// Adds a read of the user with the key `user`.
    pub(super) fn add(&mut self, user: &[u8], read: ItemRead<'_>) {
        let item = self.number(read.item);
        // Looked up first: a key is copied once per user and not once per read.
        if !self.users.contains_key(user) {
            self.users.insert(user.into(), History::default());
            self.bytes += NAME_BYTES + user.len();
        }
        let history = self.users.get_mut(user).expect("the user was inserted above");
        history.reads.push(NumberedRead { unix_ms: read.unix_ms, item });
        self.bytes += size_of::<NumberedRead>() * 3 / 2;
        if history.reads.len() >= 2 * history.distinct.max(8) {
            let before = history.reads.len();
            history.compact(&self.items);
            let dropped = before - history.reads.len();
            self.bytes = self.bytes.saturating_sub(dropped * size_of::<NumberedRead>() * 3 / 2);
        }
    }

    /// Memory that it takes, as estimated.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing was added since the last table.
    pub(super) fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// Writes a table of what was added, and forgets it.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn write(&mut self, path: &Path) -> io::Result<()> {
        let Self { users, items, .. } = std::mem::take(self);
        let mut users: Vec<(Box<[u8]>, History)> = users.into_iter().collect();
        users.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let (mut table, mut value) = (TableWriter::create(path)?, Vec::new());
        for (user, mut history) in users {
            history.compact(&items);
            value.clear();
            for read in &history.reads {
                let item = &items[read.item as usize];
                reads::encode(ItemRead { unix_ms: read.unix_ms, item }, &mut value);
            }
            table.add(&user, &value)?;
        }
        table.finish().map(drop)
    }

    fn number(&mut self, item: &str) -> u32 {
        if let Some(number) = self.numbers.get(item) {
            return *number;
        }
        let number = u32::try_from(self.items.len()).expect("a batch is full long before that");
        self.numbers.insert(item.into(), number);
        self.items.push(item.into());
        self.bytes += 2 * (NAME_BYTES + item.len());
        number
    }
}

impl History {
    /// As `reads::settle`, without a window.
    fn compact(&mut self, items: &[Box<str>]) {
        self.reads.sort_unstable_by_key(|read| (read.item, Reverse(read.unix_ms)));
        self.reads.dedup_by_key(|read| read.item);
        if self.reads.len() > USER_ITEMS_MAX {
            let order = |read: &NumberedRead| (Reverse(read.unix_ms), &items[read.item as usize]);
            self.reads.sort_unstable_by(|a, b| order(a).cmp(&order(b)));
            self.reads.truncate(USER_ITEMS_MAX);
        }
        self.distinct = self.reads.len();
    }
}

#[cfg(test)]
mod tests;
