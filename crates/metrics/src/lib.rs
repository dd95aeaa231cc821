//! Counters, gauges and timers that hot paths update without a lock, and their exposition;
//! mergeable sketches for what cannot be added up.
//!
//! A `Registry` hands out cheap handles once, at start; updating one is a relaxed atomic add.
//! Never here: sockets, threads, names made up per request.

mod registry;
mod sketch;
mod timer;

pub use registry::{Counter, Gauge, Labels, Metric, Reading, Registry};
pub use sketch::{Quantiles, SketchError, Uniques, merge_sketches};
pub use timer::{Timer, TimerSnapshot};

#[cfg(test)]
mod tests;
