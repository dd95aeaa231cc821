//! Holds what was measured of a host beside calls: signals in equal intervals.
//!
//! Plain data, which `lab` fills in. Invariant of whoever does: columns of signals have one length,
//! and those of cores have one, too.

use serde::{Deserialize, Serialize};

/// What was measured of the host beside calls, in equal intervals.
#[derive(Debug, Clone, Default)]
pub struct Signals {
    /// Milliseconds from the series' origin to the beginning of the first interval.
    pub began_ms: f64,
    /// Milliseconds of an interval.
    pub interval_ms: f64,
    /// One column for each signal.
    pub columns: Vec<SignalColumn>,
    /// For each core the milliseconds by which its sleeper woke up late, the most of each interval.
    pub cores: Vec<Vec<f32>>,
}

/// A signal.
#[derive(Debug, Clone, Default)]
pub struct SignalColumn {
    /// Its name, such as `waits for disk` or `starts of rcs`.
    pub name: String,
    /// The unit of its values: `ms`, `bytes`, or nothing for a number.
    pub unit: String,
    /// What its values are.
    pub kind: SignalKind,
    /// Whether it is of programs of one name, rather than of the host.
    pub is_program: bool,
    /// Its value in each interval; NaN where nothing was measured.
    pub values: Vec<f32>,
}

/// What the values of a signal are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SignalKind {
    /// What came up in the interval: several intervals add up.
    #[default]
    Sum,
    /// What was there, such as bytes that wait.
    Level,
    /// The most that was there.
    Peak,
}
