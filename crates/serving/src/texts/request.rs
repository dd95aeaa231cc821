//! Holds a request for vectors: where its answer goes, which vectors have come, which are to come.
//!
//! The first refusal of a row answers the whole request. Also here: the permit, a place among the
//! requests that wait.
//! Invariant: a permit is held until the last row or a refusal has come, or nobody waits. It goes
//! before the answer is made. The bound of `texts/queue.rs` counts permits.
//! Invariant: a sender is used at most once. It is dropped unused where nobody waits any more, or
//! where making the answer panics. Such a panic also drops the answers that `texts/batcher.rs` was
//! to make after it on that thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use exchange::Refusal;
use parking_lot::Mutex;

use super::cache::KnownVector;
use super::embedding_generation::EmbeddingGeneration;
use super::vectors::{VectorOptions, Vectors};
use crate::queued::{AnswerSender, WholeAnswer};

/// Makes an answer of vectors; runs on a thread of the pool.
pub(crate) type MakeAnswer = Box<dyn FnOnce(Vectors) -> Result<WholeAnswer, Refusal> + Send>;

/// A request whose vectors are not all there yet.
pub(super) struct VectorRequest {
    /// `None` once it is answered, or given up.
    open: Mutex<Option<OpenRequest>>,
}

/// Vectors as they come.
pub(super) struct VectorRows {
    pub(super) model: Arc<EmbeddingGeneration>,
    pub(super) options: VectorOptions,
    pub(super) rows: Vec<Option<KnownVector>>,
    /// Rows that are `None`.
    pub(super) missing: usize,
}

struct OpenRequest {
    rows: VectorRows,
    sender: Box<dyn AnswerSender>,
    make_answer: MakeAnswer,
    _permit: QueuePermit,
}

/// A request with all of its vectors, or without hope.
pub(super) struct CompleteRequest {
    rows: Result<VectorRows, Refusal>,
    sender: Box<dyn AnswerSender>,
    make_answer: MakeAnswer,
}

/// A place among the requests that wait for a model; given back when dropped.
pub(super) struct QueuePermit(Arc<AtomicUsize>);

impl QueuePermit {
    /// Takes a place, unless `most` are taken.
    pub(super) fn take(taken: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let free = |count| (count < most).then_some(count + 1);
        taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, free).ok()?;
        Some(Self(taken.clone()))
    }
}

impl Drop for QueuePermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl VectorRequest {
    pub(super) fn new(
        rows: VectorRows,
        sender: Box<dyn AnswerSender>,
        make_answer: MakeAnswer,
        permit: QueuePermit,
    ) -> Self {
        Self { open: Mutex::new(Some(OpenRequest { rows, sender, make_answer, _permit: permit })) }
    }

    /// Whether anybody still wants it; forgets it where not.
    pub(super) fn is_waiting(&self) -> bool {
        let mut open = self.open.lock();
        let is_waiting = open.as_ref().is_some_and(|open| open.sender.is_waiting());
        if !is_waiting {
            *open = None;
        }
        is_waiting
    }

    /// Takes what became of a row; returns the request when it can be answered.
    pub(super) fn take(
        &self,
        row: usize,
        outcome: &Result<KnownVector, Refusal>,
    ) -> Option<CompleteRequest> {
        let mut open = self.open.lock();
        let rows = &mut open.as_mut()?.rows;
        let refusal = match outcome {
            Ok(known) => {
                rows.missing -= 1;
                rows.rows[row] = Some(known.clone());
                None
            }
            Err(refusal) => Some(refusal.clone()),
        };
        if refusal.is_none() && rows.missing > 0 {
            return None;
        }
        let OpenRequest { rows, sender, make_answer, .. } = open.take()?;
        Some(CompleteRequest { rows: refusal.map_or(Ok(rows), Err), sender, make_answer })
    }
}

impl CompleteRequest {
    pub(super) fn new(
        rows: VectorRows,
        sender: Box<dyn AnswerSender>,
        make_answer: MakeAnswer,
    ) -> Self {
        Self { rows: Ok(rows), sender, make_answer }
    }

    /// Returns how many rows the answer is made of.
    pub(super) fn len(&self) -> usize {
        self.rows.as_ref().map_or(0, |rows| rows.rows.len())
    }

    /// Makes the answer and hands it over.
    pub(super) fn answer(self) {
        if !self.sender.is_waiting() {
            return;
        }
        let answer = self.rows.and_then(|VectorRows { model, options, rows, .. }| {
            let rows = rows.into_iter().map(|row| row.expect("no row is missing")).collect();
            (self.make_answer)(Vectors { model, rows, options })
        });
        self.sender.send(answer);
    }
}
