//! Remembers the vectors of texts that were embedded before.
//!
//! One cache belongs to one generation of a model, and a vector does not depend on what was
//! embedded with it. So what is found is what would be computed, to the bit. Texts are told apart
//! by a keyed hash of 128 bits. Each generation draws its key anew, so nobody can look for two
//! texts with the same hash. `texts/queue.rs` relies on it, too: no hash is that of a text in
//! another generation.
//!
//! Bound: the bytes of the plan, 128 for each entry beside its numbers; less than one entry
//! remembers nothing. What was least useful goes (S3-FIFO), and is embedded again.
//! Elsewhere: whether a remembered text was cut (`texts/embedding_generation.rs`), answers
//! (`answer_cache.rs`).

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;
use siphasher::sip128::{Hasher128, SipHasher13};

/// What an entry takes beside its numbers: key, value, its place in the table and in the queues.
const ENTRY_BYTES: u64 = 128;

/// A text, for one generation.
pub(super) type TextKey = u128;

/// A vector as the model gives it, not normalised.
#[derive(Debug, Clone)]
pub(crate) struct KnownVector {
    pub(crate) numbers: Arc<[f32]>,
    /// Tokens of the text, its marks among them.
    pub(crate) tokens: u32,
}

#[derive(Debug)]
pub(super) struct VectorCache {
    keys: (u64, u64),
    entries: Option<Cache<TextKey, KnownVector, Bytes>>,
}

#[derive(Debug, Clone)]
struct Bytes;

impl VectorCache {
    /// Returns an empty cache for vectors of `dims` numbers; one of 0 bytes remembers nothing.
    pub(super) fn new(bytes: u64, dims: usize) -> Self {
        let entry = weight(dims);
        let entries =
            (bytes >= entry).then(|| Cache::with_weighter((bytes / entry) as usize, bytes, Bytes));
        // The standard library draws these from the system, two at a time.
        let drawn = || RandomState::new().build_hasher().finish();
        Self { keys: (drawn(), drawn()), entries }
    }

    pub(super) fn key(&self, text: &str) -> TextKey {
        let mut hasher = SipHasher13::new_with_keys(self.keys.0, self.keys.1);
        hasher.write(text.as_bytes());
        hasher.finish128().as_u128()
    }

    pub(super) fn get(&self, key: TextKey) -> Option<KnownVector> {
        self.entries.as_ref()?.get(&key)
    }

    pub(super) fn put(&self, key: TextKey, known: &KnownVector) {
        if let Some(entries) = &self.entries {
            entries.insert(key, known.clone());
        }
    }

    /// Returns how many vectors there are, and their bytes.
    pub(super) fn size(&self) -> (usize, u64) {
        self.entries.as_ref().map_or((0, 0), |entries| (entries.len(), entries.weight()))
    }
}

impl Weighter<TextKey, KnownVector> for Bytes {
    fn weight(&self, _: &TextKey, known: &KnownVector) -> u64 {
        weight(known.numbers.len())
    }
}

fn weight(dims: usize) -> u64 {
    ENTRY_BYTES + 4 * dims as u64
}
