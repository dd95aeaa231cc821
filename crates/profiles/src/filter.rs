//! Says at once that a user has no profile, for almost all who have none.
//!
//! A binary fuse filter (Graf and Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor
//! Filters", 2022) with 8-bit fingerprints over keyed 64-bit hashes of the keys: 9 bits per
//! profile, never wrong when it says no, wrong in 1 of 256 when it says maybe, which costs one
//! look-up in SQLite. The hash is seeded per filter, so nobody can prepare ids that collide.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use xorf::{BinaryFuse8, Filter as _};

pub(crate) struct Filter {
    state: RandomState,
    fuse: Option<BinaryFuse8>,
}

/// The keys of a filter in the making: 8 bytes for each.
pub(crate) struct Keys {
    state: RandomState,
    hashes: Vec<u64>,
}

impl Keys {
    pub fn with_capacity(count: usize) -> Self {
        Self { state: RandomState::default(), hashes: Vec::with_capacity(count) }
    }

    pub fn push(&mut self, key: &[u8]) {
        self.hashes.push(self.state.hash_one(key));
    }

    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Returns the filter over the keys; none if the construction fails, which for distinct
    /// hashes has a probability far below that of a broken machine.
    pub fn into_filter(mut self) -> Option<Filter> {
        self.hashes.sort_unstable();
        self.hashes.dedup();
        // The construction is not defined over nothing.
        if self.hashes.is_empty() {
            return Some(Filter { state: self.state, fuse: None });
        }
        let fuse = BinaryFuse8::try_from(&self.hashes).ok()?;
        Some(Filter { state: self.state, fuse: Some(fuse) })
    }
}

impl Filter {
    /// Returns false only for keys that are certainly absent.
    pub fn may_hold(&self, key: &[u8]) -> bool {
        self.fuse.as_ref().is_some_and(|fuse| fuse.contains(&self.state.hash_one(key)))
    }

    pub fn bytes(&self) -> usize {
        self.fuse.as_ref().map_or(0, |fuse| fuse.len())
    }
}
