//! Has an answer that takes long made once for all who ask the same at the same time, and keeps it.
//!
//! Callers bring the key: a hash of a request in its canonical form and of the model's version
//! (`digest.rs`). So a new version has its own answers. A new generation of the same version gives
//! the old answers, as with a version set by hand. The hash is not keyed.
//!
//! Invariant: who joins a request gets what the first one gets, a refusal too, or is dropped with
//! it.
//! Bound: 32 MiB of answers a process, `BYTES_MAX`, which docs/MODELS.md states. `quick_cache`
//! divides it by cores, into 32 shards at most; an answer larger than a shard is not kept. The
//! least useful go first; refusals are never kept. Who asks in the moment in which an answer comes
//! may have it made again.
//! Used on the pool for `infer` of models that predict, `/cluster` and `/similarity` (`router.rs`).
//! What changes an answer must be in its key (`oip/request.rs`, `router/texts.rs`). Elsewhere:
//! vectors of texts (`texts/cache.rs`).

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::queued::{AnswerSender, QueuedAnswer, WholeAnswer};

/// Bytes of answers that are kept, a process.
const BYTES_MAX: u64 = 32 << 20;

/// Answers by what was asked, and who waits for those being made.
pub(crate) struct AnswerCache {
    kept: Cache<u128, WholeAnswer, Weight>,
    making: Mutex<HashMap<u128, Vec<Box<dyn AnswerSender>>>>,
}

#[derive(Clone)]
struct Weight;

impl Weighter<u128, WholeAnswer> for Weight {
    fn weight(&self, _: &u128, (_, body): &WholeAnswer) -> u64 {
        body.len() as u64 + 128
    }
}

impl AnswerCache {
    pub(crate) fn new() -> Arc<Self> {
        let kept = Cache::with_weighter(1024, BYTES_MAX, Weight);
        Arc::new(Self { kept, making: Mutex::default() })
    }

    /// Answers from what is kept, or joins those who wait for the same. Returns a sender for
    /// whom the answer is to be made; none when somebody else makes it.
    pub(crate) fn ask(
        self: &Arc<Self>,
        key: u128,
        sender: Box<dyn AnswerSender>,
    ) -> Option<Box<dyn AnswerSender>> {
        if let Some(answer) = self.kept.get(&key) {
            sender.send(Ok(answer));
            return None;
        }
        let mut making = self.making.lock();
        if let Some(waiting) = making.get_mut(&key) {
            waiting.push(sender);
            return None;
        }
        making.insert(key, vec![sender]);
        Some(Box::new(SharedSender { answers: Arc::clone(self), key }))
    }
}

/// Stands for all who ask the same.
struct SharedSender {
    answers: Arc<AnswerCache>,
    key: u128,
}

impl AnswerSender for SharedSender {
    fn is_waiting(&self) -> bool {
        let making = self.answers.making.lock();
        making.get(&self.key).is_some_and(|waiting| waiting.iter().any(|one| one.is_waiting()))
    }

    fn send(self: Box<Self>, answer: QueuedAnswer) {
        if let Ok((answer, body)) = &answer {
            // A window on a larger buffer would keep all of it.
            let kept = (answer.clone(), Bytes::copy_from_slice(body));
            self.answers.kept.insert(self.key, kept);
        }
        let waiting = self.answers.making.lock().remove(&self.key).unwrap_or_default();
        for sender in waiting {
            sender.send(answer.clone());
        }
    }
}

impl Drop for SharedSender {
    fn drop(&mut self) {
        // After an answer there is nobody left; without one all are dropped.
        let waiting = self.answers.making.lock().remove(&self.key);
        drop(waiting);
    }
}

#[cfg(test)]
mod tests;
