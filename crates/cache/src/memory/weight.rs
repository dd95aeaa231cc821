//! Estimates the weight of a stored response: its bytes of memory, bookkeeping included.
//!
//! Invariant: the sum of all weights is what the allocator gives out, within a tenth.
//! `crates/gateway/tests/memory.rs` measures it, also for tiny responses. So `[cache] bytes` bounds
//! memory.
//! Sizes are rounded as mimalloc rounds them, to four classes per power of two. Parts of the weight
//! are computed elsewhere: `engine::bytes_each`, `ghosts::BYTES_EACH`, `tags::TAG_BYTES`, and in
//! `encodings` the bytes that `memory` recounts.
//! A new field of an entry that allocates must be added here; nothing but that test notices. Never
//! here: what is evicted (`engine`).

use std::sync::Arc;

use super::content::Content;
use super::engine;
use crate::entry::Entry;
use crate::key::SharedKey;
use crate::tags::{TAG_BYTES, Tags};

/// Counters of an `Arc`.
const ARC_BYTES: usize = 2 * size_of::<usize>();
/// Bytes that `Bytes` allocates to share its content.
const SHARED_BYTES: usize = 32;
/// Bytes of a place in a B-tree whose nodes are a little more than half full, with their heads.
const INDEX_BYTES: usize = (size_of::<(SharedKey, Tags)>() + 4) * 7 / 4;

/// Returns the bytes that a key and its content cost.
pub(super) fn of(key: &[u8], content: &Content) -> u64 {
    let content_bytes = match content {
        Content::Entry(entry) => entry_bytes(entry),
        Content::Varies(names) => names.iter().map(|name| 16 + allocated(name.len())).sum(),
    };
    let bytes = engine::bytes_each::<Content>() + INDEX_BYTES + allocated(ARC_BYTES + key.len());
    (bytes + content_bytes) as u64
}

fn entry_bytes(entry: &Arc<Entry>) -> usize {
    let shared = |bytes: &[u8]| match bytes.len() {
        0 => 0,
        len => allocated(len) + SHARED_BYTES,
    };
    let text = |text: &Option<Box<[u8]>>| text.as_ref().map_or(0, |text| allocated(text.len()));
    let encoded =
        entry.encodings.as_ref().map_or(0, |encodings| encodings.counted_bytes() as usize);
    allocated(ARC_BYTES + size_of::<Entry>())
        + shared(&entry.fields)
        + shared(&entry.body)
        + text(&entry.etag)
        + text(&entry.last_modified)
        + encoded
        + entry.tags.len() * TAG_BYTES as usize
}

/// Returns the bytes that the allocator takes for an allocation of this size.
pub(super) fn allocated(bytes: usize) -> usize {
    bytes.next_multiple_of((bytes.next_power_of_two() / 8).max(16))
}

#[cfg(test)]
mod tests;
