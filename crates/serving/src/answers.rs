//! Answers that take long: each made once for all who ask the same at the same time, and kept for
//! those who ask it again.
//!
//! A key is a hash of what is asked, canonical, with the version of the model that answers: two
//! bodies that mean the same have the same key, and a new generation has answers of its own.
//!
//! Invariant: whoever joins is answered with what the first one gets, or dropped with it.
//! Bound: `BYTES_MAX` of answers; the least used go first. Refusals are never kept.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use twox_hash::xxhash3_128::Hasher;

use crate::queued::{AnswerSender, QueuedAnswer, WholeAnswer};

/// Bytes of answers that are kept, a process.
const BYTES_MAX: u64 = 32 << 20;

/// Answers by what was asked, and who waits for those being made.
pub(crate) struct Answers {
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

impl Answers {
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
        Some(Box::new(First { answers: Arc::clone(self), key }))
    }
}

/// Stands for all who ask the same.
struct First {
    answers: Arc<Answers>,
    key: u128,
}

impl AnswerSender for First {
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

impl Drop for First {
    fn drop(&mut self) {
        // After an answer there is nobody left; without one all are dropped.
        let waiting = self.answers.making.lock().remove(&self.key);
        drop(waiting);
    }
}

/// Hashes the parts of a question.
pub(crate) fn key_of(parts: &[Vec<u8>]) -> u128 {
    let mut hasher = Hasher::new();
    for part in parts {
        hasher.write(&(part.len() as u64).to_le_bytes());
        hasher.write(part);
    }
    hasher.finish_128()
}

#[cfg(test)]
mod tests;
