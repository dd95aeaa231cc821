//! Puts what signals grew by into intervals of one length, a block of a hundred at a time.
//!
//! A growth that spans several intervals is spread evenly over them, as far as it reached into
//! each. A late reading (programs are looked at about once a second) reaches back into blocks that
//! are not yet written.
//! Invariant: a block is handed over once, in order, and ten seconds after its end. What would
//! reach back further goes into the oldest block that is left. A sum is kept as it was, a level
//! holds in each interval it touches.

use std::collections::VecDeque;

use verdicts::SignalKind;

use super::counters::Grown;

/// Intervals of a block.
pub(super) const BLOCK: usize = 100;

/// What a signal is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SignalName {
    pub(super) name: String,
    pub(super) unit: &'static str,
    pub(super) kind: SignalKind,
    pub(super) is_program: bool,
}

/// What all signals grew by in the intervals of a block.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Block {
    /// The number of its first interval since the start.
    pub(super) first: u64,
    /// One column for each signal, by its number; empty where it did not grow.
    pub(super) columns: Vec<Vec<f32>>,
    /// What the signals are, by number; nothing of one that never grew.
    pub(super) signals: Vec<Option<SignalName>>,
}

/// Blocks that still may change.
#[derive(Debug)]
pub(super) struct IntervalGrid {
    interval_ns: u64,
    signals: Vec<Option<SignalName>>,
    /// The oldest first, one after the other.
    blocks: VecDeque<Block>,
}

impl IntervalGrid {
    pub(super) fn new(interval_ns: u64) -> Self {
        Self { interval_ns, signals: Vec::new(), blocks: VecDeque::from([Block::default()]) }
    }

    /// Adds what a signal grew by.
    pub(super) fn add(&mut self, grown: Grown<'_>) {
        // A counter has its number from its first reading on, and a growth from its second.
        if grown.number >= self.signals.len() {
            self.signals.resize(grown.number + 1, None);
        }
        let Grown { unit, kind, is_program, .. } = grown;
        self.signals[grown.number].get_or_insert_with(|| SignalName {
            name: grown.name.to_owned(),
            unit,
            kind,
            is_program,
        });
        let oldest_ns = self.blocks[0].first * self.interval_ns;
        let from_ns = grown.from_ns.max(oldest_ns);
        let to_ns = grown.to_ns.max(from_ns + 1);
        let (first, last) = (from_ns / self.interval_ns, (to_ns - 1) / self.interval_ns);
        for interval in first..=last {
            let begin = (interval * self.interval_ns).max(from_ns);
            let end = ((interval + 1) * self.interval_ns).min(to_ns);
            let cell = self.cell(interval, grown.number);
            let part = (end - begin) as f64 / (to_ns - from_ns) as f64;
            match grown.kind {
                SignalKind::Sum => *cell += (grown.amount * part) as f32,
                SignalKind::Level => *cell = grown.amount as f32,
                SignalKind::Peak => *cell = cell.max(grown.amount as f32),
            }
        }
    }

    /// Hands over the blocks that do not change any more.
    pub(super) fn whole(&mut self, now_ns: u64, each: &mut dyn FnMut(Block)) {
        let is_over = |block: &Block| (block.first + 2 * BLOCK as u64) * self.interval_ns <= now_ns;
        while is_over(&self.blocks[0]) {
            let first = self.blocks[0].first + BLOCK as u64;
            if self.blocks.len() == 1 {
                self.blocks.push_back(Block { first, ..Block::default() });
            }
            let mut block = self.blocks.pop_front().expect("there was one, and another was added");
            block.signals.clone_from(&self.signals);
            each(block);
        }
    }

    /// Hands over everything.
    pub(super) fn end(self, each: &mut dyn FnMut(Block)) {
        for mut block in self.blocks {
            block.signals.clone_from(&self.signals);
            each(block);
        }
    }

    fn cell(&mut self, interval: u64, number: usize) -> &mut f32 {
        let first = self.blocks[0].first;
        let place = (interval - first) as usize / BLOCK;
        while self.blocks.len() <= place {
            let first = first + (self.blocks.len() * BLOCK) as u64;
            self.blocks.push_back(Block { first, ..Block::default() });
        }
        let block = &mut self.blocks[place];
        if block.columns.len() <= number {
            block.columns.resize(number + 1, Vec::new());
        }
        let column = &mut block.columns[number];
        if column.is_empty() {
            column.resize(BLOCK, 0.0);
        }
        &mut column[(interval - first) as usize % BLOCK]
    }
}

#[cfg(test)]
mod tests;
