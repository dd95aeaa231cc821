//! Decides whose turn it is to be read, and what becomes of logs that may end without a line feed.
//!
//! Invariant: a log waits at most once, and never while it is its turn. While others wait, a turn
//! ends where the log ended when the turn began. So a log that grows without end holds up no other.
//! Only a log noted by `linger`, rotated or packed, may end. If it does not wait, and is quiet or
//! packed whole, it is closed where nothing is behind. Else its rest is given up.
//! Refuses: to read. It knows logs by their numbers only; the order among those that wait is set by
//! `scan`.

use std::collections::{HashSet, VecDeque};

use super::log::LogId;

/// The order of turns.
#[derive(Debug, Default)]
pub(super) struct TurnQueue {
    waiting: VecDeque<LogId>,
    is_waiting: HashSet<LogId>,
    current: Option<LogTurn>,
    /// How many turns there were.
    turns: u64,
    /// Logs that end or may end without a line feed.
    lingering: Vec<LogId>,
}

#[derive(Debug, Clone, Copy)]
struct LogTurn {
    log: LogId,
    /// The offset at which it is over.
    end: u64,
}

/// What becomes of a log that may end without a line feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RemainderDecision {
    /// More may come.
    Wait,
    /// It is read to its end: it can be closed.
    Retire,
    /// Nobody will complete its last line: that is given up.
    GiveUp,
}

/// What is known of such a log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remainder {
    /// It waits for its turn.
    pub is_waiting: bool,
    /// It is a packed file of which nothing is missing.
    pub is_whole: bool,
    /// It was silent for long enough.
    pub is_quiet: bool,
    /// Bytes of it that are there and are not read.
    pub behind: u64,
}

impl Remainder {
    pub(super) fn decide(self) -> RemainderDecision {
        match self {
            Self { is_waiting: true, .. } | Self { is_whole: false, is_quiet: false, .. } => {
                RemainderDecision::Wait
            }
            Self { behind: 0, .. } => RemainderDecision::Retire,
            _ => RemainderDecision::GiveUp,
        }
    }
}

impl TurnQueue {
    /// Queues a log that may have more.
    pub(super) fn wake(&mut self, log: LogId) {
        if self.current() != Some(log) && self.is_waiting.insert(log) {
            self.waiting.push_back(log);
        }
    }

    /// The log whose turn it is.
    pub(super) fn current(&self) -> Option<LogId> {
        self.current.map(|turn| turn.log)
    }

    /// The number of the turn that began last.
    pub(super) fn turns(&self) -> u64 {
        self.turns
    }

    pub(super) fn is_waiting(&self, log: LogId) -> bool {
        self.is_waiting.contains(&log)
    }

    /// Whether no log waits.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The log that goes on with its turn; one that is over waits for the next while others wait.
    /// `offset` tells how far a log is read; none for one that is gone.
    pub(super) fn go_on(&mut self, offset: impl Fn(LogId) -> Option<u64>) -> Option<LogId> {
        let turn = self.current?;
        let is_over = offset(turn.log).is_none_or(|offset| offset >= turn.end);
        if !is_over || self.waiting.is_empty() {
            return Some(turn.log);
        }
        self.current = None;
        self.wake(turn.log);
        None
    }

    /// Begins the turn of the next log; `end` tells where a log ends, none for one that is gone.
    pub(super) fn next(&mut self, end: impl Fn(LogId) -> Option<u64>) -> Option<LogId> {
        while let Some(log) = self.waiting.pop_front() {
            self.is_waiting.remove(&log);
            if let Some(end) = end(log) {
                self.turns += 1;
                self.current = Some(LogTurn { log, end });
                return Some(log);
            }
        }
        None
    }

    /// Ends the turn under way.
    pub(super) fn end(&mut self) {
        self.current = None;
    }

    /// Sorts those that wait: the smallest `key` first.
    pub(super) fn sort_by_key(&mut self, key: impl Fn(LogId) -> u64) {
        self.waiting.make_contiguous().sort_by_key(|log| key(*log));
    }

    /// Forgets every log.
    pub(super) fn clear(&mut self) {
        *self = Self { turns: self.turns, ..Self::default() };
    }

    /// Notes that a log ends, or may end, without a line feed.
    pub(super) fn linger(&mut self, log: LogId) {
        if !self.lingering.contains(&log) {
            self.lingering.push(log);
        }
    }

    /// Takes that note back.
    pub(super) fn forget_rest(&mut self, log: LogId) {
        self.lingering.retain(|other| *other != log);
    }

    /// The logs that were noted, in order.
    pub(super) fn lingering(&self) -> Vec<LogId> {
        self.lingering.clone()
    }
}

#[cfg(test)]
mod tests;
