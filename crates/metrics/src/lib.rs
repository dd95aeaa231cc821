//! Names and holds the metrics of the process, writes them for Prometheus, and merges sketches.
//!
//! Counters, gauges and timers are updated with relaxed atomic operations, without a lock. A
//! `Registry` hands their handles out; that takes a lock, so hot paths keep their handles. Sketches
//! ([`Uniques`], [`Quantiles`]) are values of their owners (`pipeline`, `statsd`, `sinks`); no
//! registry knows them. Never here: the endpoint that shows metrics (the binary), threads,
//! statistics of tests (`verdicts`). Callers must not make names or labels from requests: nothing
//! ever removes a metric.

mod registry;
mod sketch;
mod timer;

pub use registry::{Counter, Gauge, Labels, Metric, Reading, Registry};
pub use sketch::{Quantiles, SketchError, Uniques, merge_sketches};
pub use timer::{Timer, TimerSnapshot};

#[cfg(test)]
mod tests;
