//! Counts the answers of an upstream that are errors of its own (5xx), over the last ten seconds.
//!
//! An app that answers 500 to everybody takes connections and answers requests, so nothing else
//! notices it. Invariants: an answer that is no error costs one atomic addition. Marks are made by
//! errors, one a second at most, and the span begins with the oldest. So it begins with an error,
//! and answers before that do not count. The share is trouble from ten errors on, if they are half
//! of the answers. The log tells of its begin, once in ten seconds at most.
//! Refuses: to take anything out of rotation, for an app may be right to say 503 (`trouble`).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The time over which errors are counted, and between two lines of the log.
const SPAN: Duration = Duration::from_secs(10);
/// Time between two marks.
const MARK_INTERVAL: Duration = Duration::from_secs(1);
/// Least errors that are trouble.
const ERRORS_MIN: u64 = 10;

/// How many answers are errors.
#[derive(Debug, Default)]
pub(super) struct ErrorShare {
    answers: AtomicU64,
    marks: Mutex<Marks>,
}

#[derive(Debug, Default)]
struct Marks {
    errors: u64,
    /// What was counted when, oldest first.
    all: VecDeque<ErrorMark>,
    /// When the log told of it.
    logged: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct ErrorMark {
    at: Instant,
    answers: u64,
    errors: u64,
}

/// Errors among the answers since the first error of the last ten seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Errors {
    pub errors: u64,
    pub answers: u64,
}

impl ErrorShare {
    /// Counts an answer; returns the errors of the span if the log is to tell of them.
    pub(super) fn note(&self, status: u16, now: Instant) -> Option<Errors> {
        let answers = self.answers.fetch_add(1, Ordering::Relaxed);
        if status < 500 {
            return None;
        }
        let mut marks = self.marks.lock();
        marks.forget(now);
        if marks.all.back().is_none_or(|last| now.duration_since(last.at) >= MARK_INTERVAL) {
            let mark = ErrorMark { at: now, answers, errors: marks.errors };
            marks.all.push_back(mark);
        }
        marks.errors += 1;
        let trouble = marks.trouble(answers + 1)?;
        if marks.logged.is_some_and(|logged| now.duration_since(logged) < SPAN) {
            return None;
        }
        marks.logged = Some(now);
        Some(trouble)
    }

    /// Returns the errors of the span, if they are trouble.
    pub(super) fn trouble(&self, now: Instant) -> Option<Errors> {
        let mut marks = self.marks.lock();
        marks.forget(now);
        marks.trouble(self.answers.load(Ordering::Relaxed))
    }
}

impl Marks {
    fn forget(&mut self, now: Instant) {
        while self.all.front().is_some_and(|mark| now.duration_since(mark.at) > SPAN) {
            self.all.pop_front();
        }
    }

    fn trouble(&self, answers: u64) -> Option<Errors> {
        let first = self.all.front()?;
        // Another core may have counted more before it made the first mark.
        let answers = answers.saturating_sub(first.answers);
        let errors = self.errors - first.errors;
        (errors >= ERRORS_MIN && errors * 2 >= answers).then_some(Errors { errors, answers })
    }
}

#[cfg(test)]
mod tests;
