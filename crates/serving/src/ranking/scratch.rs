//! Keeps the memory that one ranking request needs, for each thread, and uses it again.
//!
//! Invariant: `begin` empties all that a request before has left, but `text`, `scratch` and
//! `ranked`, which their users overwrite. A request in a thread that has ranked as large a one
//! allocates only what its reply and its impression take. After a panic a thread begins with new
//! memory.

use std::cell::Cell;

use models::{Inputs, Marks, Ranked, Scratch};

/// Everything a request writes before its reply.
#[derive(Debug, Default)]
pub(crate) struct RankScratch {
    /// Values of user and context features, by slot.
    pub(crate) slots: Vec<f64>,
    /// Candidates listed, each once, in the order of the body.
    pub(crate) listed: Marks,
    pub(crate) excluded: Vec<u32>,
    /// Candidates that no item has: their place in the body, quotes left out.
    pub(crate) unknown: Vec<(usize, usize)>,
    /// Rows chosen by more than one condition.
    pub(crate) chosen: Vec<u32>,
    /// Dotted name of the feature being read.
    pub(crate) path: String,
    /// Texts with escapes are decoded here.
    pub(crate) text: String,
    pub(crate) scratch: Scratch,
    pub(crate) ranked: Vec<Ranked>,
}

thread_local! {
    static WORK: Cell<Option<Box<RankScratch>>> = const { Cell::new(None) };
}

impl RankScratch {
    /// Runs `work` with this thread's memory, made ready for a request to `inputs`.
    pub(crate) fn with<R>(inputs: &Inputs, items: usize, work: impl FnOnce(&mut Self) -> R) -> R {
        let mut memory = WORK.take().unwrap_or_default();
        memory.begin(inputs, items);
        let result = work(&mut memory);
        WORK.set(Some(memory));
        result
    }

    fn begin(&mut self, inputs: &Inputs, items: usize) {
        inputs.clear(&mut self.slots);
        self.listed.reset(items);
        self.excluded.clear();
        self.unknown.clear();
        self.chosen.clear();
        self.path.clear();
    }
}
