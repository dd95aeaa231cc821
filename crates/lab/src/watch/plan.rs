//! Defines what is watched, for how long it is kept, and the interval of signals.
//!
//! Plain data. Invariant: each probe's plan has one target and no end.

use std::path::PathBuf;
use std::time::Duration;

use crate::probe::Plan;

/// Length of an interval of the signals.
pub(super) const INTERVAL_NS: u64 = 100_000_000;

/// What is watched, and where it is kept.
#[derive(Debug, Clone)]
pub struct WatchPlan {
    /// One plan for each target, of that target alone.
    pub probes: Vec<Plan>,
    /// The file; a watch that ended is gone on with.
    pub file: PathBuf,
    /// What is older is deleted.
    pub keep_for: Duration,
    /// Bytes of the file; beyond it the oldest is deleted.
    pub bytes_max: u64,
    /// Processes whose control group is watched beside our own.
    pub pids: Vec<u32>,
    /// Logs of garbage collectors.
    pub collector_logs: Vec<PathBuf>,
    /// `HOST:PORT` of a statsd server that is told calls and signals.
    pub statsd: Option<String>,
}
