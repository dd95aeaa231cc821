//! Finds the row of an item's id, and the id of a row, for ids that arrive by the hundred in a
//! request.
//!
//! This is an open-addressing table of 16-byte slots, at most half full. An id of up to 7 bytes is
//! its own key, with the length in the top byte. Finding it touches the slots from its home on,
//! mostly one, and no other memory. A longer id is keyed by its hash, and compared with the text in
//! the arena.
//!
//! Invariant: a row is found by exactly its id, and an id that was not added gives `None`. No id is
//! taken out again. `items.rs` adds all ids while it reads, and hands out no way to add more. So a
//! request cannot make the table degenerate.
//! Bounds are the reader's: 4 GiB of ids, or a row beyond 32 bits, panics here.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// The longest id that is its own key.
const PACKED_BYTES_MAX: usize = 7;
/// Top byte of a key that is a hash; never a packed length.
const HASHED: u64 = 0xFF << 56;
const EMPTY: u32 = u32::MAX;

/// The ids of a table of items, both ways.
#[derive(Debug)]
pub(crate) struct Ids {
    slots: Vec<IdSlot>,
    mask: usize,
    arena: String,
    /// `ends[row]` is where the id of `row` ends in the arena; it starts where the last one ended.
    ends: Vec<u32>,
    hasher: RandomState,
}

#[derive(Debug, Clone, Copy)]
struct IdSlot {
    key: u64,
    row: u32,
}

impl Ids {
    /// Returns an empty table.
    pub(crate) fn new() -> Self {
        let slots = vec![IdSlot { key: 0, row: EMPTY }; 16];
        let hasher = RandomState::default();
        Self { mask: slots.len() - 1, slots, arena: String::new(), ends: Vec::new(), hasher }
    }

    /// Adds the next row; returns `false`, and adds nothing, if the id is already there.
    pub(crate) fn push(&mut self, id: &str) -> bool {
        if self.row(id.as_bytes()).is_some() {
            return false;
        }
        let row = u32::try_from(self.ends.len()).expect("item count is checked by the reader");
        self.arena.push_str(id);
        self.ends.push(u32::try_from(self.arena.len()).expect("ids fit in 4 GB, as read"));
        if self.ends.len() * 2 > self.slots.len() {
            self.grow();
        } else {
            self.place(id.as_bytes(), row);
        }
        true
    }

    /// Returns the row of an id.
    #[inline]
    pub(crate) fn row(&self, id: &[u8]) -> Option<u32> {
        let key = self.key(id);
        let mut at = self.home(key);
        loop {
            let slot = self.slots[at];
            if slot.row == EMPTY {
                return None;
            }
            if slot.key == key
                && (id.len() <= PACKED_BYTES_MAX || self.id(slot.row).as_bytes() == id)
            {
                return Some(slot.row);
            }
            at = (at + 1) & self.mask;
        }
    }

    /// Returns the id of a row.
    pub(crate) fn id(&self, row: u32) -> &str {
        let row = row as usize;
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.arena[start as usize..self.ends[row] as usize]
    }

    /// Returns the number of ids.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the bytes of text held.
    pub(crate) fn text_bytes(&self) -> usize {
        self.arena.len()
    }

    fn grow(&mut self) {
        self.slots = vec![IdSlot { key: 0, row: EMPTY }; self.slots.len() * 2];
        self.mask = self.slots.len() - 1;
        for row in 0..self.ends.len() as u32 {
            let key = self.key(self.id(row).as_bytes());
            self.settle(IdSlot { key, row });
        }
    }

    fn place(&mut self, id: &[u8], row: u32) {
        let key = self.key(id);
        self.settle(IdSlot { key, row });
    }

    fn settle(&mut self, slot: IdSlot) {
        let mut at = self.home(slot.key);
        while self.slots[at].row != EMPTY {
            at = (at + 1) & self.mask;
        }
        self.slots[at] = slot;
    }

    #[inline]
    fn key(&self, id: &[u8]) -> u64 {
        match pack(id) {
            Some(key) => key,
            None => self.hasher.hash_one(id) | HASHED,
        }
    }

    /// Fibonacci hashing: the high bits of the product are well mixed even for packed digits.
    #[inline]
    fn home(&self, key: u64) -> usize {
        let mixed = (key ^ (key >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 32) as usize & self.mask
    }
}

/// Returns the bytes of a short id as a number, its length in the top byte.
#[inline]
fn pack(id: &[u8]) -> Option<u64> {
    let len = id.len();
    let bytes = match len {
        0 => 0,
        1..=3 => u64::from(id[0]) | u64::from(id[len / 2]) << 8 | u64::from(id[len - 1]) << 16,
        4..=PACKED_BYTES_MAX => {
            let low = u32::from_le_bytes([id[0], id[1], id[2], id[3]]);
            let high = u32::from_le_bytes([id[len - 4], id[len - 3], id[len - 2], id[len - 1]]);
            u64::from(low) | u64::from(high) << (8 * (len - 4))
        }
        _ => return None,
    };
    Some(bytes | (len as u64) << 56)
}

#[cfg(test)]
mod tests;
