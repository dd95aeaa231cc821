//! A request for vectors: who asked, what has come, what is still to come.
//!
//! Invariant: a sender is used once; it is dropped unused only where nobody waits any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use exchange::Refusal;
use parking_lot::Mutex;

use super::cache::Known;
use super::generation::TextModel;
use super::vectors::{Vectors, Wish};
use crate::queued::{AnswerSender, WholeAnswer};

/// Makes an answer of vectors; runs on a thread of the pool.
pub(crate) type Then = Box<dyn FnOnce(Vectors) -> Result<WholeAnswer, Refusal> + Send>;

/// A request whose vectors are not all there yet.
pub(super) struct Request {
    /// `None` once it is answered, or given up.
    open: Mutex<Option<Open>>,
}

/// Vectors as they come.
pub(super) struct Rows {
    pub(super) model: Arc<TextModel>,
    pub(super) wish: Wish,
    pub(super) rows: Vec<Option<Known>>,
    /// Rows that are `None`.
    pub(super) missing: usize,
}

struct Open {
    rows: Rows,
    sender: Box<dyn AnswerSender>,
    then: Then,
    _slot: Slot,
}

/// A request with all of its vectors, or without hope.
pub(super) struct Ready {
    rows: Result<Rows, Refusal>,
    sender: Box<dyn AnswerSender>,
    then: Then,
}

/// A place among the requests that wait for a model; given back when dropped.
pub(super) struct Slot(Arc<AtomicUsize>);

impl Slot {
    /// Takes a place, unless `most` are taken.
    pub(super) fn take(taken: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let free = |count| (count < most).then_some(count + 1);
        taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, free).ok()?;
        Some(Self(taken.clone()))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Request {
    pub(super) fn new(rows: Rows, sender: Box<dyn AnswerSender>, then: Then, slot: Slot) -> Self {
        Self { open: Mutex::new(Some(Open { rows, sender, then, _slot: slot })) }
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
    pub(super) fn take(&self, row: usize, outcome: &Result<Known, Refusal>) -> Option<Ready> {
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
        let Open { rows, sender, then, .. } = open.take()?;
        Some(Ready { rows: refusal.map_or(Ok(rows), Err), sender, then })
    }
}

impl Ready {
    pub(super) fn new(rows: Rows, sender: Box<dyn AnswerSender>, then: Then) -> Self {
        Self { rows: Ok(rows), sender, then }
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
        let answer = self.rows.and_then(|Rows { model, wish, rows, .. }| {
            let rows = rows.into_iter().map(|row| row.expect("no row is missing")).collect();
            (self.then)(Vectors { model, rows, wish })
        });
        self.sender.send(answer);
    }
}
