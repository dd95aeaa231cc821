//! The second tier's metrics.

use metrics::{Counter, Gauge, Registry};

/// Handles.
#[derive(Debug)]
pub(super) struct DiskMetrics {
    /// Look-ups that brought an answer that may be used as it is.
    pub hits: Counter,
    /// Look-ups that brought one to ask the origin about.
    pub stale: Counter,
    /// Look-ups that brought nothing.
    pub misses: Counter,
    /// Look-ups that the disk was too slow for.
    pub slow: Counter,
    /// Records that were not what was written.
    pub damaged: Counter,
    /// Failures of the disk or the engine.
    pub errors: Counter,
    /// Answers written.
    pub written: Counter,
    /// Bytes written.
    pub written_bytes: Counter,
    /// Answers not written because the disk did not keep up, or is out of use.
    pub dropped: Counter,
    /// Answers not written because their key came for the first time to a full disk.
    pub first: Counter,
    /// Bytes in use.
    pub bytes: Gauge,
    /// Records.
    pub entries: Gauge,
    /// 1 while in use.
    pub up: Gauge,
}

impl DiskMetrics {
    /// Registers them.
    pub(super) fn new(registry: &Registry) -> Self {
        let look_ups = |result| {
            let help = "Look-ups on disk, by result.";
            registry.counter("tidegate_disk_lookups_total", help, &[("result", result)])
        };
        let dropped = |reason| {
            let help = "Answers not written to disk, by reason.";
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
            written: counter("tidegate_disk_writes_total", "Answers written to disk."),
            written_bytes: counter("tidegate_disk_written_bytes_total", "Bytes written to disk."),
            dropped: dropped("behind"),
            first: dropped("first"),
            bytes: gauge("tidegate_disk_bytes", "Bytes of the cache on disk."),
            entries: gauge("tidegate_disk_entries", "Records on disk."),
            up: gauge("tidegate_disk_up", "Whether the cache on disk is in use."),
        }
    }
}
