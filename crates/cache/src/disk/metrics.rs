//! Names and registers the eight metrics of the second tier, and holds the handles of their
//! thirteen series.
//!
//! They are look-ups by result, errors, writes and their bytes, and responses dropped by reason.
//! Gauges have the bytes and records on disk, and whether the tier is in use.
//! Who counts: `crate::store` counts each recall from a disk that ends once, as a hit, as stale or
//! as a miss. `tier` counts slow look-ups, also those not tried because the disk rests or too many
//! wait. `state` counts damaged records and both reasons of dropped responses. `writer` counts what
//! is written and sets the gauges. `state` and `writer` count errors.
//! Slow and damaged look-ups are further values of the label `result` and come on top. So the sum
//! over `result` may count a look-up more than once.
//! Operators' queries know these names and values: a change also goes into
//! docs/operating/status.md. Never here: when to count.

use metrics::{Counter, Gauge, Registry};

/// Handles of the metrics.
#[derive(Debug)]
pub(super) struct DiskMetrics {
    /// Look-ups that found a response that may be used as it is.
    pub hits: Counter,
    /// Look-ups that found a response to revalidate.
    pub stale: Counter,
    /// Look-ups that found no response.
    pub misses: Counter,
    /// Look-ups for which the disk was too slow.
    pub slow: Counter,
    /// Records whose bytes are not those that were written.
    pub damaged: Counter,
    /// Failures of the disk or the engine.
    pub errors: Counter,
    /// Records written.
    pub written: Counter,
    /// Bytes written.
    pub written_bytes: Counter,
    /// Responses not written because the disk did not keep up, or is out of use.
    pub dropped: Counter,
    /// Responses not written because the disk is full and their key came for the first time.
    pub first: Counter,
    /// Bytes in use.
    pub bytes: Gauge,
    /// Records on disk.
    pub entries: Gauge,
    /// 1 while the tier is in use.
    pub up: Gauge,
}

impl DiskMetrics {
    /// Registers the metrics.
    pub(super) fn new(registry: &Registry) -> Self {
        let look_ups = |result| {
            let help = "Look-ups on disk, by result.";
            registry.counter("tidegate_disk_lookups_total", help, &[("result", result)])
        };
        let dropped = |reason| {
            let help = "Responses not written to disk, by reason.";
            registry.counter("tidegate_disk_dropped_total", help, &[("reason", reason)])
        };
        let counter = |name, help| registry.counter(name, help, &[]);
        let gauge = |name, help| registry.gauge(name, help, &[]);
        Self {
            hits: look_ups("hit"),
            stale: look_ups("stale"),
            misses: look_ups("miss"),
            slow: look_ups("slow"),
            damaged: look_ups("damaged"),
            errors: counter("tidegate_disk_errors_total", "Failures of the cache on disk."),
            written: counter("tidegate_disk_writes_total", "Records written to disk."),
            written_bytes: counter("tidegate_disk_written_bytes_total", "Bytes written to disk."),
            dropped: dropped("behind"),
            first: dropped("first"),
            bytes: gauge("tidegate_disk_bytes", "Bytes of the cache on disk."),
            entries: gauge("tidegate_disk_entries", "Records on disk."),
            up: gauge("tidegate_disk_up", "Whether the cache on disk is in use."),
        }
    }
}
