//! Collects what one user has read, while profiles are built.
//!
//! An item counts once, at its latest read: reloading a page says nothing about taste. Only the
//! latest `USER_ITEMS_MAX` items are kept, and older ones are forgotten without a count. So an
//! `items_min` above it gives nobody a profile; nothing checks that.
//! Invariant: a history never holds more than twice `USER_ITEMS_MAX` reads. Right after a
//! compaction it is without duplicates, newest first; in between `reads` is neither, and `distinct`
//! is out of date. The figures of memory in `builder.rs` follow from these bounds.

/// Distinct items kept per user: the latest. `reads` of a profile never exceeds it.
pub(super) const USER_ITEMS_MAX: usize = 1_000;

/// The distinct items that a user has read; unsorted, with duplicates since the last compaction.
#[derive(Debug, Default)]
pub(super) struct History {
    reads: Vec<ItemRead>,
    distinct: usize,
}

/// One item, and when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ItemRead {
    /// Milliseconds since the Unix epoch.
    pub unix_ms: u64,
    /// Its number in the catalogue.
    pub item: u32,
}

impl History {
    /// Adds a read; may compact.
    pub(super) fn push(&mut self, read: ItemRead) {
        self.reads.push(read);
        if self.reads.len() >= 2 * self.distinct.max(8) {
            self.compact();
        }
    }

    /// Keeps the latest read of each item, and the latest items, newest first.
    pub(super) fn compact(&mut self) {
        self.reads.sort_unstable_by_key(|read| (read.item, std::cmp::Reverse(read.unix_ms)));
        self.reads.dedup_by_key(|read| read.item);
        self.reads.sort_unstable_by_key(|read| (std::cmp::Reverse(read.unix_ms), read.item));
        self.reads.truncate(USER_ITEMS_MAX);
        self.distinct = self.reads.len();
    }

    /// Distinct items, as of the last compaction.
    pub(super) fn distinct(&self) -> usize {
        self.distinct
    }

    /// The reads: newest first and without duplicates right after a compaction.
    pub(super) fn reads(&self) -> &[ItemRead] {
        &self.reads
    }
}

#[cfg(test)]
mod tests;
