//! Keeps the members of a set within one interval, exactly while they are few.
//!
//! They are kept whole while the budget has room, so that their number is exact. Beyond the budget,
//! or beyond [`MEMBERS_MAX`] (docs/STATSD.md says so), they become a HyperLogLog sketch (see
//! [`metrics::Uniques`]) where the caller allows it. `table.rs` does so natively, for overflow
//! keys, and for what a snapshot has. A sketch's number has a standard error of 0.81 %, and it
//! still merges.
//! Without room, and where no sketch is allowed, a member is refused: `table.rs` gives it to the
//! overflow key.
//! Invariant: what `add` and `add_sketch` add to [`Members::heap_bytes`] is charged to the budget.
//! `merge` charges nothing, for it joins what was taken or copied out of tables. `SetRecord`
//! (`snapshot/format.rs`) stores members and sketch: a new part is a new version there.

use std::collections::HashSet;

use metrics::Uniques;

use crate::budget::Budget;

/// What a member takes beside its bytes.
///
/// That is its place in the index, which is at least 7/16 full, and the head and rounding of an
/// allocation.
const MEMBER_BYTES: usize = 48;

/// Members of a set that may become a sketch: 6 MB, and 5 ms for a snapshot to write.
const MEMBERS_MAX: usize = 65_536;

/// The members of a set.
#[derive(Debug, Clone, Default)]
pub struct Members {
    exact: HashSet<Box<[u8]>, foldhash::fast::FixedState>,
    exact_bytes: usize,
    sketch: Option<Box<Uniques>>,
}

impl Members {
    /// Adds a member to those of the set `name`, and charges it. False when there is no room, and
    /// they may not become a sketch; a sketch is charged, and always finds room.
    pub fn add(&mut self, member: &[u8], name: &[u8], budget: &Budget, may_sketch: bool) -> bool {
        if self.sketch.is_none() {
            if self.exact.contains(member) {
                return true;
            }
            let bytes = member.len() + MEMBER_BYTES;
            let is_few = !may_sketch || self.exact.len() < MEMBERS_MAX;
            if is_few && budget.charge_contents(name, bytes) {
                self.exact.insert(member.into());
                self.exact_bytes += bytes;
                return true;
            }
            if !may_sketch {
                return false;
            }
        }
        let before = self.heap_bytes();
        self.sketched().add(member);
        budget.adjust(name, self.heap_bytes() as isize - before as isize);
        true
    }

    /// Adds what another receiver has.
    pub fn merge(&mut self, other: Self) {
        let Self { exact, exact_bytes, sketch } = other;
        if let Some(sketch) = sketch {
            self.sketched().merge(*sketch);
        }
        match &mut self.sketch {
            Some(mine) => exact.iter().for_each(|member| mine.add(member)),
            None => {
                self.exact.extend(exact);
                self.exact_bytes += exact_bytes;
            }
        }
    }

    /// Adds what a sketch has seen, and charges it.
    pub fn add_sketch(&mut self, sketch: Uniques, name: &[u8], budget: &Budget) {
        let before = self.heap_bytes();
        self.sketched().merge(sketch);
        budget.adjust(name, self.heap_bytes() as isize - before as isize);
    }

    /// How many there are; about so many where they have become a sketch.
    pub fn len(&self) -> usize {
        match &self.sketch {
            Some(sketch) => sketch.as_ref().clone().count() as usize,
            None => self.exact.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.sketch.is_none()
    }

    /// The members themselves; none where they have become a sketch.
    pub fn iter(&self) -> impl Iterator<Item = &Box<[u8]>> {
        self.exact.iter()
    }

    /// What they have become where they were too many.
    pub fn sketch(&self) -> Option<&Uniques> {
        self.sketch.as_deref()
    }

    /// Bytes that they take beside their cell.
    pub fn heap_bytes(&self) -> usize {
        let sketch = self.sketch.as_ref();
        self.exact_bytes + sketch.map_or(0, |sketch| size_of::<Uniques>() + sketch.heap_bytes())
    }

    fn sketched(&mut self) -> &mut Uniques {
        let (exact, exact_bytes) = (&mut self.exact, &mut self.exact_bytes);
        self.sketch.get_or_insert_with(|| {
            let mut sketch = Box::<Uniques>::default();
            std::mem::take(exact).iter().for_each(|member| sketch.add(member));
            *exact_bytes = 0;
            sketch
        })
    }
}

#[cfg(test)]
mod tests;
