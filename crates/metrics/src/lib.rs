//! Counters, gauges and timers that hot paths update without a lock, and their exposition.
//!
//! A `Registry` hands out cheap handles once, at start; updating one is a relaxed atomic add.
//! Never here: sockets, threads, names made up per request.

mod registry;
mod timer;

pub use registry::{Counter, Gauge, Labels, Registry};
pub use timer::{Timer, TimerSnapshot};

#[cfg(test)]
mod tests;
