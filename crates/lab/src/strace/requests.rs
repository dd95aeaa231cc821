//! Recognises requests of HTTP/1 in what threads read and write.
//!
//! A request begins when a thread has read a request line, and ends when it has written what begins
//! with `HTTP/`. So the time in between is the app's, without the body of the answer.
//! Refuses: other protocols. Where no request is recognised, the report says so.

use serde::Serialize;

use super::arguments::first_text;
use super::bins::LatencyBins;

const METHODS: [&[u8]; 7] =
    [b"GET ", b"POST ", b"PUT ", b"HEAD ", b"PATCH ", b"DELETE ", b"OPTIONS "];
/// Bytes of arguments in which the first text of a structure begins.
const LOOKED_AT: usize = 400;

/// A request that is being answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenRequest {
    pub begin_us: u64,
}

/// The requests of a trace.
#[derive(Debug, Clone, Default)]
pub(super) struct RequestTotals {
    pub count: u64,
    pub total_us: u64,
    pub bytes_in: u64,
    pub bins: LatencyBins,
}

/// Requests in figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestSummary {
    /// How many were answered.
    pub count: u64,
    /// Seconds in all.
    pub total_s: f64,
    /// The median, in milliseconds.
    pub p50_ms: f64,
    /// One in a hundred took longer.
    pub p99_ms: f64,
    /// Bytes that they brought.
    pub bytes_in: u64,
}

impl RequestTotals {
    pub(super) fn add(&mut self, took_us: u64) {
        self.count += 1;
        self.total_us += took_us;
        self.bins.add(took_us.saturating_mul(1000));
    }

    /// Counts what a request brought; other reads within it are of files and other servers.
    pub(super) fn note_bytes(&mut self, args: &[u8], bytes: u64) {
        if begins(args) {
            self.bytes_in += bytes;
        }
    }

    pub(super) fn summary(&self) -> Option<RequestSummary> {
        Some(RequestSummary {
            count: self.count,
            total_s: self.total_us as f64 / 1e6,
            p50_ms: self.bins.quantile_ms(0.5)?,
            p99_ms: self.bins.quantile_ms(0.99)?,
            bytes_in: self.bytes_in,
        })
    }
}

/// Whether a read has brought a request line.
pub(super) fn begins(args: &[u8]) -> bool {
    let text = first_text(&args[..args.len().min(LOOKED_AT)]).unwrap_or_default();
    METHODS.iter().any(|method| text.starts_with(method))
}

/// Whether a write begins a response.
pub(super) fn answers(args: &[u8]) -> bool {
    let text = first_text(&args[..args.len().min(LOOKED_AT)]).unwrap_or_default();
    text.starts_with(b"HTTP/")
}
