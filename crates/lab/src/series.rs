//! What was measured: one column per quantity, one row per call that succeeded.
//!
//! Invariant: every column that is there has as many rows as `total_ms`; times are milliseconds,
//! finite and not negative; what could not be a row is counted in [`LeftOut`], never dropped
//! silently.

use std::collections::BTreeMap;

/// Calls of one kind, in the order in which they were meant to begin.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// What was called, as a user wrote it.
    pub name: String,
    /// Milliseconds from the beginning of each call to its end. In an open loop the beginning is
    /// the moment at which it was meant to begin.
    pub total_ms: Vec<f64>,
    /// Milliseconds from the series' origin to the beginning of each call; empty when unknown.
    pub began_ms: Vec<f64>,
    /// Milliseconds since the Unix epoch of the origin of `began_ms`, where known.
    pub origin_unix_ms: Option<f64>,
    /// The steps of each call; what they do not cover is the step `untracked`.
    pub phases: Vec<Phase>,
    /// What else is known of each call.
    pub attributes: Vec<Attribute>,
    /// What is not in the columns, and why.
    pub left_out: LeftOut,
    /// What a reader has to know of the measurement: a clock that stepped, a target that died.
    pub notes: Vec<String>,
}

/// One named step of every call.
#[derive(Debug, Clone)]
pub struct Phase {
    /// The step's name: `resolve connect tls send wait transfer`, a `Server-Timing` name, a column.
    pub name: String,
    /// Milliseconds in each call; 0 where a call had no such step.
    pub ms: Vec<f64>,
}

/// One named property of every call.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// The property's name: `server`, `worker`, `status`, `bytes`.
    pub name: String,
    /// Its value in each call.
    pub values: Values,
}

/// The values of an attribute.
#[derive(Debug, Clone)]
pub enum Values {
    /// Names, each kept once: `of[i]` indexes `names`.
    Names {
        /// The different values.
        names: Vec<String>,
        /// Which of them each call has.
        of: Vec<u32>,
    },
    /// Numbers; NaN where a call has none.
    Numbers(Vec<f64>),
}

/// Calls that gave no row.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LeftOut {
    /// Calls that failed, by what became of them, in words (`connection refused`, `status 503`).
    pub failed: BTreeMap<String, u64>,
    /// Rows whose time was not a number, was negative or was infinite, by what it was.
    pub bad: BTreeMap<String, u64>,
}

impl Series {
    /// Returns the number of calls.
    pub fn len(&self) -> usize {
        self.total_ms.len()
    }

    /// Returns whether no call succeeded.
    pub fn is_empty(&self) -> bool {
        self.total_ms.is_empty()
    }

    /// Returns the moments at which the calls ended, in milliseconds since the series' origin, or
    /// nothing when they are not known.
    pub fn ended_ms(&self) -> Vec<f64> {
        self.began_ms.iter().zip(&self.total_ms).map(|(began, total)| began + total).collect()
    }
}

impl LeftOut {
    /// Returns how many calls gave no row.
    pub fn total(&self) -> u64 {
        self.failed.values().chain(self.bad.values()).sum()
    }
}
