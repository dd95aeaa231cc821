//! Defines what is held against bounds, and what became of a bound.
//!
//! Plain data. The names of states and fields are JSON that users parse.

use serde::Serialize;
use verdicts::{RelativeChange, Sorted};

/// What is held against bounds.
#[derive(Debug)]
pub struct BoundSample<'a> {
    /// What was measured, for the sentence; empty where there is only one.
    pub name: &'a str,
    /// Milliseconds of calls: of a load those of its sample, of a benchmark all runs, of a log
    /// answers of 5xx, too.
    pub times: &'a Sorted,
    /// Milliseconds of the slowest call, in the sample or not.
    pub max_ms: f64,
    /// Calls that succeeded, in the sample or not.
    pub succeeded: u64,
    /// Calls that failed.
    pub failed: u64,
    /// How it compares with another measurement, where there is one.
    pub change: Option<&'a RelativeChange>,
}

/// What became of a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BoundState {
    /// The measurement is within it.
    Kept,
    /// The sample is too small to tell.
    Unclear,
    /// The measurement is beyond it.
    Exceeded,
}

/// A bound with what was measured: times in milliseconds, shares as fractions of 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BoundOutcome {
    /// The bound as it was written.
    pub bound: String,
    /// What was measured; empty where there is only one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub of: String,
    /// What became of it.
    pub state: BoundState,
    /// What was measured; absent where the calls give no figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<f64>,
    /// 95 % interval of it, an end absent where the sample is too small for it.
    pub ci: [Option<f64>; 2],
    /// How many calls would be enough, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_needed: Option<u64>,
    /// All of it in words.
    pub sentence: String,
}
