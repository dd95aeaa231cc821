//! Keeps cells by name: what a receiver looks up for each line.
//!
//! Callers hash a name for each look-up (foldhash, one seed, so `flush.rs` uses a hash in every
//! table). A slot keeps its hash, so growing and visiting hash nothing again. `remove` hashes its
//! name itself. A cell of a known name costs one look-up and no allocation. Slots also know for how
//! many flushes they were idle, and how often they were touched. Hashes are stored nowhere.
//! Invariant: every slot that is taken is in the index exactly once. The caller adds only names
//! that it did not find. Free slots are reused, so the order of slots is not that of arrival. Slots
//! move only at the end of `visit`, where most of the room of a flood of names is given back.
//! `flush.rs` and `snapshot.rs` go on from slot to slot without holding the lock.
//! [`NAME_BYTES`] is what a slot takes: a larger slot changes it. Never here: bounds and
//! charging (`table.rs`, `budget.rs`).

use std::sync::Arc;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// A name, shared by everyone who shows it.
pub(crate) type SharedName = Arc<str>;

/// What a slot costs beside its cell and the bytes of its name.
///
/// That is the slot itself and its place in the index, twice because tables grow by doubling. And
/// it is the head and the rounding of an allocation.
pub(crate) const NAME_BYTES: usize = 2 * 32 + 2 * 6 + 32;

/// Slots that stay free for names to come, whatever they take.
const FREE_MAX: usize = 16_384;

/// Bytes that a name takes beside its cell.
pub(crate) fn name_bytes(name: &str) -> usize {
    name.len() + NAME_BYTES
}

/// Cells by name.
#[derive(Debug)]
pub(crate) struct NameMap<C> {
    index: HashTable<u32>,
    slots: Vec<Option<NameSlot<C>>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct NameSlot<C> {
    name: SharedName,
    hash: u64,
    /// Flushes since it was last touched; 0 when it was touched since the last one.
    idle: u32,
    /// Times it was touched since the last flush.
    touched: u32,
    cell: C,
}

/// Where a name is, until the next one is added or removed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotIndex(u32);

/// A cell that is looked at by a flush.
#[derive(Debug)]
pub(crate) struct VisitedCell<'n, C> {
    /// Its name.
    pub name: &'n SharedName,
    /// The hash of its name.
    pub hash: u64,
    /// Flushes before this one in which it was not touched.
    pub idle: u32,
    /// The cell.
    pub cell: &'n mut C,
}

impl<C> Default for NameMap<C> {
    fn default() -> Self {
        Self { index: HashTable::new(), slots: Vec::new(), free: Vec::new() }
    }
}

/// The hash of a name: the same in every table and process.
pub(crate) fn hash(name: &[u8]) -> u64 {
    FixedState::with_seed(0).hash_one(name)
}

impl<C> NameMap<C> {
    /// With room for so many names.
    pub(crate) fn with_capacity(names: usize) -> Self {
        let (index, slots) = (HashTable::with_capacity(names), Vec::with_capacity(names));
        Self { index, slots, free: Vec::new() }
    }

    /// The number of names.
    pub(crate) fn len(&self) -> usize {
        self.index.len()
    }

    /// Where a name is, if it is known.
    pub(crate) fn find(&self, name: &[u8], hash: u64) -> Option<SlotIndex> {
        let slots = &self.slots;
        self.index.find(hash, |at| is(&slots[*at as usize], name, hash)).map(|at| SlotIndex(*at))
    }

    /// The cell at a place that was just found.
    pub(crate) fn touch(&mut self, place: SlotIndex) -> &mut C {
        let slot = self.slots[place.0 as usize].as_mut().expect("found places are taken");
        slot.idle = 0;
        slot.touched = slot.touched.saturating_add(1);
        &mut slot.cell
    }

    /// The name and the cell at a place that was just found.
    pub(crate) fn touch_named(&mut self, place: SlotIndex) -> (&SharedName, &mut C) {
        let slot = self.slots[place.0 as usize].as_mut().expect("found places are taken");
        slot.idle = 0;
        slot.touched = slot.touched.saturating_add(1);
        (&slot.name, &mut slot.cell)
    }

    /// The cell at a place that was just found, which was idle for so many flushes at most.
    pub(crate) fn revive(&mut self, place: SlotIndex, idle: u32) -> &mut C {
        let slot = self.slots[place.0 as usize].as_mut().expect("found places are taken");
        slot.idle = slot.idle.min(idle);
        &mut slot.cell
    }

