//! Defines what a server says of itself at one moment, as plain figures, and writes them as JSON.
//!
//! `ServerState::figures` collects them. The JSON for operators and the server's own part of the
//! page for Prometheus are written from these figures. A new figure belongs here first, then in
//! both.
//! The JSON's keys are a promise: they are `statsd` of `/status`, and natively the lines of `stats`
//! (`manage/commands.rs`), which `bench/src/peers/statsd.rs` reads. In a list, `stats` calls an
//! item by its `name`, `address` or `prefix`, else by its place; where two have one name, by both.
//! Graphite is sent parts of [`BackendStatus`], under the references' names.
//! Invariant: plain data. Each part is read at its own moment, so sums of several need not agree to
//! the sample.
//! Never here: counting itself (`table.rs`, `receive`, `backend`), the page
//! (`backend/prometheus/self_metrics.rs`).

use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::budget::Usage;
use crate::flavour::Flavour;
use crate::line::BadReason;
use crate::table::Totals;

/// Everything that a server counts of itself.
#[derive(Debug)]
pub(crate) struct ServerStatus {
    /// What came in since the start, of all receivers.
    pub totals: Totals,
    /// Datagram sockets, in the order of their receivers.
    pub sockets: Vec<SocketStatus>,
    /// What happened to connections.
    pub connections: ConnectionCounts,
    /// Connections to the management port that were closed to make room for others.
    pub management_displaced: u64,
    /// Datagrams that were not repeated for want of room.
    pub repeated_dropped: u64,
    /// Datagrams that a server could not be sent.
    pub repeated_failed: u64,
    /// What names take, by prefix.
    pub names: Vec<Usage>,
    /// Samples that went to an overflow key.
    pub overflowed: u64,
    /// How backends do, by name.
    pub backends: Vec<(String, BackendStatus)>,
}

/// How a datagram socket does.
#[derive(Debug, Clone)]
pub struct SocketStatus {
    /// Where it is bound, such as `udp:127.0.0.1:8125`.
    pub address: String,
    /// Bytes of its buffer, as granted.
    pub buffer_bytes: usize,
    /// Datagrams that the kernel has dropped because the buffer was full.
    pub dropped_by_kernel: u64,
}

/// What happened to connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionCounts {
    /// Connections that are open.
    pub open: u64,
    /// Connections that were closed because there were too many.
    pub displaced: u64,
    /// Connections that were closed because a line did not end.
    pub endless: u64,
}

/// How a backend does, as it says itself.
#[derive(Debug, Clone)]
pub(crate) struct BackendStatus {
    /// When it was started.
    pub started: DatedInstant,
    /// When it last delivered; at first when it was started.
    pub last_flush: DatedInstant,
    /// When it last failed.
    pub last_exception: Option<DatedInstant>,
    /// How long the last delivery took, in milliseconds.
    pub flush_time_ms: u64,
    /// Bytes of the last delivery.
    pub flush_length: u64,
    /// Flushes that were delivered at once.
    pub delivered: u64,
    /// Flushes of which something was given up.
    pub lost: u64,
    /// Bytes that wait on disk.
    pub spooled_bytes: u64,
    /// Things in its folder of the spool that are no parts of flushes.
    pub foreign_files: u64,
    /// What it last failed of, until it delivers again.
    pub last_error: Option<String>,
}

/// When something happened: a date to show, and an instant from which its age is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DatedInstant {
    /// Seconds since the Unix epoch.
    pub unix_s: u64,
    /// The same on the clock that nobody sets.
    pub at: Instant,
}

impl DatedInstant {
    /// This moment.
    pub(crate) fn now() -> Self {
        Self { unix_s: stdx::unix_micros() / 1_000_000, at: Instant::now() }
    }

    /// Whole seconds since then.
    pub(crate) fn age_s(self) -> u64 {
        self.at.elapsed().as_secs()
    }
}

impl BackendStatus {
    /// A backend that has just been started.
    pub(crate) fn started() -> Self {
        let started = DatedInstant::now();
        Self {
            started,
            last_flush: started,
            last_exception: None,
            flush_time_ms: 0,
            flush_length: 0,
            delivered: 0,
            lost: 0,
            spooled_bytes: 0,
            foreign_files: 0,
            last_error: None,
        }
    }

    /// Returns when it last failed, as it is shown. Until it fails, that is when it was started, as
    /// in statsd, and none in Perl, which begins with 0.
    pub(crate) fn shown_exception(&self, flavour: Flavour) -> Option<DatedInstant> {
        let at_first = (flavour != Flavour::Perl).then_some(self.started);
        self.last_exception.or(at_first)
    }

    fn to_json(&self, name: &str) -> Value {
        json!({
            "name": name,
            "last_flush_unix_s": self.last_flush.unix_s,
            "last_flush_ms": self.flush_time_ms,
            "last_flush_bytes": self.flush_length,
            "delivered": self.delivered,
            "lost": self.lost,
            "spooled_bytes": self.spooled_bytes,
            "foreign_files": self.foreign_files,
            "last_error": self.last_error,
        })
    }
}

impl ServerStatus {
    /// The figures as one JSON document.
    pub(crate) fn to_json(&self) -> Value {
        let bad = BadReason::ALL.iter().zip(self.totals.bad);
        let bad: Map<String, Value> =
            bad.map(|(reason, count)| (reason.name().to_owned(), count.into())).collect();
        let last_bad = self.totals.last_bad.as_ref();
        let last_bad = last_bad.map(|(reason, line)| {
            json!({ "reason": reason.name(), "line": String::from_utf8_lossy(line) })
        });
        let sockets = self.sockets.iter().map(|socket| {
            json!({
                "address": socket.address,
                "buffer_bytes": socket.buffer_bytes,
                "dropped_by_kernel": socket.dropped_by_kernel,
            })
        });
        let backends = self.backends.iter().map(|(name, status)| status.to_json(name));
        let names = self.names.iter().map(|usage| {
            json!({ "prefix": usage.prefix, "bytes": usage.used, "bytes_max": usage.bytes_max })
        });
        json!({
            "packets": self.totals.packets,
            "bytes": self.totals.bytes,
            "lines": self.totals.lines,
            "bad_lines": bad,
            "last_bad_line": last_bad,
            "notices_dropped": self.totals.notices_dropped,
            "values_summarised": self.totals.values_summarised,
            "members_summarised": self.totals.members_summarised,
            "names": names.collect::<Vec<_>>(),
            "overflowed": self.overflowed,
            "sockets": sockets.collect::<Vec<_>>(),
            "connections": self.connections.open,
            "connections_displaced": self.connections.displaced,
            "connections_endless": self.connections.endless,
            "management_displaced": self.management_displaced,
            "repeated_dropped": self.repeated_dropped,
            "repeated_failed": self.repeated_failed,
            "backends": backends.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests;
