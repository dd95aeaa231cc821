//! Holds what one user has read, as a table keeps it and as a profile is made of it.
//!
//! An item counts once, at its latest read: reloading a page says nothing about taste. Only the
//! latest `USER_ITEMS_MAX` items are kept, and older ones are forgotten without a count. So an
//! `items_min` above it gives nobody a profile; nothing checks that.
//! Invariant: which reads `settle` keeps does not depend on how they were divided among values, nor
//! on the order of these. A read that it drops would not be kept later either. So a state that was
//! built bit by bit leads to the same profile as all reads at once. Of two items read in the same
//! millisecond, the one with the smaller id comes first.

use std::cmp::Reverse;
use std::io;

/// Distinct items kept per user: the latest. `reads` of a profile never exceeds it.
pub(super) const USER_ITEMS_MAX: usize = 1_000;

/// Ids of items and names of categories longer than this are left out. One byte holds the length.
pub(super) const ITEM_BYTES_MAX: usize = 200;

/// One item, and when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ItemRead<'i> {
    /// Milliseconds since the Unix epoch, as recorded.
    pub unix_ms: u64,
    /// The item's id.
    pub item: &'i str,
}

/// Appends a read to the value of its user.
pub(super) fn encode(read: ItemRead<'_>, value: &mut Vec<u8>) {
    value.extend_from_slice(&read.unix_ms.to_le_bytes());
    value.push(u8::try_from(read.item.len()).expect("`ITEM_BYTES_MAX` fits into a byte"));
    value.extend_from_slice(read.item.as_bytes());
}

/// Appends the reads in `value`, which may be several values end to end.
///
/// # Errors
/// `InvalidData` when it is no such value.
pub(super) fn decode<'v>(mut value: &'v [u8], reads: &mut Vec<ItemRead<'v>>) -> io::Result<()> {
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "a user's reads are damaged");
    while let Some((time, rest)) = value.split_first_chunk() {
        let (length, rest) = rest.split_first().ok_or_else(damaged)?;
        let (item, rest) = rest.split_at_checked((*length).into()).ok_or_else(damaged)?;
        let item = str::from_utf8(item).map_err(|_| damaged())?;
        reads.push(ItemRead { unix_ms: u64::from_le_bytes(*time), item });
        value = rest;
    }
    if value.is_empty() { Ok(()) } else { Err(damaged()) }
}

/// Keeps the latest read of each item, those since `begin_unix_ms` only, and the latest items,
/// newest first.
pub(super) fn settle(reads: &mut Vec<ItemRead<'_>>, begin_unix_ms: u64) {
    reads.retain(|read| read.unix_ms >= begin_unix_ms);
    reads.sort_unstable_by_key(|read| (read.item, Reverse(read.unix_ms)));
    reads.dedup_by_key(|read| read.item);
    reads.sort_unstable_by_key(|read| (Reverse(read.unix_ms), read.item));
    reads.truncate(USER_ITEMS_MAX);
}

#[cfg(test)]
mod tests;