    /// The name at a place that was just found.
    pub(crate) fn name(&self, place: SlotIndex) -> &SharedName {
        let slot = self.slots[place.0 as usize].as_ref();
        &slot.expect("found places are taken").name
    }

    /// Adds a name that is not known, untouched for `idle` flushes; returns where it is.
    pub(crate) fn add(&mut self, name: SharedName, hash: u64, idle: u32, cell: C) -> SlotIndex {
        let slot = Some(NameSlot { name, hash, idle, touched: 0, cell });
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                (self.slots.len() - 1) as u32
            }
        };
        let slots = &self.slots;
        self.index.insert_unique(hash, at, |at| slot_hash(&slots[*at as usize]));
        SlotIndex(at)
    }

    /// Removes a name.
    pub(crate) fn remove(&mut self, name: &[u8]) -> Option<C> {
        let hash = hash(name);
        let slots = &self.slots;
        let entry = self.index.find_entry(hash, |at| is(&slots[*at as usize], name, hash)).ok()?;
        let (at, _) = entry.remove();
        self.free.push(at);
        self.slots[at as usize].take().map(|slot| slot.cell)
    }

    /// Looks at up to `count` slots from `from` on for a flush; those for which `look` is false are
    /// removed. Returns where to go on, or none at the end.
    pub(crate) fn visit(
        &mut self,
        from: usize,
        count: usize,
        mut look: impl FnMut(VisitedCell<'_, C>) -> bool,
    ) -> Option<usize> {
        let end = self.slots.len().min(from + count);
        for at in from..end {
            let Some(slot) = &mut self.slots[at] else { continue };
            let NameSlot { name, hash, idle, touched, cell } = slot;
            let seen = VisitedCell { name, hash: *hash, idle: *idle, cell };
            let is_kept = look(seen);
            (*idle, *touched) = (idle.saturating_add(1), 0);
            let hash = *hash;
            if !is_kept {
                self.slots[at] = None;
                self.free.push(at as u32);
                let gone = at as u32;
                if let Ok(entry) = self.index.find_entry(hash, |at| *at == gone) {
                    entry.remove();
                }
            }
        }
        if end < self.slots.len() {
            return Some(end);
        }
        if self.free.len() > FREE_MAX && self.len() < self.slots.len() / 8 {
            self.compact();
        }
        None
    }

    /// Gives back what a flood of names has left behind, when few are left.
    fn compact(&mut self) {
        self.slots = std::mem::take(&mut self.slots).into_iter().filter(Option::is_some).collect();
        self.slots.shrink_to_fit();
        self.free = Vec::new();
        let slots = &self.slots;
        self.index = HashTable::with_capacity(slots.len());
        for (at, slot) in slots.iter().enumerate() {
            let hash = |at: &u32| slot_hash(&slots[*at as usize]);
            self.index.insert_unique(slot_hash(slot), at as u32, hash);
        }
    }

    /// Shows `look` up to `count` slots from `from` on, with the flushes for which each was idle.
    ///
    /// Returns where to go on, or none at the end.
    pub(crate) fn show<'n>(
        &'n self,
        from: usize,
        count: usize,
        mut look: impl FnMut(&'n SharedName, u32, &'n C),
    ) -> Option<usize> {
        let end = self.slots.len().min(from + count);
        let slots = self.slots.get(from..end).unwrap_or_default();
        slots.iter().flatten().for_each(|slot| look(&slot.name, slot.idle, &slot.cell));
        (end < self.slots.len()).then_some(end)
    }

    /// Every name with its cell, in the order of their slots.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&SharedName, &C)> {
        self.slots.iter().flatten().map(|slot| (&slot.name, &slot.cell))
    }

    /// Every name with its cell, in the order of their slots.
    pub(crate) fn into_pairs(self) -> impl Iterator<Item = (SharedName, C)> {
        self.slots.into_iter().flatten().map(|slot| (slot.name, slot.cell))
    }

    /// Every name with how often it was touched since the last flush, and its cell.
    pub(crate) fn touched(&self) -> impl Iterator<Item = (&SharedName, u32, &C)> {
        self.slots.iter().flatten().map(|slot| (&slot.name, slot.touched, &slot.cell))
    }
}

fn is<C>(slot: &Option<NameSlot<C>>, name: &[u8], hash: u64) -> bool {
    slot.as_ref().is_some_and(|slot| slot.hash == hash && slot.name.as_bytes() == name)
}

fn slot_hash<C>(slot: &Option<NameSlot<C>>) -> u64 {
    slot.as_ref().map_or(0, |slot| slot.hash)
}

#[cfg(test)]
mod tests;
